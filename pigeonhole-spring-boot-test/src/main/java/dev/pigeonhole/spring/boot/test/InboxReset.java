package dev.pigeonhole.spring.boot.test;

import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.spring.boot.PigeonholeProperties;
import dev.pigeonhole.testkit.MemoryStore;
import dev.pigeonhole.testkit.TestInbox;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.InitializingBean;

/**
 * Lets no message outlive its test: runs after each, and once before the first, for a test that was
 * killed has not cleaned up.
 */
final class InboxReset implements InitializingBean {
  private static final String OUR_STORE = "pigeonholeJdbcStore";

  private final BeanFactory beans;
  private @Nullable TestTables tables;

  InboxReset(BeanFactory beans) {
    this.beans = beans;
  }

  @Override
  public void afterPropertiesSet() {
    // A store that somebody else has declared has tables that only he knows.
    if (beans.containsBean(OUR_STORE)) {
      JdbcStore store = beans.getBean(OUR_STORE, JdbcStore.class);
      tables = new TestTables(store.dataSource(), beans.getBean(PigeonholeProperties.class));
    }
    empty();
  }

  void run() {
    beans.getBeanProvider(TestInbox.class).forEach(TestInbox::close);
    empty();
  }

  private void empty() {
    beans.getBeanProvider(MemoryStore.class).forEach(MemoryStore::clear);
    if (tables != null) {
      tables.clear();
    }
  }
}
