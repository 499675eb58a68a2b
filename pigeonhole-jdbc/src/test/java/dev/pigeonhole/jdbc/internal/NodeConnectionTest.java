package dev.pigeonhole.jdbc.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What the connection of a node's beats does to others, and leaves behind. */
class NodeConnectionTest {
  private static final String CHANGE = "UPDATE {node} SET beat = beat + 1 WHERE name = 'one'";

  /** Stands for a process that is paused between its last statement and its commit. */
  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void oneThatFallsSilentInATransactionDoesNotKeepItsLocks(TestDatabase database) throws Exception {
    try (database;
        HikariDataSource pool = database.pool(4)) {
      Schema.migrate(pool);
      Jdbc jdbc = jdbc(pool);
      new JdbcNodes(
              new NodeConnection(pool, jdbc),
              new Registry(jdbc, new Families()),
              false,
              new AtomicInteger())
          .join("one", Set.of());
      NodeConnection silent = new NodeConnection(pool, jdbc);
      NodeConnection other = new NodeConnection(pool, jdbc);
      CountDownLatch changed = new CountDownLatch(1);
      CountDownLatch awake = new CountDownLatch(1);
      CompletableFuture<Integer> paused =
          CompletableFuture.supplyAsync(
              () ->
                  silent.transaction(
                      session -> {
                        int rows = session.update(CHANGE, params -> {});
                        changed.countDown();
                        await(awake);
                        return rows;
                      }));
      await(changed);

      assertThat(change(other)).isOne();

      awake.countDown();
      assertThatThrownBy(() -> paused.get(300, TimeUnit.SECONDS))
          .hasCauseInstanceOf(StoreException.class);
      assertThat(change(silent)).isOne();
      silent.release();
      other.release();
    }
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void goesBackToItsPoolWithTheLimitsThatItCameWith(TestDatabase database) throws Exception {
    try (database;
        HikariDataSource pool = database.pool(1)) {
      Schema.migrate(pool);
      boolean postgres = database.kind() == DatabaseKind.POSTGRES;
      String limit = postgres ? "idle_in_transaction_session_timeout" : "idle_transaction_timeout";
      set(pool, limit + " = 7000");
      NodeConnection connection = new NodeConnection(pool, jdbc(pool));
      for (int i = 0; i < 2; i++) {
        change(connection);
      }
      connection.release();

      assertThat(show(pool, postgres ? "SHOW " + limit : "SELECT @@" + limit))
          .isEqualTo(postgres ? "7s" : "7000");
    }
  }

  private static int change(NodeConnection connection) {
    return connection.transaction(session -> session.update(CHANGE, params -> {}));
  }

  private static void set(DataSource pool, String setting) throws SQLException {
    try (Connection connection = pool.getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute("SET " + setting);
    }
  }

  private static String show(DataSource pool, String select) throws SQLException {
    try (Connection connection = pool.getConnection();
        Statement statement = connection.createStatement();
        ResultSet row = statement.executeQuery(select)) {
      row.next();
      return row.getString(1);
    }
  }

  private static Jdbc jdbc(DataSource pool) throws SQLException {
    try (Connection connection = pool.getConnection()) {
      Dialect dialect = Dialect.of(connection.getMetaData().getDatabaseProductName());
      String schema = dialect.currentSchema(connection);
      return new Jdbc(pool, dialect, new Tables(dialect.quote(), schema, "pigeonhole_"), null);
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      assertThat(latch.await(300, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
