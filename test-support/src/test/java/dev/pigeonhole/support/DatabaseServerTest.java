package dev.pigeonhole.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.SocketTimeoutException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class DatabaseServerTest {

  /** Root may have two; whoever is not root has one. */
  static List<Unprivileged> waysToStart() {
    Unprivileged best = Unprivileged.here();
    return best == Unprivileged.USER_NAMESPACE ? List.of(best, Unprivileged.NOBODY) : List.of(best);
  }

  @Nested
  class Postgres extends Behaviour {

    @Override
    DatabaseServer start() {
      return PostgresServer.start();
    }

    @Override
    String wantedVersion() {
      return System.getProperty("pigeonhole.postgres", "18") + ".";
    }

    @Override
    Map<String, String> durableSettings() {
      return Map.of("fsync", "on", "full_page_writes", "on", "synchronous_commit", "on");
    }

    @ParameterizedTest
    @MethodSource("dev.pigeonhole.support.DatabaseServerTest#waysToStart")
    void everyWayThatIsPossibleHereStarts(Unprivileged way) {
      try (PostgresServer server = PostgresServer.start(way, Map.of())) {
        assertThat(server.version()).isNotEmpty();
      }
    }

    @Test
    void furtherSettingsCannotMakeItLax() {
      Map<String, String> settings = Map.of("work_mem", "7MB", "fsync", "off");
      try (PostgresServer server = PostgresServer.start(settings)) {
        assertThat(server.setting("work_mem")).isEqualTo("7MB");
        assertThat(server.setting("fsync")).isEqualTo("on");
      }
    }
  }

  @Nested
  class MariaDb extends Behaviour {

    @Override
    DatabaseServer start() {
      return MariaDbServer.start();
    }

    @Override
    String wantedVersion() {
      return System.getProperty("pigeonhole.mariadb", "11.4") + ".";
    }

    @Override
    Map<String, String> durableSettings() {
      return Map.of(
          "innodb_flush_log_at_trx_commit",
          "1",
          "sync_binlog",
          "1",
          "log_bin",
          "ON",
          "binlog_format",
          "ROW",
          "innodb_doublewrite",
          "ON");
    }
  }

  @TestInstance(Lifecycle.PER_CLASS)
  abstract static class Behaviour {

    private DatabaseServer server;

    abstract DatabaseServer start();

    abstract String wantedVersion();

    abstract Map<String, String> durableSettings();

    @BeforeAll
    void startServer() {
      server = start();
    }

    @AfterAll
    void closeServer() {
      server.close();
    }

    @Test
    void isAsDurableAsInProduction() {
      assertThat(durableSettings())
          .allSatisfy((name, value) -> assertThat(server.setting(name)).as(name).isEqualTo(value));
      assertThat(server.setting("max_connections")).isEqualTo("200");
    }

    @Test
    void isTheVersionAskedFor() {
      assertThat(server.version()).startsWith(wantedVersion());
    }

    @Test
    void schemasAreEmptyAndApart() {
      try (TestDatabase one = server.emptySchema();
          TestDatabase other = server.emptySchema()) {
        one.execute("CREATE TABLE item (id int, name varchar(10))");
        other.execute("CREATE TABLE item (id int, name varchar(10))");
        one.execute("INSERT INTO item VALUES (?, ?)", 1, "pin");

        assertThat(one.rows("SELECT id, name FROM item"))
            .containsExactly(Map.of("id", 1, "name", "pin"));
        assertThat(other.count("SELECT count(*) FROM item")).isZero();
      }
    }

    @Test
    void closedSchemaIsGone() {
      TestDatabase database = server.emptySchema();
      database.execute("CREATE TABLE item (id int)");
      database.pool(2);
      database.close();

      assertThatThrownBy(() -> database.count("SELECT count(*) FROM item"))
          .isInstanceOf(IllegalStateException.class);
    }

    @Test
    void committedRowsSurviveCrashes() {
      try (TestDatabase database = server.emptySchema()) {
        database.execute("CREATE TABLE item (id int)");
        for (int cycle = 1; cycle <= 3; cycle++) {
          database.execute("INSERT INTO item VALUES (?)", cycle);
          server.crash();
          assertThatThrownBy(() -> server.dataSource().getConnection())
              .isInstanceOf(SQLException.class);
          server.restart();
          assertThat(database.count("SELECT count(*) FROM item")).isEqualTo(cycle);
        }
      }
    }

    @Test
    void crashCutsATransaction() throws SQLException {
      try (TestDatabase database = server.emptySchema()) {
        database.execute("CREATE TABLE item (id int)");
        Connection connection = database.dataSource().getConnection();
        Statement statement = connection.createStatement();
        connection.setAutoCommit(false);
        statement.execute("INSERT INTO item VALUES (1)");
        server.crash();
        assertThatThrownBy(connection::commit).isInstanceOf(SQLException.class);
        server.restart();

        assertThat(database.count("SELECT count(*) FROM item")).isZero();
      }
    }

    @Test
    void stoppedServerComesBackWithItsData() {
      try (TestDatabase database = server.emptySchema()) {
        database.execute("CREATE TABLE item (id int)");

        server.stopFast();
        server.restart();

        assertThat(database.count("SELECT count(*) FROM item")).isZero();
      }
    }

    @Test
    void pausedServerAcceptsButDoesNotAnswer() {
      // Until the greeting of the server MariaDB's driver obeys its connect timeout only.
      boolean postgres = server.kind() == DatabaseKind.POSTGRES;
      String timeout = postgres ? "socketTimeout" : "connectTimeout";
      try (TestDatabase database = server.emptySchema()) {
        TestDatabase impatient = database.with(timeout, postgres ? "1" : "1000");
        server.pause();
        assertThatThrownBy(() -> impatient.count("SELECT 1"))
            .hasRootCauseInstanceOf(SocketTimeoutException.class);

        server.resume();

        Eventually.passes(
            Duration.ofMinutes(5), () -> assertThat(database.count("SELECT 1")).isOne());
      }
    }
  }
}
