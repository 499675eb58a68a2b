package dev.pigeonhole.benchmarks.floor;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * Where a service without an inbox puts what it receives: a table without any key, which knows no
 * repeat. For one thread.
 */
final class PlainTable {

  // One statement for a batch, which commits itself.
  private static final String INSERT =
      "INSERT INTO received (id, content) SELECT * FROM unnest(?::text[], ?::bytea[])";

  private final Connection connection;
  private final PreparedStatement insert;

  private PlainTable(Connection connection) throws SQLException {
    this.connection = connection;
    this.insert = connection.prepareStatement(INSERT);
  }

  static PlainTable create(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute("CREATE TABLE received (id text NOT NULL, content bytea NOT NULL)");
    }
    return new PlainTable(connection);
  }

  /** Returns when the batch is durable. */
  void insert(String[] ids, byte[][] contents) throws SQLException {
    insert.setObject(1, ids);
    insert.setObject(2, contents);
    if (insert.executeUpdate() != ids.length) {
      throw new IllegalStateException("Not all of a batch were inserted");
    }
  }

  /**
   * Every message is there, once.
   *
   * @return how many there are
   */
  long check(long messages) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet result =
            statement.executeQuery("SELECT count(*), count(DISTINCT id) FROM received")) {
      result.next();
      if (result.getLong(1) != messages || result.getLong(2) != messages) {
        throw new IllegalStateException(
            "%d rows and %d different ones instead of %d"
                .formatted(result.getLong(1), result.getLong(2), messages));
      }
    }
    return messages;
  }
}
