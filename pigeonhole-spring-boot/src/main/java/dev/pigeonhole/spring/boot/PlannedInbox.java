package dev.pigeonhole.spring.boot;

import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.spring.boot.PigeonholeProperties.Inbox;
import dev.pigeonhole.spring.boot.PigeonholeProperties.Jdbc;
import dev.pigeonhole.spring.boot.PigeonholeProperties.NamedInbox;
import java.util.List;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * One inbox that there is to be, with all that is said of it and of all.
 *
 * @param property what its properties begin with, for those who have to change them
 * @param dataSource bean of its DataSource; null for the one that is marked, or the only one
 * @param transactionManager bean of its manager; null as above
 * @param channels what it takes; null for all that no other takes
 */
record PlannedInbox(
    String property,
    Inbox options,
    Jdbc tables,
    @Nullable String dataSource,
    @Nullable String transactionManager,
    @Nullable List<String> channels) {

  static PlannedInbox only(Inbox inbox, Jdbc jdbc) {
    return new PlannedInbox("pigeonhole.inbox", inbox, jdbc, null, null, null);
  }

  static PlannedInbox of(String name, NamedInbox named, Inbox all, Jdbc jdbc) {
    return new PlannedInbox(
        "pigeonhole.inboxes." + name,
        named.or(name, all),
        named.or(jdbc),
        named.dataSource(),
        named.transactionManager(),
        named.channels());
  }

  String name() {
    return options.name();
  }

  JdbcStore store(DataSource source) {
    JdbcStore store = JdbcStore.of(source).prefix(tables.tablePrefix());
    String schema = tables.databaseSchema();
    if (schema != null) {
      store = store.schema(schema);
    }
    return options.notifying() ? store.notifying() : store;
  }

  /** The tables of the inbox, or with {@code more} behind the prefix those of its outbox. */
  Schema schema(String more) {
    Schema schema = Schema.ofDefaults().prefix(tables.tablePrefix() + more);
    String database = tables.databaseSchema();
    return database == null ? schema : schema.schema(database);
  }
}
