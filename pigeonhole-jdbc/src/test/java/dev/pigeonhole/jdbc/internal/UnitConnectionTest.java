package dev.pigeonhole.jdbc.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.support.Proxies;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** The connection that a handler gets, and how it is taken away. */
class UnitConnectionTest {
  private final List<String> calls = new CopyOnWriteArrayList<>();
  private final CountDownLatch executing = new CountDownLatch(1);
  private final CountDownLatch canceled = new CountDownLatch(1);
  private final CountDownLatch mayAbort = new CountDownLatch(1);

  private final Statement statement =
      Proxies.proxy(
          Statement.class,
          (self, method, args) -> {
            if (method.getName().equals("cancel")) {
              canceled.countDown();
              mayAbort.await();
              calls.add("canceled");
            } else if (method.getName().equals("execute")) {
              executing.countDown();
              canceled.await();
              throw new SQLException("canceled", "57014");
            }
            return null;
          });

  private final Connection target =
      Proxies.proxy(
          Connection.class,
          (self, method, args) -> {
            if (method.getName().equals("abort")) {
              calls.add("aborted");
            }
            return method.getName().equals("createStatement") ? statement : null;
          });

  /** Else it would go back to its pool alive, and the next user would be canceled. */
  @Test
  void theEndOfAUnitWaitsUntilItsConnectionIsTakenAway() throws Exception {
    CountDownLatch began = new CountDownLatch(1);
    Connection[] given = new Connection[1];
    Thread handler =
        new Thread(
            () -> {
              UnitConnection unit = new UnitConnection(target, new MariaDbDialect());
              given[0] = unit.connection();
              began.countDown();
              assertThatThrownBy(() -> given[0].createStatement().execute("SELECT 1"))
                  .isInstanceOf(SQLException.class);
              unit.end();
              calls.add("ended");
            });
    handler.start();
    began.await();
    executing.await();
    Thread abort = new Thread(() -> abort(given[0]));
    abort.start();
    canceled.await();
    handler.join(300); // a unit that did not wait would end by now
    mayAbort.countDown();
    handler.join();
    abort.join();

    assertThat(calls).containsExactly("canceled", "aborted", "ended");
  }

  @Test
  void aUnitThatHasEndedKeepsItsConnection() throws Exception {
    UnitConnection unit = new UnitConnection(target, new MariaDbDialect());
    unit.end();
    Thread late = new Thread(() -> abort(unit.connection()));
    late.start();
    late.join();

    assertThat(calls).isEmpty();
    assertThat(unit.aborted()).isFalse();
  }

  private static void abort(Connection connection) {
    try {
      connection.abort(Runnable::run);
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }
}
