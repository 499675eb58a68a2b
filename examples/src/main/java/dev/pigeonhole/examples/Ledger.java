package dev.pigeonhole.examples;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import javax.sql.DataSource;

/** A table of an application. It has no unique key: what is posted twice stands there twice. */
final class Ledger {

  private Ledger() {}

  static void create(DataSource database) throws SQLException {
    try (Connection connection = database.getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute("CREATE TABLE IF NOT EXISTS ledger (order_id varchar(40), cents bigint)");
    }
  }

  static void post(Connection connection, OrderPlaced order) throws SQLException {
    try (PreparedStatement insert =
        connection.prepareStatement("INSERT INTO ledger VALUES (?, ?)")) {
      insert.setString(1, order.order());
      insert.setLong(2, order.cents());
      insert.executeUpdate();
    }
  }

  static long entries(DataSource database, String order) throws SQLException {
    try (Connection connection = database.getConnection();
        PreparedStatement count =
            connection.prepareStatement("SELECT count(*) FROM ledger WHERE order_id = ?")) {
      count.setString(1, order);
      try (ResultSet row = count.executeQuery()) {
        row.next();
        return row.getLong(1);
      }
    }
  }
}
