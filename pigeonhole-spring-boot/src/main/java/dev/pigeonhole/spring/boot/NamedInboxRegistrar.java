package dev.pigeonhole.spring.boot;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.spring.GuardTemplate;
import dev.pigeonhole.spring.InboxTemplate;
import dev.pigeonhole.spring.PigeonholeLifecycle;
import java.util.HashMap;
import java.util.Map;
import org.springframework.beans.factory.BeanRegistrar;
import org.springframework.beans.factory.BeanRegistry;
import org.springframework.core.env.Environment;
import org.springframework.util.StringUtils;

/**
 * The beans of each inbox that has a name: for {@code pigeonhole.inboxes.shipping} they are {@code
 * shippingInbox}, {@code shippingInboxTemplate}, {@code shippingGuard} and so on.
 */
final class NamedInboxRegistrar implements BeanRegistrar {

  @Override
  public void register(BeanRegistry registry, Environment environment) {
    Map<String, String> named = new HashMap<>();
    for (String name : NamedInboxes.in(environment)) {
      String first = named.putIfAbsent(beanName(name), name);
      if (first != null) {
        throw new ConfigurationException(
            ErrorCode.BEANS_AMBIGUOUS,
            "pigeonhole.inboxes.%s and pigeonhole.inboxes.%s would both be the bean %sInbox. Rename one."
                .formatted(first, name, beanName(name)));
      }
      register(registry, name);
    }
  }

  private static void register(BeanRegistry registry, String name) {
    String bean = beanName(name);
    String store = bean + "InboxStore";
    String inbox = bean + "Inbox";
    String run = bean + "InboxRun";
    registry.registerBean(
        store,
        JdbcStore.class,
        spec -> spec.supplier(beans -> beans.bean(InboxFactory.class).store(name)));
    registry.registerBean(
        inbox,
        Inbox.class,
        spec ->
            spec.supplier(
                beans ->
                    beans
                        .bean(InboxFactory.class)
                        .build(name, beans.bean(store, JdbcStore.class))));
    registry.registerBean(
        bean + "InboxTemplate",
        InboxTemplate.class,
        spec ->
            spec.supplier(
                beans ->
                    InboxTemplate.of(
                        beans.bean(inbox, Inbox.class), beans.bean(store, JdbcStore.class))));
    registry.registerBean(
        run,
        LatestRun.class,
        spec ->
            spec.supplier(
                beans -> {
                  Inbox started = beans.bean(inbox, Inbox.class);
                  PlannedInbox planned = beans.bean(InboxFactory.class).planned(name);
                  return new LatestRun(
                      "inbox", started.name(), planned.options().restartDelay(), started::start);
                }));
    registry.registerBean(
        bean + "InboxProcessor",
        PigeonholeLifecycle.class,
        spec ->
            spec.supplier(
                beans ->
                    beans
                        .bean(run, LatestRun.class)
                        .lifecycle(
                            beans
                                .bean(InboxFactory.class)
                                .planned(name)
                                .options()
                                .backgroundProcessing())));
    registry.registerBean(
        bean + "Guard",
        GuardTemplate.class,
        spec ->
            spec.lazyInit()
                .supplier(
                    beans ->
                        beans
                            .bean(InboxFactory.class)
                            .guard(name, beans.bean(store, JdbcStore.class))));
  }

  /** {@code order-events} is {@code orderEvents}. */
  static String beanName(String name) {
    StringBuilder bean = new StringBuilder();
    for (String part : name.split("[^A-Za-z0-9]+")) {
      bean.append(bean.isEmpty() ? part : StringUtils.capitalize(part));
    }
    return bean.toString();
  }
}
