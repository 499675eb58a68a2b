package dev.pigeonhole.jdbc;

import dev.pigeonhole.Guard;
import dev.pigeonhole.GuardBuilder;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.GuardTransaction;
import dev.pigeonhole.event.EventCounts;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.function.UnaryOperator;
import javax.sql.DataSource;

/** A guard on an empty database, with a table that shows what its bodies have done. */
final class GuardRig implements AutoCloseable {
  static final String HANDLER = "charge-card";

  final TestDatabase database;
  final DataSource dataSource;
  final JdbcStore store;
  final EventCounts counts = EventCounts.create();
  final Guard guard;

  private GuardRig(
      TestDatabase database, DataSource dataSource, UnaryOperator<GuardBuilder> options) {
    this.database = database;
    this.dataSource = dataSource;
    this.store = JdbcStore.of(dataSource);
    this.guard = options.apply(Guard.on(store).keepReceiptsForEver().listener(counts)).build();
  }

  static GuardRig on(TestDatabase database) {
    return on(database, options -> options);
  }

  static GuardRig on(TestDatabase database, UnaryOperator<GuardBuilder> options) {
    database.prepare(
        "guard",
        it -> {
          Schema.migrate(it.dataSource());
          // No unique key, so that doubles can show.
          it.execute("CREATE TABLE effect (id VARCHAR(200), note VARCHAR(200))");
        });
    return new GuardRig(database, database.pool(16), options);
  }

  /** The same tables through other connections. */
  GuardRig through(DataSource other, UnaryOperator<GuardBuilder> options) {
    return new GuardRig(database, other, options);
  }

  static GuardKey key(String id) {
    return GuardKey.of(HANDLER, "charge", id);
  }

  /** Leaves a trace in the transaction of a run. */
  static void write(GuardTransaction tx, String id) throws SQLException {
    write(tx.connection(), id);
  }

  static void write(Connection connection, String id) throws SQLException {
    try (PreparedStatement insert =
        connection.prepareStatement("INSERT INTO effect (id) VALUES (?)")) {
      insert.setString(1, id);
      insert.executeUpdate();
    }
  }

  /**
   * Creates what bodies can call: {@code sneaky} commits, and {@code victim} fails like a deadlock.
   * No text tells what a procedure does; MariaDB lets it commit, and H2 a function.
   */
  void createProcedures() {
    boolean h2 = database.kind() == DatabaseKind.H2;
    String alias = "CREATE ALIAS %1$s FOR '" + TransactionFaultTest.class.getName() + ".%1$s'";
    database.execute(h2 ? alias.formatted("sneaky") : "CREATE PROCEDURE sneaky() COMMIT");
    database.execute(
        h2
            ? alias.formatted("victim")
            : "CREATE PROCEDURE victim() SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213");
  }

  /** A connection in a transaction of its own. */
  Connection begin() throws SQLException {
    Connection connection = database.dataSource().getConnection();
    connection.setAutoCommit(false);
    return connection;
  }

  long effects(String id) {
    return database.count("SELECT COUNT(*) FROM effect WHERE id = ?", id);
  }

  long count(String table) {
    return database.count("SELECT COUNT(*) FROM " + table(database, table));
  }

  static String table(TestDatabase database, String name) {
    String quote = database.kind() == DatabaseKind.MARIADB ? "`" : "\"";
    return quote + Schema.DEFAULT_PREFIX + name + quote;
  }

  @Override
  public void close() {
    guard.close();
    database.close();
  }
}
