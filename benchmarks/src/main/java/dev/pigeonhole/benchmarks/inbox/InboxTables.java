package dev.pigeonhole.benchmarks.inbox;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * What the tables of an inbox say about the messages that came after this was made. Uses one
 * connection of its own and keeps it.
 */
public final class InboxTables implements AutoCloseable {

  private static final long PATIENCE_NANOS = TimeUnit.MINUTES.toNanos(1);
  private static final long SHORTEST_PAUSE = TimeUnit.MILLISECONDS.toNanos(1);
  private static final long LONGEST_PAUSE = TimeUnit.MILLISECONDS.toNanos(200);

  private static final String COUNT = "SELECT count(*) FROM %s WHERE seq > ?";
  private static final String HIGHEST = "SELECT coalesce(max(seq), 0) FROM %s WHERE seq > ?";

  private final Connection connection;
  private final long before;

  public InboxTables(Connection connection) throws SQLException {
    this.connection = connection;
    this.before = ask(HIGHEST, "message", 0);
  }

  /** Everything, whenever it came. */
  public static InboxTables all(Connection connection) {
    return new InboxTables(connection, 0);
  }

  private InboxTables(Connection connection, long before) {
    this.connection = connection;
    this.before = before;
  }

  /** The name of a table of an inbox; on H2 it is not found unless it is quoted. */
  public static String name(Connection connection, String table) throws SQLException {
    String quote = connection.getMetaData().getIdentifierQuoteString();
    return quote + "pigeonhole_" + table + quote;
  }

  /** Returns when so many receipts have been committed; gives up when none was for a minute. */
  public void awaitReceipts(long wanted) throws SQLException {
    long began = System.nanoTime();
    long progressed = began;
    long last = 0;
    while (true) {
      long there = count("receipt");
      if (there >= wanted) {
        return;
      }
      long now = System.nanoTime();
      if (there > last) {
        progressed = now;
        last = there;
      } else if (now - progressed > PATIENCE_NANOS) {
        throw new IllegalStateException(
            "%d of %d receipts are there, and none came for a minute".formatted(there, wanted));
      }
      // Counting takes time from those who are counted: only as often as the end is near.
      long left = there == 0 ? LONGEST_PAUSE : (now - began) / there * (wanted - there) / 2;
      LockSupport.parkNanos(Math.max(SHORTEST_PAUSE, Math.min(LONGEST_PAUSE, left)));
    }
  }

  /**
   * Every message is there, with nothing but a delivery for each handler.
   *
   * @return how many messages there are
   */
  public long checkAccepted(long messages, int handlers) throws SQLException {
    check("messages", messages, count("message"));
    check("deliveries", messages * handlers, count("delivery"));
    check("receipts", 0, count("receipt"));
    return messages;
  }

  /**
   * Every message is there, with nothing but a receipt of each handler.
   *
   * @return how many messages there are
   */
  public long checkCompleted(long messages, int handlers) throws SQLException {
    check("messages", messages, count("message"));
    check("receipts", messages * handlers, count("receipt"));
    check("deliveries", 0, count("delivery"));
    check("later", 0, count("later"));
    return messages;
  }

  private static void check(String what, long wanted, long found) {
    if (found != wanted) {
      throw new IllegalStateException("%s: %d instead of %d".formatted(what, found, wanted));
    }
  }

  private long count(String table) throws SQLException {
    return ask(COUNT, table, before);
  }

  private long ask(String query, String table, long seq) throws SQLException {
    String text = query.formatted(name(connection, table));
    try (PreparedStatement statement = connection.prepareStatement(text)) {
      statement.setLong(1, seq);
      try (ResultSet result = statement.executeQuery()) {
        result.next();
        return result.getLong(1);
      }
    }
  }

  @Override
  public void close() throws SQLException {
    connection.close();
  }
}
