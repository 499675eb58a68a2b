package dev.pigeonhole.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

class StatementFaultTest {

  /** The ways in which the drivers send a COMMIT. */
  static List<Arguments> protocols() {
    return List.of(
        Arguments.of(PostgresServer.shared(), "preferQueryMode", "extended"),
        Arguments.of(PostgresServer.shared(), "preferQueryMode", "simple"),
        Arguments.of(PostgresServer.shared(), "prepareThreshold", "0"),
        Arguments.of(MariaDbServer.shared(), "useServerPrepStmts", "false"),
        Arguments.of(MariaDbServer.shared(), "useServerPrepStmts", "true"));
  }

  @ParameterizedTest
  @MethodSource("protocols")
  void lostAnswerMeansThatTheCommitHappened(DatabaseServer server, String key, String value)
      throws SQLException {
    assertThat(rowsAfterFault(server, key, value, StatementFault.ANSWER_LOST)).isEqualTo(4);
  }

  @ParameterizedTest
  @MethodSource("protocols")
  void lostRequestMeansThatItDidNot(DatabaseServer server, String key, String value)
      throws SQLException {
    assertThat(rowsAfterFault(server, key, value, StatementFault.REQUEST_LOST)).isEqualTo(3);
  }

  @ParameterizedTest
  @MethodSource("protocols")
  void cutInFlightStillCommits(DatabaseServer server, String key, String value)
      throws SQLException {
    assertThat(rowsAfterFault(server, key, value, StatementFault.CUT_IN_FLIGHT)).isEqualTo(4);
  }

  /** Inserts a row per transaction over one connection; the fourth COMMIT is struck. */
  private static long rowsAfterFault(
      DatabaseServer server, String key, String value, StatementFault fault) throws SQLException {
    try (TestDatabase database = server.emptySchema();
        FaultProxy proxy = FaultProxy.to(server)) {
      database.execute("CREATE TABLE item (id int)");
      TestDatabase proxied = database.with(key, value).through(proxy);
      proxy.atCommit(4, fault);
      try (Connection connection = proxied.dataSource().getConnection();
          Statement statement = connection.createStatement()) {
        connection.setAutoCommit(false);
        for (int i = 1; i <= 3; i++) {
          statement.execute("INSERT INTO item VALUES (1)");
          connection.commit();
        }
        assertThat(proxy.hits()).isZero();
        statement.execute("INSERT INTO item VALUES (1)");
        assertThatThrownBy(connection::commit).isInstanceOf(SQLException.class);
        assertThat(proxy.hits()).isOne();
      }
      if (fault == StatementFault.CUT_IN_FLIGHT) {
        Eventually.passes(
            Duration.ofMinutes(5),
            () -> assertThat(database.count("SELECT count(*) FROM item")).isEqualTo(4));
      }
      return database.count("SELECT count(*) FROM item");
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void anyStatementCanBeStruck(DatabaseKind kind) throws SQLException {
    DatabaseServer server = TestDatabases.server(kind);
    try (TestDatabase database = server.emptySchema();
        FaultProxy proxy = FaultProxy.to(server)) {
      database.execute("CREATE TABLE item (id int)");
      TestDatabase proxied = database.through(proxy);
      proxy.atStatement(sql -> sql.startsWith("INSERT"), 2, StatementFault.ANSWER_LOST);

      proxied.execute("INSERT INTO item VALUES (?)", 1);
      assertThatThrownBy(() -> proxied.execute("INSERT INTO item VALUES (?)", 2))
          .hasCauseInstanceOf(SQLException.class);
      proxied.execute("INSERT INTO item VALUES (?)", 3);

      assertThat(proxy.hits()).isOne();
      assertThat(database.count("SELECT count(*) FROM item")).isEqualTo(3);
    }
  }
}
