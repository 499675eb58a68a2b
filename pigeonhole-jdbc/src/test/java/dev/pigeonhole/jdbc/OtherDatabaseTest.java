package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Guard;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.StatementCounter;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Connections of callers, which may lead to another database than that of the inbox. */
class OtherDatabaseTest {
  private static final String ALL = "dev.pigeonhole.support.TestDatabases#all";

  private static Inbox inbox(JdbcStore store, String handler, List<String> handled) {
    return Inbox.on(store)
        .channel(Channel.named("c").on(String.class).handle(handler, handled::add).build())
        .build();
  }

  private static Inbox inbox(TestDatabase database) {
    InboxTables.in(database);
    return inbox(JdbcStore.of(database.dataSource()), "charge", new CopyOnWriteArrayList<>());
  }

  private static Connection begin(TestDatabase database) throws SQLException {
    Connection connection = database.dataSource().getConnection();
    connection.setAutoCommit(false);
    return connection;
  }

  private interface Use {
    void on(Connection connection) throws Exception;
  }

  private static void assertForeign(Connection connection, String text, Use use) {
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(() -> use.on(connection))
        .withMessageStartingWith("PH-TX-10: The connection ")
        .withMessageContaining(text)
        .satisfies(
            e -> {
              assertThat(e.code()).isEqualTo(ErrorCode.TX_MANAGER_FOREIGN);
              assertThat(e.kind()).isEqualTo(StoreException.Kind.PERMANENT);
            });
  }

  private static void assertEmpty(TestDatabase database) {
    for (String table : List.of("message", "delivery", "later", "receipt", "unhandled")) {
      assertThat(database.count("SELECT COUNT(*) FROM " + GuardRig.table(database, table)))
          .as(table)
          .isZero();
    }
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aCallersConnectionToTheTablesOfAnotherInboxIsRejected(TestDatabase database)
      throws Exception {
    List<String> handled = new CopyOnWriteArrayList<>();
    Inbox inbox = inbox(database);
    try (TestDatabase other = TestDatabases.twin(database);
        Guard guard = Guard.on(JdbcStore.of(database.dataSource())).keepReceiptsForEver().build()) {
      Schema.migrate(other.dataSource());
      Inbox others = inbox(JdbcStore.of(other.dataSource()), "refund", handled);
      try (Connection connection = begin(other)) {
        assertForeign(
            connection,
            "and the tables of this store are in jdbc:",
            it -> inbox.accept(it, "c", Message.of("m", "x")));
        assertForeign(
            connection,
            "and the tables of this store are in jdbc:",
            it -> guard.run(it, GuardRig.key("k"), tx -> handled.add("guarded")));
        // The transaction of the caller goes on.
        assertThat(others.accept(connection, "c", Message.of("own", "own")))
            .isInstanceOf(Acceptance.Accepted.class);
        connection.rollback();
        assertForeign(connection, "leads to", it -> inbox.accept(it, "c", Message.of("m", "x")));
        connection.commit();
      }
      others.drain();
      assertThat(handled).isEmpty();
      assertEmpty(other);
      assertEmpty(database);
    }
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aCallersConnectionToADatabaseWithoutTablesIsRejected(TestDatabase database)
      throws Exception {
    Inbox inbox = inbox(database);
    try (TestDatabase other = TestDatabases.twin(database);
        Guard guard = Guard.on(JdbcStore.of(database.dataSource())).keepReceiptsForEver().build()) {
      other.execute("CREATE TABLE mine (id INT)");
      try (Connection connection = begin(other)) {
        execute(connection, "INSERT INTO mine VALUES (1)");
        assertForeign(
            connection,
            "does not find the tables of this store",
            it -> inbox.accept(it, "c", Message.of("m", "x")));
        if (database.kind() == DatabaseKind.POSTGRES) {
          connection.rollback(); // its transactions end with the first error
        }
        assertForeign(
            connection,
            "does not find the tables of this store",
            it -> guard.run(it, GuardRig.key("k"), tx -> 1));
        if (database.kind() != DatabaseKind.POSTGRES) {
          connection.commit();
          assertThat(other.count("SELECT COUNT(*) FROM mine")).isEqualTo(1);
        }
      }
    }
  }

  @Test
  void aConnectionToAnotherKindOfDatabaseIsRejected() throws Exception {
    try (TestDatabase postgres = TestDatabases.open(DatabaseKind.POSTGRES);
        TestDatabase h2 = TestDatabases.open(DatabaseKind.H2);
        Connection connection = begin(h2)) {
      Inbox inbox = inbox(postgres);
      assertForeign(connection, "", it -> inbox.accept(it, "c", Message.of("m", "x")));
    }
  }

  private static void execute(Connection connection, String sql) throws SQLException {
    try (var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void connectionsOfEveryPoolOfTheDatabaseAreCheckedOnce(TestDatabase database) throws Exception {
    InboxTables.in(database);
    StatementCounter counter = StatementCounter.on(database);
    List<String> handled = new CopyOnWriteArrayList<>();
    Inbox inbox = inbox(JdbcStore.of(database.pool(4)), "charge", handled);
    try (HikariDataSource another = pool(counter)) {
      for (int i = 0; i < 3; i++) {
        try (Connection connection = another.getConnection()) { // another proxy each time
          inbox.accept(connection, "c", Message.of("m-" + i, "x"));
          inbox.accept(connection, "c", Message.of("n-" + i, "x"));
          connection.commit();
        }
      }
    }
    assertThat(counter.statements()).filteredOn(sql -> sql.contains("store_id")).hasSize(1);
    inbox.drain();
    assertThat(handled).hasSize(6);
  }

  private static HikariDataSource pool(StatementCounter counter) {
    HikariDataSource pool = new HikariDataSource();
    pool.setDataSource(counter.dataSource());
    pool.setMaximumPoolSize(1);
    pool.setAutoCommit(false);
    return pool;
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aConnectionThatChangesItsTargetIsCheckedAgain(TestDatabase database) throws Exception {
    Inbox inbox = inbox(database);
    try (TestDatabase other = TestDatabases.twin(database)) {
      Schema.migrate(other.dataSource());
      inbox(JdbcStore.of(other.dataSource()), "refund", new CopyOnWriteArrayList<>());
      try (Connection right = begin(database);
          Connection wrong = begin(other)) {
        AtomicReference<Connection> target = new AtomicReference<>(right);
        for (boolean unwraps : List.of(true, false)) {
          Connection routing = routing(target, unwraps);
          target.set(right);
          assertThat(inbox.accept(routing, "c", Message.of("m-" + unwraps, "x")))
              .isInstanceOf(Acceptance.Accepted.class);
          target.set(wrong);
          assertForeign(routing, "leads to", it -> inbox.accept(it, "c", Message.of("n", "x")));
        }
        wrong.commit();
        right.commit();
      }
      assertEmpty(other);
    }
  }

  private static Connection routing(AtomicReference<Connection> target, boolean unwraps) {
    return (Connection)
        Proxy.newProxyInstance(
            OtherDatabaseTest.class.getClassLoader(),
            new Class<?>[] {Connection.class},
            (self, method, args) -> {
              if (method.getName().equals("isWrapperFor") && !unwraps) {
                throw new SQLException("Nothing to unwrap");
              }
              try {
                return method.invoke(target.get(), args);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aSessionInAnotherSchemaReachesTheTablesAllTheSame(TestDatabase database) throws Exception {
    Inbox inbox = inbox(database);
    String elsewhere = "elsewhere_" + Integer.toHexString(System.identityHashCode(this));
    if (database.kind() == DatabaseKind.H2) {
      elsewhere = elsewhere.toUpperCase(Locale.ROOT);
    }
    database.execute("CREATE SCHEMA " + elsewhere);
    try (Connection connection = begin(database)) {
      if (database.kind() == DatabaseKind.MARIADB) {
        connection.setCatalog(elsewhere);
      } else {
        connection.setSchema(elsewhere);
      }
      assertThat(inbox.accept(connection, "c", Message.of("m", "x")))
          .isInstanceOf(Acceptance.Accepted.class);
      connection.commit();
    } finally {
      database.execute("DROP SCHEMA " + elsewhere);
    }
    assertThat(inbox.accept("c", Message.of("m", "x"))).isInstanceOf(Acceptance.Repeat.class);
  }

  /** As tests do between two methods. */
  @ParameterizedTest
  @MethodSource(ALL)
  void tablesThatWereEmptiedUnderAStoreAreStillItsOwn(TestDatabase database) throws Exception {
    Inbox inbox = inbox(database);
    database.execute("DELETE FROM " + GuardRig.table(database, "store"));
    try (Connection connection = begin(database)) {
      assertThat(inbox.accept(connection, "c", Message.of("m", "x")))
          .isInstanceOf(Acceptance.Accepted.class);
      connection.commit();
    }
    inbox(JdbcStore.of(database.dataSource()), "charge", new CopyOnWriteArrayList<>());
    try (Connection connection = begin(database)) { // their number is another one now
      assertThat(inbox.accept(connection, "c", Message.of("m", "x")))
          .isInstanceOf(Acceptance.Repeat.class);
      connection.commit();
    }
  }

  /** A snapshot of the library would hide from the caller what the accept has waited for. */
  @Test
  void theCheckMakesNoSnapshotOfACallersTransaction() throws Exception {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.MARIADB)) {
      Inbox inbox = inbox(database);
      database.execute("CREATE TABLE mine (id INT)");
      try (Connection connection = begin(database);
          Guard guard =
              Guard.on(JdbcStore.of(database.dataSource())).keepReceiptsForEver().build()) {
        connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
        inbox.accept(connection, "c", Message.of("m", "x"));
        database.execute("INSERT INTO mine VALUES (1)");
        assertThat(guard.run(connection, GuardRig.key("k"), tx -> count(tx.connection())))
            .isEqualTo(new Guarded.Ran<>(1L));
      }
    }
  }

  private static long count(Connection connection) throws SQLException {
    try (var statement = connection.createStatement();
        var rows = statement.executeQuery("SELECT COUNT(*) FROM mine")) {
      assertThat(rows.next()).isTrue();
      return rows.getLong(1);
    }
  }
}
