package dev.pigeonhole.examples.orders.plain;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.LinkedHashMap;
import java.util.Map;
import javax.sql.DataSource;

/** The tables of the service itself. */
final class OrderTables {
  private final DataSource database;

  private OrderTables(DataSource database) {
    this.database = database;
  }

  /** Makes those that are missing. Nothing in them keeps an effect from happening twice. */
  static OrderTables in(DataSource database) throws SQLException {
    try (Connection connection = database.getConnection();
        Statement statement = connection.createStatement()) {
      for (String table :
          new String[] {
            "orders (id VARCHAR(100) PRIMARY KEY, customer VARCHAR(100) NOT NULL)",
            "invoice (order_id VARCHAR(100) NOT NULL, cents BIGINT NOT NULL)",
            "reservation (order_id VARCHAR(100) NOT NULL)"
          }) {
        statement.execute("CREATE TABLE IF NOT EXISTS " + table);
      }
    }
    return new OrderTables(database);
  }

  void order(Connection connection, Order order) throws SQLException {
    insert(connection, "INSERT INTO orders VALUES (?, ?)", order.id(), order.customer());
  }

  void invoice(Connection connection, Order order) throws SQLException {
    insert(connection, "INSERT INTO invoice VALUES (?, ?)", order.id(), order.cents());
  }

  void reserve(Connection connection, Order order) throws SQLException {
    insert(connection, "INSERT INTO reservation VALUES (?)", order.id());
  }

  private static void insert(Connection connection, String sql, Object... values)
      throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      for (int i = 0; i < values.length; i++) {
        statement.setObject(i + 1, values[i]);
      }
      statement.executeUpdate();
    }
  }

  /** How far orders have come. */
  Map<String, Long> counts() throws SQLException {
    Map<String, Long> counts = new LinkedHashMap<>();
    try (Connection connection = database.getConnection()) {
      counts.put("orders", count(connection, "SELECT count(*) FROM orders"));
      counts.put("invoices", count(connection, "SELECT count(*) FROM invoice"));
      counts.put("reservations", count(connection, "SELECT count(*) FROM reservation"));
    }
    return counts;
  }

  private static long count(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery(sql)) {
      result.next();
      return result.getLong(1);
    }
  }
}
