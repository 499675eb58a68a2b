package dev.pigeonhole.spring.boot.test;

import dev.pigeonhole.spring.boot.PigeonholeProperties;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;

/** The tables of an inbox under test. They are for tests alone, so they can be emptied. */
final class TestTables {

  /** How their names begin, whatever the application calls its own. */
  static final String PREFIX = "pigeonhole_test_";

  /** What becomes of messages. */
  static final List<String> EMPTIED =
      List.of(
          "message",
          "delivery",
          "later",
          "receipt",
          "answer",
          "poison",
          "closed_key",
          "failure",
          "pause",
          "conflict",
          "audit",
          "unhandled",
          "edit",
          "operation");

  /** What an inbox has looked up when it was built. */
  static final List<String> KEPT = List.of("inbox", "handler", "node", "lane", "schema_history");

  private final DataSource dataSource;
  private final PigeonholeProperties properties;

  TestTables(DataSource dataSource, PigeonholeProperties properties) {
    this.dataSource = dataSource;
    this.properties = properties;
  }

  /** Deletes every row of a message, also in the tables of an outbox. */
  void clear() {
    String prefix = properties.jdbc().tablePrefix();
    if (!prefix.equals(PREFIX)) {
      return; // a test has said that it wants others, which may be anybody's
    }
    List<String> prefixes = new ArrayList<>(List.of(prefix));
    if (properties.outbox().enabled()) {
      prefixes.add(prefix + "out_");
    }
    try (Connection connection = dataSource.getConnection()) {
      connection.setAutoCommit(false);
      try (Statement statement = connection.createStatement()) {
        String quote = connection.getMetaData().getIdentifierQuoteString();
        for (String each : prefixes) {
          for (String table : EMPTIED) {
            statement.executeUpdate("DELETE FROM " + name(quote, each + table));
          }
        }
      }
      connection.commit();
    } catch (SQLException e) {
      throw new IllegalStateException("The tables of the inbox could not be emptied.", e);
    }
  }

  private String name(String quote, String table) {
    String schema = properties.jdbc().databaseSchema();
    String quoted = quote + table + quote;
    return schema == null ? quoted : quote + schema + quote + "." + quoted;
  }
}
