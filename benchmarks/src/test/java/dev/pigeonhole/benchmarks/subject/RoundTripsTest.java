package dev.pigeonhole.benchmarks.subject;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class RoundTripsTest {

  private final RoundTrips trips = new RoundTrips();
  private final HikariDataSource source = new HikariDataSource();
  private Connection connection;

  @BeforeEach
  void open() throws SQLException {
    source.setJdbcUrl("jdbc:h2:mem:round-trips");
    connection = trips.on(source).getConnection();
  }

  @AfterEach
  void close() throws SQLException {
    connection.close();
    source.close();
  }

  private void select() throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute("SELECT 1");
    }
  }

  @Test
  void statementsAndTheEndOfATransactionAreCounted() throws SQLException {
    connection.setAutoCommit(false);
    select();
    Savepoint savepoint = connection.setSavepoint();
    select();
    connection.rollback(savepoint);
    connection.commit();
    assertThat(trips.count()).isEqualTo(5);
  }

  @Test
  void toEndWhatHasEndedIsNotCounted() throws SQLException {
    connection.setAutoCommit(false);
    select();
    connection.commit();
    connection.rollback();
    connection.setAutoCommit(true);
    assertThat(trips.count()).isEqualTo(2);
  }

  @Test
  void aStatementMayBringTheEndWithIt() throws SQLException {
    connection.setAutoCommit(false);
    try (Statement statement = connection.createStatement()) {
      statement.execute("SELECT 1;COMMIT");
    }
    connection.setAutoCommit(true);
    assertThat(trips.count()).isOne();
  }

  @Test
  void autoCommitThatEndsATransactionIsCounted() throws SQLException {
    connection.setAutoCommit(false);
    select();
    connection.setAutoCommit(true);
    assertThat(trips.count()).isEqualTo(2);
  }
}
