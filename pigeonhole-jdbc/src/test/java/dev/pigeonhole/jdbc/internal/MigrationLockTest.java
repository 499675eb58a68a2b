package dev.pigeonhole.jdbc.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The lock that migrations of the same tables wait for, and what it leaves on a connection. */
class MigrationLockTest {
  private static final String QUERY = "end the session that holds the lock: ";

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void aLockThatIsNotReleasedIsReportedWithTheQueryThatFindsItsHolder(TestDatabase database)
      throws SQLException {
    HikariDataSource pool = database.pool(1);
    String before = settings(database.kind(), pool);
    try (Connection holder = database.dataSource().getConnection();
        Statement statement = holder.createStatement()) {
      one(statement, take(holder, database.kind()));
      long id = Long.parseLong(one(statement, session(database.kind())));

      assertThatExceptionOfType(StoreException.class)
          .isThrownBy(() -> migrate(pool, Duration.ofSeconds(1)))
          .satisfies(
              e -> {
                assertThat(e.code()).isEqualTo(ErrorCode.MIGRATION_LOCKED);
                assertThat(e.kind()).isEqualTo(StoreException.Kind.TRANSIENT);
                String text = e.getMessage();
                String query = text.substring(text.indexOf(QUERY) + QUERY.length());
                assertThat(database.count(query)).as(query).isEqualTo(id);
              });
    }
    assertThat(settings(database.kind(), pool)).isEqualTo(before);
    migrate(pool, Duration.ofMinutes(3));
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void aMigrationLeavesTheSettingsOfTheConnectionAsTheyWere(TestDatabase database)
      throws SQLException {
    HikariDataSource pool = database.pool(1);
    try (Connection connection = pool.getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute(
          database.kind() == DatabaseKind.POSTGRES
              ? "SET idle_in_transaction_session_timeout = 12345"
              : "SET SESSION wait_timeout = 12345, SESSION lock_wait_timeout = 54321");
    }
    String before = settings(database.kind(), pool);
    assertThat(before).contains("12345");

    migrate(pool, Duration.ofMinutes(3));

    assertThat(settings(database.kind(), pool)).isEqualTo(before);
  }

  private static void migrate(HikariDataSource pool, Duration lockWait) {
    Migrations.migrate(pool, null, Tables.DEFAULT_PREFIX, lockWait);
  }

  private static String take(Connection connection, DatabaseKind kind) throws SQLException {
    Dialect dialect = Dialect.of(connection.getMetaData().getDatabaseProductName());
    String name =
        Migrations.lockName(dialect, Tables.on(connection, dialect, null, Tables.DEFAULT_PREFIX));
    return kind == DatabaseKind.POSTGRES
        ? "SELECT pg_advisory_lock(hashtext('" + name + "'))"
        : "SELECT GET_LOCK('" + name + "', 0)";
  }

  private static String session(DatabaseKind kind) {
    return kind == DatabaseKind.POSTGRES ? "SELECT pg_backend_pid()" : "SELECT CONNECTION_ID()";
  }

  /** Of the only connection of the pool. */
  private static String settings(DatabaseKind kind, HikariDataSource pool) throws SQLException {
    try (Connection connection = pool.getConnection();
        Statement statement = connection.createStatement()) {
      return one(
          statement,
          kind == DatabaseKind.POSTGRES
              ? "SELECT concat_ws(' ', pg_backend_pid(), current_setting('lock_timeout'),"
                  + " current_setting('idle_in_transaction_session_timeout'))"
              : "SELECT CONCAT_WS(' ', CONNECTION_ID(), @@wait_timeout, @@lock_wait_timeout)");
    }
  }

  private static String one(Statement statement, String query) throws SQLException {
    try (ResultSet row = statement.executeQuery(query)) {
      row.next();
      return row.getString(1);
    }
  }
}
