package dev.pigeonhole.support;

import static dev.pigeonhole.support.Proxies.call;
import static dev.pigeonhole.support.Proxies.proxy;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Stands for a pooler in transaction mode in front of PostgreSQL, such as PgBouncer: a connection
 * of a client has a connection to the server for one transaction only, and the next one has
 * another, with whatever was set on that. It gives the connections to the server out in turn, where
 * a real pooler prefers the one that was used last, so what must not depend on luck does not.
 */
public final class TransactionPooler implements AutoCloseable {

  private final Deque<Connection> free = new ArrayDeque<>(); // also its own monitor
  private final List<Connection> servers = new ArrayList<>();
  private final List<String> isolations = new CopyOnWriteArrayList<>();

  public TransactionPooler(TestDatabase database, int size) throws SQLException {
    for (int i = 0; i < size; i++) {
      Connection server = database.dataSource().getConnection();
      servers.add(server);
      free.add(server);
    }
  }

  /** The data source to hand to the code under test. */
  public DataSource dataSource() {
    return proxy(
        DataSource.class,
        (self, method, args) ->
            method.getName().equals("getConnection")
                ? proxy(Connection.class, new Client())
                : null);
  }

  /** Runs a statement on one of the connections to the server, as another client may. */
  public void onServer(int index, String sql) throws SQLException {
    try (Statement statement = servers.get(index).createStatement()) {
      statement.execute(sql);
    }
  }

  /** How each transaction was isolated that was committed, in order. */
  public List<String> isolations() {
    return isolations;
  }

  @Override
  public void close() throws SQLException {
    for (Connection server : servers) {
      server.close();
    }
  }

  private Connection take() throws InterruptedException {
    synchronized (free) {
      while (free.isEmpty()) {
        free.wait();
      }
      return free.removeFirst();
    }
  }

  private void giveBack(Connection server) {
    synchronized (free) {
      free.addLast(server);
      free.notifyAll();
    }
  }

  private static String isolation(Connection server) throws SQLException {
    try (Statement statement = server.createStatement();
        ResultSet row = statement.executeQuery("SHOW transaction_isolation")) {
      row.next();
      return row.getString(1);
    }
  }

  private final class Client implements InvocationHandler {

    private boolean autoCommit = true;
    private @Nullable Connection server;

    @Override
    public @Nullable Object invoke(Object self, Method method, Object @Nullable [] args)
        throws Throwable {
      switch (method.getName()) {
        case "getAutoCommit" -> {
          return autoCommit;
        }
        case "setAutoCommit" -> {
          end();
          autoCommit = args != null && (boolean) args[0];
          return null;
        }
        case "getNetworkTimeout" -> {
          return 0;
        }
        case "setNetworkTimeout" -> {
          return null;
        }
        case "isClosed" -> {
          return false;
        }
        case "commit" -> {
          if (server != null) {
            isolations.add(isolation(server));
            server.commit();
            release();
          }
          return null;
        }
        case "rollback", "close", "abort" -> {
          end();
          return null;
        }
        default -> {
          boolean inTransaction = server != null;
          Connection mine = server();
          Object result = call(mine, method, args);
          if (result instanceof Statement statement) {
            return proxy(
                method.getReturnType().asSubclass(Statement.class),
                (it, called, values) -> ofStatement(statement, called, values));
          }
          // The driver sends what sets a session outside of any transaction.
          boolean settles = method.getName().endsWith("TransactionIsolation");
          if (autoCommit || (settles && !inTransaction)) {
            release();
          }
          return result;
        }
      }
    }

    private @Nullable Object ofStatement(
        Statement statement, Method method, Object @Nullable [] args) throws Throwable {
      Object result = call(statement, method, args);
      if (method.getName().equals("close") && autoCommit) {
        release();
      }
      return result;
    }

    private Connection server() throws SQLException, InterruptedException {
      Connection mine = server;
      if (mine == null) {
        mine = take();
        mine.setAutoCommit(autoCommit);
        server = mine;
      }
      return mine;
    }

    private void end() throws SQLException {
      Connection mine = server;
      if (mine != null) {
        if (!mine.getAutoCommit()) {
          mine.rollback();
        }
        release();
      }
    }

    private void release() throws SQLException {
      Connection mine = server;
      if (mine != null) {
        server = null;
        mine.setAutoCommit(true);
        giveBack(mine);
      }
    }
  }
}
