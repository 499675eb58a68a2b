package dev.pigeonhole.spring.boot.test;

import dev.pigeonhole.Inbox;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.spring.boot.PigeonholeAutoConfiguration;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.testkit.MemoryStore;
import dev.pigeonhole.testkit.TestClock;
import dev.pigeonhole.testkit.TestInbox;
import javax.sql.DataSource;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Fallback;

/** A clock that stands still, a store where there is no database, and the inbox in hand. */
@AutoConfiguration(
    before = PigeonholeAutoConfiguration.class,
    afterName = "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration")
final class TestInboxAutoConfiguration {

  TestInboxAutoConfiguration() {}

  /** Only where nothing else fits: an application may have an InstantSource of its own. */
  @Bean
  @Fallback
  @ConditionalOnMissingBean
  TestClock pigeonholeTestClock() {
    return new TestClock();
  }

  @Bean
  @ConditionalOnMissingBean({DataSource.class, InboxStore.class})
  MemoryStore pigeonholeMemoryStore(TestClock clock) {
    return MemoryStore.create().clock(clock);
  }

  /** Whoever declares the store, it goes by the clock of the test. */
  @Bean
  static BeanPostProcessor pigeonholeTestClockOfStores(ObjectProvider<TestClock> clock) {
    return new BeanPostProcessor() {
      @Override
      public Object postProcessAfterInitialization(Object bean, String name) {
        return bean instanceof JdbcStore store ? store.clock(clock.getObject()) : bean;
      }
    };
  }

  @Bean
  @ConditionalOnMissingBean
  TestInbox pigeonholeTestInbox(ObjectProvider<Inbox> inboxes, TestClock clock) {
    return TestInbox.around(() -> only(inboxes), clock);
  }

  private static Inbox only(ObjectProvider<Inbox> inboxes) {
    Inbox only = inboxes.getIfUnique();
    if (only != null) {
      return only;
    }
    throw new IllegalStateException(
        inboxes.stream().findAny().isEmpty()
            ? "This test has no inbox, for none of its beans has a method with @InboxHandler and"
                + " none is a channel. Name a component, as in @InboxTest(Mailer.class), or bring"
                + " beans with @Import."
            : "This test has several inboxes. Declare beans for them, each with"
                + " TestInbox.around(() -> inbox, clock).");
  }

  @Bean
  InboxReset pigeonholeInboxReset(ListableBeanFactory beans) {
    return new InboxReset(beans);
  }
}
