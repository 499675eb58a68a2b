package dev.pigeonhole.benchmarks.peers;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** What the tables of a peer say. Uses one connection of its own and keeps it. */
public final class Tables implements AutoCloseable {

  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(60);
  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

  private final Connection connection;

  public Tables(Connection connection) {
    this.connection = connection;
  }

  public void execute(String... statements) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      for (String sql : statements) {
        statement.execute(sql);
      }
    }
  }

  public long count(String from) throws SQLException {
    return number("SELECT count(*) FROM " + from);
  }

  /** Checks that so many rows are there, and that no two of them have the same value. */
  public void checkOnce(String table, String column, long rows) throws SQLException {
    long all = count(table);
    long different = number("SELECT count(DISTINCT %s) FROM %s".formatted(column, table));
    if (all != rows || different != rows) {
      throw new IllegalStateException(
          "%s: %d rows and %d different ones instead of %d".formatted(table, all, different, rows));
    }
  }

  /** Returns when no row is left; asking costs little once few are. */
  public void awaitNone(String from) throws SQLException {
    await("SELECT count(*) FROM (SELECT FROM " + from + " LIMIT 1) AS remaining", 0);
  }

  /** Returns when the query has this answer. */
  public void await(String query, long answer) throws SQLException {
    long began = System.nanoTime();
    while (number(query) != answer) {
      if (System.nanoTime() - began > PATIENCE_NANOS) {
        throw new IllegalStateException("Not %d within a minute: %s".formatted(answer, query));
      }
      LockSupport.parkNanos(PAUSE_NANOS);
    }
  }

  private long number(String query) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery(query)) {
      result.next();
      return result.getLong(1);
    }
  }

  @Override
  public void close() throws SQLException {
    connection.close();
  }
}
