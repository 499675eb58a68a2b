package dev.pigeonhole.benchmarks.subject;

import static dev.pigeonhole.support.Proxies.call;
import static dev.pigeonhole.support.Proxies.proxy;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Counts how often the users of a data source wait for the database. It costs time itself, so it
 * belongs to runs of which nobody takes the time. What is sent past JDBC, a COPY for example, is
 * not seen.
 */
final class RoundTrips {

  // The driver of PostgreSQL waits for the server after so many statements of a batch.
  private static final int STATEMENTS_AT_ONCE = 256;

  private static final Set<String> STATEMENTS_OF_A_CONNECTION =
      Set.of("setSavepoint", "releaseSavepoint", "isValid");

  private final AtomicLong count = new AtomicLong();

  long count() {
    return count.get();
  }

  /** The same source, whose connections count. */
  DataSource on(DataSource source) {
    return proxy(
        DataSource.class,
        (self, method, args) -> {
          Object result = call(source, method, args);
          return result instanceof Connection connection
              ? proxy(Connection.class, new ConnectionCalls(connection))
              : result;
        });
  }

  /** The statement that a call is about, if it is about one. */
  private static String text(Object @Nullable [] args) {
    return args != null && args.length > 0 && args[0] instanceof String sql ? sql : "";
  }

  private final class ConnectionCalls implements InvocationHandler {

    private final Connection target;

    /** Whether the server is in a transaction; to end none, the driver sends nothing. */
    private boolean open;

    ConnectionCalls(Connection target) {
      this.target = target;
    }

    @Override
    public @Nullable Object invoke(Object self, Method method, Object @Nullable [] args)
        throws Throwable {
      boolean backToSavepoint = method.getName().equals("rollback") && args != null;
      if (backToSavepoint || STATEMENTS_OF_A_CONNECTION.contains(method.getName())) {
        sent(1);
      } else if (open && ends(method, args)) {
        count.incrementAndGet();
        open = false;
      }
      Object result = call(target, method, args);
      return result instanceof Statement statement
          ? proxy(
              method.getReturnType().asSubclass(Statement.class),
              new StatementCalls((Connection) self, this, statement, text(args)))
          : result;
    }

    void sent(int trips) throws SQLException {
      count.addAndGet(trips);
      open = !target.getAutoCommit();
    }

    /** One trip, with what may be the end of the transaction behind the statement. */
    void sent(String sql) throws SQLException {
      sent(1);
      open &= !sql.endsWith(";COMMIT");
    }

    private static boolean ends(Method method, Object @Nullable [] args) {
      return switch (method.getName()) {
        case "commit", "rollback" -> true;
        case "setAutoCommit" -> args != null && (boolean) args[0];
        default -> false;
      };
    }
  }

  private final class StatementCalls implements InvocationHandler {

    private final Connection connection;
    private final ConnectionCalls calls;
    private final Statement target;
    private final String prepared;
    private int batched;

    StatementCalls(
        Connection connection, ConnectionCalls calls, Statement target, String prepared) {
      this.connection = connection;
      this.calls = calls;
      this.target = target;
      this.prepared = prepared;
    }

    @Override
    public @Nullable Object invoke(Object self, Method method, Object @Nullable [] args)
        throws Throwable {
      switch (method.getName()) {
        case "addBatch" -> batched++;
        case "clearBatch" -> batched = 0;
        case "executeBatch", "executeLargeBatch" -> {
          calls.sent((batched + STATEMENTS_AT_ONCE - 1) / STATEMENTS_AT_ONCE);
          batched = 0;
        }
        case "execute", "executeQuery", "executeUpdate", "executeLargeUpdate" -> {
          String given = text(args);
          calls.sent(given.isEmpty() ? prepared : given);
        }
        case "getConnection" -> {
          return connection;
        }
        default -> {}
      }
      return call(target, method, args);
    }
  }
}
