package dev.pigeonhole.spring.boot.test;

import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.spring.boot.PigeonholeProperties;
import dev.pigeonhole.spring.boot.PigeonholeProperties.Jdbc;
import dev.pigeonhole.testkit.MemoryStore;
import dev.pigeonhole.testkit.TestInbox;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.util.ClassUtils;

/**
 * Lets no message outlive its test: runs after each, and once before the first, for a test that was
 * killed has not cleaned up.
 */
final class InboxReset implements InitializingBean {
  private static final String OUR_STORE = "pigeonholeJdbcStore";
  private static final String OUTBOX = "dev.pigeonhole.outbox.Outbox";

  private final ListableBeanFactory beans;
  private final List<TestTables> tables = new ArrayList<>();

  InboxReset(ListableBeanFactory beans) {
    this.beans = beans;
  }

  @Override
  public void afterPropertiesSet() {
    PigeonholeProperties properties =
        beans.getBeanProvider(PigeonholeProperties.class).getIfAvailable();
    if (properties != null) {
      find(properties);
    }
    empty();
  }

  void run() {
    beans.getBeanProvider(TestInbox.class).forEach(TestInbox::close);
    empty();
  }

  private void empty() {
    beans.getBeanProvider(MemoryStore.class).forEach(MemoryStore::clear);
    tables.forEach(TestTables::clear);
  }

  /** A store that somebody else has declared has tables that only he knows. */
  private void find(PigeonholeProperties properties) {
    Jdbc all = properties.jdbc();
    if (beans.containsBean(OUR_STORE)) {
      boolean outbox = properties.outbox().enabled();
      add(OUR_STORE, all.databaseSchema(), all.tablePrefix(), TestTables.PREFIX, outbox);
    }
    properties
        .inboxes()
        .forEach(
            (name, own) -> {
              String schema =
                  own.databaseSchema() == null ? all.databaseSchema() : own.databaseSchema();
              String prefix = own.tablePrefix() == null ? all.tablePrefix() : own.tablePrefix();
              String ours = TestTables.PREFIX + TestTables.wordFor(name);
              storesOf(name).forEach(each -> add(each, schema, prefix, ours, hasOutbox()));
            });
  }

  /** Of {@code order-events} the bean {@code orderEventsInboxStore}. */
  private Stream<String> storesOf(String inbox) {
    String bean = inbox.replaceAll("[^A-Za-z0-9]", "") + "InboxStore";
    return Stream.of(beans.getBeanNamesForType(JdbcStore.class)).filter(bean::equalsIgnoreCase);
  }

  private void add(
      String store, @Nullable String schema, String prefix, String ours, boolean outbox) {
    // Otherwise a test has said that it wants others, which may be anybody's.
    if (prefix.equals(ours)) {
      JdbcStore its = beans.getBean(store, JdbcStore.class);
      tables.add(new TestTables(its.dataSource(), schema, prefix, outbox));
    }
  }

  /** One that is a bean of the application; there is none by property beside several inboxes. */
  private boolean hasOutbox() {
    ClassLoader loader = InboxReset.class.getClassLoader();
    return ClassUtils.isPresent(OUTBOX, loader)
        && beans.getBeanNamesForType(ClassUtils.resolveClassName(OUTBOX, loader), true, false)
                .length
            > 0;
  }
}
