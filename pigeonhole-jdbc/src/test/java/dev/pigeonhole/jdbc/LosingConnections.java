package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.support.Proxies;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;

/**
 * Connections of which the first one that runs {@link #LOSE} is lost as behind a firewall that
 * drops its packets: the client has an error, and the server keeps the session with its locks until
 * it notices.
 */
final class LosingConnections {
  static final String LOSE = "lose this connection";

  private final DataSource pool;
  private final CountDownLatch lost = new CountDownLatch(1);
  private volatile Connection session;

  LosingConnections(DataSource pool) {
    this.pool = pool;
  }

  DataSource dataSource() {
    return Proxies.proxy(
        DataSource.class,
        (self, method, args) ->
            method.getName().equals("getConnection")
                ? watched(pool.getConnection())
                : Proxies.call(pool, method, args));
  }

  void awaitLost() throws InterruptedException {
    assertThat(lost.await(5, TimeUnit.MINUTES)).as("a connection is lost").isTrue();
  }

  /** The server ends the session. */
  void noticed() throws SQLException {
    session.rollback();
    session.close();
  }

  private Connection watched(Connection real) {
    return Proxies.proxy(
        Connection.class,
        (self, method, args) -> {
          if (session == real) {
            if (method.getName().equals("close")) {
              return null;
            }
            throw gone();
          }
          Object answer = Proxies.call(real, method, args);
          return method.getName().equals("createStatement")
              ? watched(real, (Statement) answer)
              : answer;
        });
  }

  private Statement watched(Connection connection, Statement real) {
    return Proxies.proxy(
        Statement.class,
        (self, method, args) -> {
          if (args != null && LOSE.equals(args[0])) {
            session = connection;
            lost.countDown();
            throw gone();
          }
          return Proxies.call(real, method, args);
        });
  }

  private static SQLException gone() {
    return new SQLException("for the test: the connection is lost", "08006");
  }
}
