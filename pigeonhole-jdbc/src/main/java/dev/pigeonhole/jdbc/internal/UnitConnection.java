package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Array;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ParameterMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;

/**
 * The connection that a handler gets: everything but what would end the transaction. It sees every
 * error of the database, so that one that the handler swallows cannot be committed over.
 *
 * <p>One instance belongs to one unit, and a handler may use it from other threads while the unit
 * runs; the fields are volatile for them.
 */
final class UnitConnection {

  private static final Set<String> RUNNING_SQL =
      Set.of(
          "prepareStatement",
          "prepareCall",
          "execute",
          "executeQuery",
          "executeUpdate",
          "executeLargeUpdate",
          "addBatch");

  /**
   * What knows its connection, or knows something that does: the rows of an array have a statement.
   */
  private static final List<Class<?>> LEADING_BACK =
      List.of(
          CallableStatement.class,
          PreparedStatement.class,
          Statement.class,
          DatabaseMetaData.class,
          ResultSet.class,
          ResultSetMetaData.class,
          ParameterMetaData.class,
          Array.class);

  private final Thread owner = Thread.currentThread();
  private final @Nullable Object purpose;
  private final SqlText sqlText;
  private final Connection proxy;
  private final Object ending = new Object();
  private volatile @Nullable Statement executing;
  private volatile boolean ended;
  private volatile boolean aborted;
  private volatile boolean delivering;
  private volatile @Nullable SQLException error;
  private volatile @Nullable InboxException misuse; // the first refusal, swallowed or not

  UnitConnection(Connection target, Dialect dialect) {
    this(target, dialect, null);
  }

  /**
   * @param purpose what the unit is for, where {@link #isUnderWay} must find it
   */
  UnitConnection(Connection target, Dialect dialect, @Nullable Object purpose) {
    this.purpose = purpose;
    this.sqlText = new SqlText(dialect);
    this.proxy = proxy(Connection.class, new Guard(target, this::onConnection));
  }

  /** What the handler gets. */
  Connection connection() {
    return proxy;
  }

  /**
   * What is inside, for statements of ours that run in somebody's unit: an insert that finds its
   * row there already is no error of the handler's. Any other connection is answered as it is.
   */
  static Connection inside(Connection connection) throws SQLException {
    Guard guard = guardOf(connection);
    if (guard != null && guard.wrapped instanceof Connection inner) {
      connection.getAutoCommit(); // refused after the end of the unit
      return inside(inner);
    }
    return connection;
  }

  private static @Nullable Guard guardOf(Connection connection) {
    return Proxy.isProxyClass(connection.getClass())
            && Proxy.getInvocationHandler(connection) instanceof Guard guard
        ? guard
        : null;
  }

  /** The units that lead to this connection, the innermost first. */
  private static List<UnitConnection> around(Connection connection) {
    List<UnitConnection> units = new ArrayList<>();
    Guard guard = guardOf(connection);
    while (guard != null) {
      units.add(guard.unit());
      guard = guard.wrapped instanceof Connection inner ? guardOf(inner) : null;
    }
    return units;
  }

  /** Whether a unit for this purpose is under way in the transaction of the connection. */
  static boolean isUnderWay(Object purpose, Connection connection) {
    return around(connection).stream().anyMatch(unit -> purpose.equals(unit.purpose));
  }

  /** Statements of ours have added deliveries of known messages {@linkplain #inside inside}. */
  static void delivers(Connection connection) {
    around(connection).forEach(unit -> unit.delivering = true);
  }

  /**
   * A statement of ours failed {@linkplain #inside inside} a unit. The unit sees only what passes
   * through it, and has to know: what the database cannot do now is not the handler's failure.
   */
  static void failed(Connection connection, SQLException e) {
    Guard guard = guardOf(connection);
    if (guard != null) {
      guard.note(e);
    }
  }

  /**
   * From now on every use is refused. Waits for an abort that has begun: the connection could be
   * back in its pool before the server acts on it, which would then stop a statement of the next
   * user.
   */
  void end() {
    synchronized (ending) {
      ended = true;
    }
  }

  /** The engine takes the connection away from a handler whose time is up. */
  private void abort(Callable<?> abortion) throws Throwable {
    synchronized (ending) {
      if (!ended) {
        aborted = true;
        cancel();
        try {
          abortion.call();
        } catch (InvocationTargetException e) {
          throw e.getCause();
        }
      }
    }
  }

  /** Whether the engine took it away: errors after that are none of the handler's. */
  boolean aborted() {
    return aborted;
  }

  /** Whether deliveries of known messages were added, maybe of the one that the unit is for. */
  boolean delivering() {
    return delivering;
  }

  /** The first error that the database gave, swallowed or not. */
  @Nullable SQLException error() {
    return error;
  }

  /** What the handler has done that must not commit, although it returned as if all were well. */
  @Nullable InboxException wrong() {
    SQLException swallowed = error;
    if (misuse != null || swallowed == null) {
      return misuse;
    }
    return new InboxException(
        ErrorCode.TX_SQL_ERROR_SWALLOWED,
        "The handler went on after an error of the database. Its transaction cannot be trusted any"
            + " more, so let the exception through: "
            + Errors.describe(swallowed),
        ServerWords.only(swallowed));
  }

  private @Nullable Object onConnection(
      Object wrapped, Object self, Method method, Object @Nullable [] args) throws Throwable {
    return switch (method.getName()) {
      case "commit" ->
          throw refuse(
              ErrorCode.TX_COMMIT_OR_ROLLBACK,
              "The inbox commits this transaction together with the receipt; the handler may not. Remove"
                  + " the commit: returning commits, throwing rolls back.");
      case "rollback" -> {
        if (args == null) {
          throw refuse(
              ErrorCode.TX_COMMIT_OR_ROLLBACK,
              "The handler may not roll back; throw an exception, and the inbox rolls back"
                  + " everything.");
        }
        yield forward(wrapped, method, args);
      }
      case "setAutoCommit" ->
          throw refuse(
              ErrorCode.TX_AUTOCOMMIT,
              "The transaction belongs to the inbox; its autocommit mode cannot be changed.");
      case "setTransactionIsolation", "setReadOnly" ->
          throw refuse(
              ErrorCode.TX_STATEMENT,
              "The transaction has begun; changing its isolation or access mode commits it on some databases.");
      case "close" -> throw refuseToClose();
      case "abort" -> {
        if (Thread.currentThread() == owner) {
          throw refuseToClose();
        }
        abort(() -> method.invoke(wrapped, args));
        yield null;
      }
      case "isClosed" -> ended;
      case "unwrap" ->
          throw refuse(
              ErrorCode.TX_COMMIT_OR_ROLLBACK,
              "The connection cannot be unwrapped: what is inside could end the transaction.");
      default -> onAnything(wrapped, self, method, args);
    };
  }

  private void refuseToEnd(String sql) {
    if (sqlText.endsTransaction(sql)) {
      throw refuse(
          ErrorCode.TX_STATEMENT,
          "The statement would end the transaction, or does so on some databases: "
              + shortened(sql)
              + ". Run DDL and transaction statements outside of handlers.");
    }
  }

  private @Nullable Object onAnything(
      Object wrapped, Object self, Method method, Object @Nullable [] args) throws Throwable {
    switch (method.getName()) {
      case "equals" -> {
        return args != null && self == args[0];
      }
      case "hashCode" -> {
        return System.identityHashCode(self);
      }
      case "toString" -> {
        return "Unit " + wrapped;
      }
      case "isWrapperFor" -> {
        return false;
      }
      case "unwrap" ->
          throw refuse(
              ErrorCode.TX_COMMIT_OR_ROLLBACK,
              "This cannot be unwrapped: what is inside could end the transaction.");
      case "getConnection" -> {
        return proxy;
      }
      default -> {
        if (RUNNING_SQL.contains(method.getName())
            && args != null
            && args[0] instanceof String sql) {
          refuseToEnd(sql);
          // Of a connection that the handler has wrapped; of another, see delivers.
          delivering |= sql.contains(PostgresStatements.ADDED);
        }
        return forward(wrapped, method, args);
      }
    }
  }

  /**
   * A server that is busy with a statement does not notice that its client is gone: until the
   * statement ends it keeps the locks, and whoever settles the delivery would wait for it.
   */
  private void cancel() {
    Statement running = executing;
    try {
      if (running != null) {
        running.cancel();
      }
    } catch (SQLException e) {
      executing = null; // it ends by itself, or the server finds out later
    }
  }

  private InboxException refuseToClose() {
    return refuse(
        ErrorCode.TX_CLOSE,
        "The connection belongs to the inbox, which closes it after the commit. Remove close(), or take"
            + " the connection out of the try-with-resources.");
  }

  private static String shortened(String sql) {
    String line = sql.strip().replaceAll("\\s+", " ");
    return line.length() <= 80 ? line : line.substring(0, 80) + "…";
  }

  private @Nullable Object forward(Object wrapped, Method method, Object @Nullable [] args)
      throws Throwable {
    if (ended) {
      if (method.getName().equals("close")) { // closing what one has opened is fine, even late
        return null;
      }
      throw new InboxException(
          ErrorCode.TX_LOST,
          "The transaction of this delivery has ended; its connection cannot be used any more,"
              + " nor handed to another thread.");
    }
    if (aborted && !method.getName().equals("close")) {
      throw takenAway();
    }
    boolean runs = wrapped instanceof Statement && method.getName().startsWith("execute");
    try {
      if (runs) {
        executing = (Statement) wrapped;
      }
      return wrap(method.invoke(wrapped, unwrap(args)));
    } catch (InvocationTargetException e) {
      if (e.getCause() instanceof SQLException failure && error == null) {
        error = failure;
      }
      throw e.getCause();
    } finally {
      if (runs) {
        executing = null;
      }
    }
  }

  /** As servers say it when their connection is gone; H2 has none that could be cut. */
  private SQLException takenAway() {
    SQLException gone =
        new SQLException(
            "The time of this transaction is up; its connection was taken away.", "08003");
    if (error == null) {
      error = gone;
    }
    return gone;
  }

  /** What leads back to the connection leads back to the wrapper; the narrowest type first. */
  private @Nullable Object wrap(@Nullable Object result) {
    for (Class<?> type : LEADING_BACK) {
      if (type.isInstance(result)) {
        return proxy(type, new Guard(result, this::onAnything));
      }
    }
    return result;
  }

  /** Drivers look into what they are given, such as an array, and must find their own. */
  private static Object @Nullable [] unwrap(Object @Nullable [] args) {
    if (args == null) {
      return null;
    }
    Object[] unwrapped = args.clone();
    for (int i = 0; i < args.length; i++) {
      if (args[i] != null
          && Proxy.isProxyClass(args[i].getClass())
          && Proxy.getInvocationHandler(args[i]) instanceof Guard guard) {
        unwrapped[i] = guard.wrapped;
      }
    }
    return unwrapped;
  }

  @FunctionalInterface
  private interface Rule {
    @Nullable Object apply(Object wrapped, Object self, Method method, Object @Nullable [] args)
        throws Throwable;
  }

  /** Stands in front of one object of the driver. */
  private final class Guard implements InvocationHandler {
    private final Object wrapped;
    private final Rule rule;

    Guard(Object wrapped, Rule rule) {
      this.wrapped = wrapped;
      this.rule = rule;
    }

    UnitConnection unit() {
      return UnitConnection.this;
    }

    void note(SQLException e) {
      if (error == null) {
        error = e;
      }
    }

    @Override
    public @Nullable Object invoke(Object self, Method method, Object @Nullable [] args)
        throws Throwable {
      return rule.apply(wrapped, self, method, args);
    }
  }

  private InboxException refuse(ErrorCode code, String text) {
    InboxException refusal = new InboxException(code, text);
    if (misuse == null) {
      misuse = refusal;
    }
    return refusal;
  }

  private static <T> T proxy(Class<T> type, InvocationHandler handler) {
    return type.cast(
        Proxy.newProxyInstance(
            UnitConnection.class.getClassLoader(), new Class<?>[] {type}, handler));
  }
}
