package dev.pigeonhole.jdbc;

import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;

/** The server's end of a connection, on PostgreSQL and MariaDB. */
final class Sessions {

  private Sessions() {}

  static long of(TestDatabase database, Connection connection) throws SQLException {
    boolean postgres = database.kind() == DatabaseKind.POSTGRES;
    try (Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery(
                postgres ? "SELECT pg_backend_pid()" : "SELECT CONNECTION_ID()")) {
      rows.next();
      return rows.getLong(1);
    }
  }

  static void kill(TestDatabase database, Connection connection) throws SQLException {
    long session = of(database, connection);
    boolean postgres = database.kind() == DatabaseKind.POSTGRES;
    database.execute(postgres ? "SELECT pg_terminate_backend(" + session + ")" : "KILL " + session);
  }

  /** Lets the server end the session for its silence; it reports that at the next statement. */
  static void beSilent(TestDatabase database, Connection connection, Duration patience)
      throws SQLException {
    boolean postgres = database.kind() == DatabaseKind.POSTGRES;
    long session = of(database, connection);
    try (Statement statement = connection.createStatement()) {
      statement.execute(
          postgres
              ? "SET LOCAL idle_in_transaction_session_timeout = 100"
              : "SET SESSION idle_transaction_timeout = 1");
    }
    String sessions =
        (postgres
                ? "SELECT count(*) FROM pg_stat_activity WHERE pid = "
                : "SELECT count(*) FROM information_schema.processlist WHERE id = ")
            + session;
    Eventually.until("the session to end", patience, () -> database.count(sessions) == 0);
  }
}
