package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.pigeonhole.store.Ahead;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.DatabaseServer;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;

/**
 * A proxy that sends what is read outside of transactions to a standby, which lags behind. Such a
 * read must not decide which delivery of an ordering key comes first.
 */
class ReadSplittingTest {

  @Test
  void aStandbyOfPostgresDecidesNoOrder() throws SQLException {
    try (TestDatabase primary = TestDatabases.open(DatabaseKind.POSTGRES);
        Standby standby = new Standby(primary)) {
      Rig rig = Rig.on(primary);
      Ahead follower = follower(rig);

      assertThat(rig.store.deliveries().ahead(List.of(follower)).open()).hasSize(1);
      try (Connection reading = standby.connection()) {
        JdbcStore split = JdbcStore.of(splitting(primary, reading));
        assertThatExceptionOfType(StoreException.class)
            .isThrownBy(() -> split.deliveries().ahead(List.of(follower)))
            .withMessageContaining("standby")
            .withMessageContaining("primary")
            .matches(e -> e.kind() == StoreException.Kind.TRANSIENT);
      }
    }
  }

  @Test
  void aReplicaOfMariaDbDecidesNoOrder() throws SQLException {
    try (DatabaseServer server = TestDatabases.startServer(DatabaseKind.MARIADB);
        TestDatabase primary = server.emptySchema()) {
      Rig rig = Rig.on(primary);
      Ahead follower = follower(rig);
      assertThat(rig.store.deliveries().ahead(List.of(follower)).open()).hasSize(1);

      primary.execute("SET GLOBAL read_only = 1"); // as every replica is
      assertThatExceptionOfType(StoreException.class)
          .isThrownBy(() -> rig.store.deliveries().ahead(List.of(follower)))
          .withMessageContaining("standby")
          .matches(e -> e.kind() == StoreException.Kind.TRANSIENT);
    }
  }

  private static Ahead follower(Rig rig) {
    rig.store
        .acceptor()
        .accept(
            List.of(Rig.message("head", 7L, "x", rig.a), Rig.message("follower", 7L, "x", rig.a)));
    Delivery last = rig.open(rig.a, 10).get(1);
    return new Ahead(last.cell(), 7L, last.seq());
  }

  private static DataSource splitting(TestDatabase primary, Connection standby) {
    return Pretending.twisted(
        primary.dataSource(),
        call ->
            call.name().equals("prepareStatement") && call.connection().getAutoCommit()
                ? call.method().invoke(standby, call.args())
                : call.go());
  }

  /**
   * A database with the same tables that has not heard of anything yet, and says that it is in
   * recovery.
   */
  private static final class Standby implements AutoCloseable {
    private final TestDatabase primary;
    private final TestDatabase database;

    Standby(TestDatabase primary) throws SQLException {
      this.primary = primary;
      String name = "standby_" + primary.schema();
      primary.execute("CREATE DATABASE " + name);
      // A function of the schema is found before that of the server if the path says so.
      String url =
          primary
              .jdbcUrl()
              .replaceFirst("/\\w+\\?", "/" + name + "?")
              .replaceFirst(
                  "currentSchema=\\w+", "currentSchema=" + primary.schema() + ",pg_catalog");
      this.database = TestDatabase.attach(url, primary.user(), primary.password());
      database.execute("CREATE SCHEMA " + primary.schema());
      Schema.migrate(database.dataSource());
      database.execute(
          "CREATE FUNCTION pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS 'SELECT true'");
    }

    Connection connection() throws SQLException {
      return database.dataSource().getConnection();
    }

    @Override
    public void close() throws SQLException {
      try (Connection connection = primary.dataSource().getConnection();
          Statement statement = connection.createStatement()) {
        statement.execute("DROP DATABASE standby_" + primary.schema() + " WITH (FORCE)");
      }
    }
  }
}
