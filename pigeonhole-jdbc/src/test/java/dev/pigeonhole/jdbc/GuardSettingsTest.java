package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.Guarded;
import dev.pigeonhole.support.TestDatabase;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever a guard sets for its own statements is put back to what the caller had. */
class GuardSettingsTest {
  private GuardRig rig;
  private String odd;

  @AfterEach
  void close() {
    rig.close();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void settingsOfTheCallersTransactionStayAsTheyWere(TestDatabase database) throws SQLException {
    rig = GuardRig.on(database);
    rig.guard.run(GuardRig.key("known").request("a"), tx -> 1);
    try (Connection other = rig.begin();
        Connection connection = rig.begin()) {
      rig.guard.run(other, GuardRig.key("held"), tx -> 1);
      setOddly(connection);

      assertThat(rig.guard.run(connection, GuardRig.key("k-1"), tx -> settings(tx.connection())))
          .as("what the body sees")
          .isEqualTo(new Guarded.Ran<>(odd));
      unchanged(connection, "ran");
      assertThat(rig.guard.run(connection, GuardRig.key("known").request("a"), tx -> 2))
          .isInstanceOf(Guarded.Repeat.class);
      unchanged(connection, "repeat");
      assertThat(rig.guard.run(connection, GuardRig.key("known").request("b"), tx -> 2))
          .isInstanceOf(Guarded.Conflict.class);
      unchanged(connection, "conflict");
      assertThat(
              rig.guard
                  .waitingAtMost(Duration.ofMillis(50))
                  .run(connection, GuardRig.key("held"), tx -> 2))
          .isInstanceOf(Guarded.Busy.class);
      unchanged(connection, "busy");
      IllegalStateException own = new IllegalStateException("no money");
      assertThatThrownBy(
              () ->
                  rig.guard.run(
                      connection,
                      GuardRig.key("k-2"),
                      tx -> {
                        throw own;
                      }))
          .isSameAs(own);
      unchanged(connection, "failed");
      connection.rollback();
      other.rollback();
    }
  }

  private void unchanged(Connection connection, String ending) throws SQLException {
    assertThat(settings(connection)).as("%s", ending).isEqualTo(odd);
  }

  /** Neither the defaults nor what a guard sets, so that only what was there before passes. */
  private void setOddly(Connection connection) throws SQLException {
    String before = settings(connection);
    List<String> statements =
        switch (rig.database.kind()) {
          case POSTGRES ->
              List.of(
                  "SET statement_timeout = 712345",
                  "SET lock_timeout = 71234",
                  "SET plan_cache_mode = force_generic_plan",
                  // Those that can only be on or off: one as by default, the others as a guard has
                  // them.
                  "SET enable_hashjoin = off",
                  "SET enable_mergejoin = off");
          case MARIADB ->
              List.of(
                  "SET innodb_lock_wait_timeout = 71", "SET sql_mode = 'NO_ENGINE_SUBSTITUTION'");
          case H2 -> List.of("SET LOCK_TIMEOUT 71234");
        };
    try (Statement statement = connection.createStatement()) {
      for (String each : statements) {
        statement.execute(each);
      }
    }
    odd = settings(connection);
    assertThat(odd).isNotEqualTo(before);
  }

  private String settings(Connection connection) throws SQLException {
    String question =
        switch (rig.database.kind()) {
          case POSTGRES ->
              "SELECT string_agg(name || '=' || setting, ' ' ORDER BY name) FROM pg_settings"
                  + " WHERE name LIKE '%timeout' OR name LIKE 'enable%' OR name IN ('plan_cache_mode', 'jit')";
          case MARIADB -> "SELECT CONCAT(@@innodb_lock_wait_timeout, ' ', @@sql_mode)";
          case H2 -> "CALL LOCK_TIMEOUT()";
        };
    try (Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery(question)) {
      result.next();
      return result.getString(1);
    }
  }
}
