package dev.pigeonhole.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class PostgresServerTest {

  @Test
  void sharedServerIsAsDurableAsInProduction() {
    PostgresServer server = PostgresServer.shared();

    assertThat(server.setting("fsync")).isEqualTo("on");
    assertThat(server.setting("full_page_writes")).isEqualTo("on");
    assertThat(server.setting("synchronous_commit")).isEqualTo("on");
    assertThat(server.setting("max_connections")).isEqualTo("200");
  }

  @Test
  void versionIsTheOneAskedFor() {
    String wanted = System.getProperty("pigeonhole.postgres", "18");

    assertThat(PostgresServer.shared().version()).startsWith(wanted + ".");
  }

  @Test
  void schemasAreEmptyAndApart() {
    try (TestDatabase one = PostgresServer.shared().emptySchema();
        TestDatabase other = PostgresServer.shared().emptySchema()) {
      one.execute("CREATE TABLE item (id int, name text)");
      other.execute("CREATE TABLE item (id int, name text)");
      one.execute("INSERT INTO item VALUES (?, ?)", 1, "pin");

      assertThat(one.rows("SELECT id, name FROM item"))
          .containsExactly(Map.of("id", 1, "name", "pin"));
      assertThat(other.count("SELECT count(*) FROM item")).isZero();
    }
  }

  @Test
  void committedRowsSurviveACrash() {
    try (PostgresServer server = PostgresServer.start()) {
      TestDatabase database = server.emptySchema();
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
  void crashCutsASessionInTheMiddleOfItsTransaction() throws SQLException {
    try (PostgresServer server = PostgresServer.start();
        TestDatabase database = server.emptySchema()) {
      database.execute("CREATE TABLE item (id int)");
      try (Connection connection = database.dataSource().getConnection();
          Statement statement = connection.createStatement()) {
        connection.setAutoCommit(false);
        statement.execute("INSERT INTO item VALUES (1)");
        server.crash();
        assertThatThrownBy(connection::commit).isInstanceOf(SQLException.class);
      }
      server.restart();

      assertThat(database.count("SELECT count(*) FROM item")).isZero();
    }
  }

  @Test
  void stoppedServerComesBackWithItsData() {
    try (PostgresServer server = PostgresServer.start();
        TestDatabase database = server.emptySchema()) {
      database.execute("CREATE TABLE item (id int)");

      server.stopFast();
      server.restart();

      assertThat(database.count("SELECT count(*) FROM item")).isZero();
    }
  }

  @Test
  void pausedServerAcceptsButDoesNotAnswer() {
    try (PostgresServer server = PostgresServer.start();
        TestDatabase database = server.emptySchema()) {
      server.pause();
      assertThatThrownBy(() -> database.with("socketTimeout", "1").count("SELECT 1"))
          .hasRootCauseInstanceOf(java.net.SocketTimeoutException.class);

      server.resume();

      assertThat(database.count("SELECT 1")).isOne();
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"USER_NAMESPACE", "NOBODY"})
  void rootHasTwoWaysToStart(Unprivileged way) {
    assumeTrue(Unprivileged.here() == Unprivileged.USER_NAMESPACE, "needs root and namespaces");

    try (PostgresServer server = PostgresServer.start(way)) {
      assertThat(server.version()).isNotEmpty();
    }
  }
}
