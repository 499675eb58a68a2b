package dev.pigeonhole.spring.boot;

import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.spring.GuardTemplate;
import org.springframework.beans.factory.ListableBeanFactory;

/** Builds guards, on the tables of an inbox whether or not there is one. */
final class Guards {
  private Guards() {}

  static GuardTemplate on(
      PlannedInbox inbox,
      JdbcStore store,
      ChosenBeans chosen,
      PigeonholeProperties properties,
      ListableBeanFactory beans) {
    return GuardTemplate.on(
        store,
        chosen.transactionManager(inbox),
        guard -> {
          Builders.apply(properties.guard(), inbox.options(), guard);
          beans.getBeanProvider(PayloadCodec.class).ifUnique(guard::codec);
          beans
              .getBeanProvider(GuardCustomizer.class)
              .orderedStream()
              .forEach(each -> each.customize(guard));
          return guard;
        });
  }
}
