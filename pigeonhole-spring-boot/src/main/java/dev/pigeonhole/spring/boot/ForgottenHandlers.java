package dev.pigeonhole.spring.boot;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.spring.SpringInboxes;
import dev.pigeonhole.store.InboxStore;
import java.util.ArrayList;
import java.util.List;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.aop.scope.ScopedProxyUtils;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;

/**
 * Refuses handlers of an application that has no inbox, because {@link OnHandlers} could not see
 * them: a bean that is declared by its interface shows what it has when it is made. Lazy beans are
 * not made for that. Where there are inboxes, {@link SpringInboxes} looks by itself.
 */
final class ForgottenHandlers implements SmartInitializingSingleton {
  private final ConfigurableListableBeanFactory beans;

  ForgottenHandlers(ConfigurableListableBeanFactory beans) {
    this.beans = beans;
  }

  @Override
  public void afterSingletonsInstantiated() {
    if (beans.getBeanNamesForType(SpringInboxes.class, true, false).length > 0) {
      return;
    }
    List<Problem> problems = new ArrayList<>();
    for (String name : beans.getBeanNamesForType(Object.class, true, false)) {
      Class<?> type = AutoProxyUtils.determineTargetClass(beans, name);
      if (type != null && !ScopedProxyUtils.isScopedTarget(name) && OnHandlers.handles(type)) {
        problems.add(problem(name, type));
      }
    }
    if (!problems.isEmpty()) {
      throw new ConfigurationException(problems);
    }
  }

  private Problem problem(String bean, Class<?> type) {
    boolean stored =
        BeanFactoryUtils.beanNamesForTypeIncludingAncestors(beans, InboxStore.class).length > 0;
    return stored
        ? new Problem(
            ErrorCode.HANDLER_METHOD_INVALID,
            ("The bean '%s' is a %s, which has methods with @InboxHandler, and its definition does"
                    + " not say so. Nobody would call them. Declare the bean with its class.")
                .formatted(bean, type.getName()))
        : new Problem(
            ErrorCode.BEANS_AMBIGUOUS,
            ("The bean '%s' is a %s, which has methods with @InboxHandler, and there is no bean of"
                    + " DataSource or InboxStore to keep their messages in. Declare one; for an"
                    + " inbox of your own, declare a bean of SpringInboxes and build it with that.")
                .formatted(bean, type.getName()));
  }
}
