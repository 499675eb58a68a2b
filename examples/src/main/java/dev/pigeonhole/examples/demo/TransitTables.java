package dev.pigeonhole.examples.demo;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** How many orders stand where on their way, by plain SQL. Used by one thread. */
final class TransitTables implements AutoCloseable {

  private final Connection connection;
  private final String quote;

  TransitTables(Connection connection) throws SQLException {
    this.connection = connection;
    this.quote = connection.getMetaData().getIdentifierQuoteString();
  }

  /** The orders that were placed. */
  long placed() {
    return count("placed_order");
  }

  /** The messages that were staged and committed. */
  long published() {
    return count("pigeonhole_out_message");
  }

  /** The messages for which a relay has a receipt. */
  long confirmed() {
    return count("pigeonhole_out_receipt");
  }

  /** The messages that the inbox has accepted. */
  long arrived() {
    return count("pigeonhole_message");
  }

  private long count(String table) {
    try (Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery("SELECT count(*) FROM %1$s%2$s%1$s".formatted(quote, table))) {
      rows.next();
      return rows.getLong(1);
    } catch (SQLException e) {
      throw new IllegalStateException("Cannot count the rows of " + table, e);
    }
  }

  @Override
  public void close() {
    try {
      connection.close();
    } catch (SQLException e) {
      throw new IllegalStateException("Cannot close a connection", e);
    }
  }
}
