package dev.pigeonhole.support;

import static dev.pigeonhole.support.Proxies.call;
import static dev.pigeonhole.support.Proxies.proxy;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Counts how often the users of a data source wait for the database. Where the drivers differ, or
 * only sometimes save a trip, it counts the dearer case: a promise about the number of trips that
 * holds here holds on the wire.
 *
 * <p>Not counted: opening a connection, and the fetches of a result set with a fetch size.
 */
public final class StatementCounter {

  // The driver of PostgreSQL waits for the server after so many statements of a batch.
  private static final int POSTGRES_BATCH = 256;

  private static final Set<String> CALLS_ON_A_CONNECTION =
      Set.of(
          "commit",
          "rollback",
          "setSavepoint",
          "releaseSavepoint",
          "setTransactionIsolation",
          "setReadOnly",
          "setSchema",
          "setCatalog",
          "isValid");

  private final DatabaseKind kind;
  private final boolean bulkBatches;
  private final boolean serverPrepares;
  private final DataSource counted;
  private final List<String> statements = new ArrayList<>(); // also the monitor of roundTrips
  private long roundTrips;

  private StatementCounter(DataSource target, String jdbcUrl) {
    this.kind = DatabaseKind.of(jdbcUrl);
    this.bulkBatches = jdbcUrl.contains("useBulkStmts=true");
    this.serverPrepares = jdbcUrl.contains("useServerPrepStmts=true");
    this.counted = proxy(DataSource.class, new DataSourceCalls(target));
  }

  /** Counts what happens on plain connections to this database. */
  public static StatementCounter on(TestDatabase database) {
    return on(database, database.dataSource());
  }

  /** Counts what happens on another data source, a pool for example, of this database. */
  public static StatementCounter on(TestDatabase database, DataSource dataSource) {
    return new StatementCounter(dataSource, database.jdbcUrl());
  }

  /** The data source to hand to the code under test. */
  public DataSource dataSource() {
    return counted;
  }

  public long roundTrips() {
    synchronized (statements) {
      return roundTrips;
    }
  }

  /** What was sent, in order: the SQL, and the names of other calls, such as {@code commit}. */
  public List<String> statements() {
    synchronized (statements) {
      return List.copyOf(statements);
    }
  }

  public void reset() {
    synchronized (statements) {
      statements.clear();
      roundTrips = 0;
    }
  }

  private void count(String what, long trips) {
    synchronized (statements) {
      statements.add(what);
      roundTrips += trips;
    }
  }

  private long tripsOfBatch(int size) {
    return switch (kind) {
      case POSTGRES -> (size + POSTGRES_BATCH - 1) / POSTGRES_BATCH;
      case MARIADB -> bulkBatches ? Math.min(size, 1) : size;
      case H2 -> size;
    };
  }

  private final class DataSourceCalls implements InvocationHandler {

    private final DataSource target;

    DataSourceCalls(DataSource target) {
      this.target = target;
    }

    @Override
    public @Nullable Object invoke(Object self, Method method, Object @Nullable [] args)
        throws Throwable {
      Object result = call(target, method, args);
      return result instanceof Connection connection
          ? proxy(Connection.class, new ConnectionCalls(connection))
          : result;
    }
  }

  private final class ConnectionCalls implements InvocationHandler {

    private final Connection target;

    /** Whether the server is in a transaction; to end none, PostgreSQL's driver sends nothing. */
    private boolean open;

    ConnectionCalls(Connection target) {
      this.target = target;
    }

    void ran(String sql) throws SQLException {
      open = !target.getAutoCommit() && !sql.endsWith(";COMMIT");
    }

    @Override
    public @Nullable Object invoke(Object self, Method method, Object @Nullable [] args)
        throws Throwable {
      String name = method.getName();
      if (CALLS_ON_A_CONNECTION.contains(name)) {
        count(name, 1);
        boolean ends = name.equals("commit") || (name.equals("rollback") && args == null);
        open = name.equals("setSavepoint") || (open && !ends);
      } else if (name.equals("setAutoCommit") && args != null) {
        countAutoCommit((boolean) args[0]);
      }
      Object result = call(target, method, args);
      if (result instanceof Statement statement) {
        String sql = args != null && args[0] instanceof String text ? text : "";
        if (serverPrepares && !sql.isEmpty()) {
          count("prepare " + sql, 1);
        }
        return proxy(
            method.getReturnType().asSubclass(Statement.class),
            new StatementCalls((Connection) self, this, statement, sql));
      }
      return result;
    }

    /** PostgreSQL sends a BEGIN along with the first statement; MariaDB tells the server now. */
    private void countAutoCommit(boolean wanted) throws SQLException {
      if (target.getAutoCommit() == wanted) {
        return;
      }
      boolean commits = wanted && (open || kind != DatabaseKind.POSTGRES);
      open = false;
      if (commits || kind == DatabaseKind.MARIADB) {
        count("setAutoCommit(" + wanted + ")", 1);
      }
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
      String given = args != null && args[0] instanceof String text ? text : prepared;
      switch (method.getName()) {
        case "addBatch" -> batched++;
        case "clearBatch" -> batched = 0;
        case "executeBatch", "executeLargeBatch" -> {
          count(prepared, tripsOfBatch(batched));
          calls.ran(prepared);
          batched = 0;
        }
        case "execute", "executeQuery", "executeUpdate", "executeLargeUpdate" -> {
          count(given, 1);
          calls.ran(given);
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
