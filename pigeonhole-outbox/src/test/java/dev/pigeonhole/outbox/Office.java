package dev.pigeonhole.outbox;

import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxBuilder;
import dev.pigeonhole.Message;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import dev.pigeonhole.testkit.TestClock;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import javax.sql.DataSource;

/** A database with the tables of an inbox and of an outbox, and the short words of these tests. */
final class Office {
  /** For {@code @MethodSource}: on which databases a test runs. */
  static final String ALL = "dev.pigeonhole.support.TestDatabases#all";

  static final String SERVERS = "dev.pigeonhole.support.TestDatabases#servers";
  static final String POSTGRES = "dev.pigeonhole.outbox.Office#postgres";

  static final Duration PATIENCE = Duration.ofMinutes(10);
  static final RetryPolicy ONCE = RetryPolicy.fixed(Duration.ofSeconds(1)).maxAttempts(1);

  final TestDatabase database;
  final DataSource pool;
  final TestClock clock = new TestClock();
  final JdbcStore store;
  final Scripted transport = new Scripted();

  private Office(TestDatabase database) {
    this.database = database;
    this.pool = database.pool(24);
    this.store = JdbcStore.of(pool).beatsOn(database.dataSource());
  }

  /** For tests of what is the same in every database. */
  static List<TestDatabase> postgres() {
    return List.of(TestDatabases.open(DatabaseKind.POSTGRES));
  }

  static Office in(TestDatabase database) {
    database.prepare(
        "inbox and outbox",
        it -> {
          Schema.migrate(it.dataSource());
          Schema.ofDefaults().prefix("pigeonhole_out_").applyTo(it.dataSource());
        });
    return new Office(database);
  }

  /** One whose clock is moved by hand. */
  OutboxBuilder timed() {
    return Outbox.on(store.clock(clock)).codec(new LineCodec()).lanes(4);
  }

  OutboxBuilder outbox() {
    return Outbox.on(store).codec(new LineCodec()).lanes(4);
  }

  Outbox sending() {
    return outbox().route(OrderPlaced.class, transport).build();
  }

  /** One that reaches the database in another way. */
  Outbox sending(JdbcStore store) {
    return Outbox.on(store)
        .codec(new LineCodec())
        .lanes(4)
        .route(OrderPlaced.class, transport)
        .build();
  }

  /** The other side, in the same database. */
  InboxBuilder inbox() {
    return Inbox.on(store).lanes(4).codec(new LineCodec());
  }

  static Message order(int number) {
    return Message.of(new OrderPlaced("o-" + number, "c-" + number % 3));
  }

  interface Work<T> {
    T in(Connection connection) throws Exception;
  }

  /** In a transaction that commits. */
  <T> T commit(Work<T> work) {
    return transaction(work, true);
  }

  <T> T rollBack(Work<T> work) {
    return transaction(work, false);
  }

  private <T> T transaction(Work<T> work, boolean commit) {
    try (Connection connection = pool.getConnection()) {
      connection.setAutoCommit(false);
      try {
        T answer = work.in(connection);
        if (commit) {
          connection.commit();
        }
        return answer;
      } finally {
        connection.rollback();
        connection.setAutoCommit(true);
      }
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  /** A table beside, for what the business writes. */
  Office withEffects() {
    database.execute("CREATE TABLE effect (id VARCHAR(100) NOT NULL)");
    return this;
  }

  static void effect(Connection connection, String id) throws SQLException {
    try (var insert = connection.prepareStatement("INSERT INTO effect (id) VALUES (?)")) {
      insert.setString(1, id);
      insert.executeUpdate();
    }
  }

  long effects() {
    return database.count("SELECT count(*) FROM effect");
  }

  long staged() {
    return rows("pigeonhole_out_message");
  }

  /** As if somebody had dropped its tables. */
  void loseOutbox() {
    rename("pigeonhole_out_message", "lost_message");
  }

  void findOutbox() {
    rename("lost_message", "pigeonhole_out_message");
  }

  private void rename(String from, String to) {
    database.execute("ALTER TABLE %s RENAME TO %s".formatted(quoted(from), quoted(to)));
  }

  long rows(String table) {
    return database.count("SELECT count(*) FROM " + quoted(table));
  }

  /** How many messages of the inbox have come again. */
  long repeated() {
    return database.count(
        "SELECT count(*) FROM %s WHERE repeats > 0".formatted(quoted("pigeonhole_message")));
  }

  /** H2 would look for the name in capitals. */
  private String quoted(String name) {
    String quote = database.kind() == DatabaseKind.MARIADB ? "`" : "\"";
    return quote + name + quote;
  }
}
