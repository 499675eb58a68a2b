package dev.pigeonhole.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class StatementCounterTest {

  private static final String INSERT = "INSERT INTO item VALUES (?)";

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void statementsAndCommitAreTrips(TestDatabase database) throws SQLException {
    database.execute("CREATE TABLE item (id int)");
    StatementCounter counter = StatementCounter.on(database);
    try (Connection connection = counter.dataSource().getConnection()) {
      connection.setAutoCommit(false);
      counter.reset();
      try (PreparedStatement insert = connection.prepareStatement(INSERT);
          Statement select = connection.createStatement()) {
        insert.setInt(1, 1);
        insert.executeUpdate();
        select.executeQuery("SELECT id FROM item").close();
        assertThat(insert.getConnection()).isSameAs(connection);
      }
      connection.commit();

      assertThat(counter.statements()).containsExactly(INSERT, "SELECT id FROM item", "commit");
      assertThat(counter.roundTrips()).isEqualTo(3);

      connection.rollback(connection.setSavepoint());
      connection.rollback();
      assertThat(counter.roundTrips()).isEqualTo(6);
    }
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void endingATransactionByAutoCommitIsATrip(TestDatabase database) throws SQLException {
    StatementCounter counter = StatementCounter.on(database);
    try (Connection connection = counter.dataSource().getConnection()) {
      connection.setAutoCommit(true);
      assertThat(counter.roundTrips()).isZero();
      connection.setAutoCommit(false);
      assertThat(counter.roundTrips()).isEqualTo(database.kind() == DatabaseKind.MARIADB ? 1 : 0);
      try (Statement statement = connection.createStatement()) {
        statement.execute("SELECT 1");
      }
      counter.reset();
      connection.setAutoCommit(true);
      assertThat(counter.statements()).containsExactly("setAutoCommit(true)");
    }
  }

  @Test
  void endingNoTransactionIsNoTripOnPostgres() throws SQLException {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES)) {
      StatementCounter counter = StatementCounter.on(database);
      try (Connection connection = counter.dataSource().getConnection();
          PreparedStatement last = connection.prepareStatement("SELECT 1;COMMIT")) {
        connection.setAutoCommit(false);
        connection.setAutoCommit(true);
        connection.setAutoCommit(false);
        last.execute();
        connection.setAutoCommit(true);
        assertThat(counter.statements()).containsExactly("SELECT 1;COMMIT");
      }
    }
  }

  @Test
  void batchIsOneTripOnPostgres() throws SQLException {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES)) {
      assertThat(tripsOfBatch(database, database, 100)).isEqualTo(1);
      assertThat(tripsOfBatch(database, database, 257)).isEqualTo(2);
    }
  }

  @Test
  void batchIsManyTripsOnMariaDbUnlessInBulk() throws SQLException {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.MARIADB)) {
      assertThat(tripsOfBatch(database, database, 100)).isEqualTo(100);
      assertThat(tripsOfBatch(database, database.with("useBulkStmts", "true"), 100)).isEqualTo(1);
    }
  }

  private static long tripsOfBatch(TestDatabase owner, TestDatabase database, int size)
      throws SQLException {
    owner.execute("DROP TABLE IF EXISTS item");
    owner.execute("CREATE TABLE item (id int)");
    StatementCounter counter = StatementCounter.on(database);
    try (Connection connection = counter.dataSource().getConnection();
        PreparedStatement insert = connection.prepareStatement(INSERT)) {
      for (int i = 0; i < size; i++) {
        insert.setInt(1, i);
        insert.addBatch();
      }
      insert.executeBatch();
    }
    assertThat(owner.count("SELECT count(*) FROM item")).isEqualTo(size);
    return counter.roundTrips();
  }

  @Test
  void errorsOfTheDriverPassUnchanged() throws SQLException {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES);
        Connection connection = StatementCounter.on(database).dataSource().getConnection();
        Statement statement = connection.createStatement()) {
      assertThatThrownBy(() -> statement.execute("nonsense")).isInstanceOf(SQLException.class);
    }
  }
}
