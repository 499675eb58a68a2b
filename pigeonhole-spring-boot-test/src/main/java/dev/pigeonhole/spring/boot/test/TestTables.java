package dev.pigeonhole.spring.boot.test;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

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
  static final List<String> KEPT =
      List.of("inbox", "store", "handler", "node", "lane", "retention", "schema_history");

  private static final int LONGEST_WORD = 20;

  private final DataSource dataSource;
  private final @Nullable String schema;
  private final List<String> prefixes;

  /**
   * Those of an inbox.
   *
   * @param prefix how the names of its tables begin
   * @param outbox whether there are tables of an outbox beside them
   */
  TestTables(DataSource dataSource, @Nullable String schema, String prefix, boolean outbox) {
    this.dataSource = dataSource;
    this.schema = schema;
    this.prefixes = outbox ? List.of(prefix, prefix + "out_") : List.of(prefix);
  }

  /**
   * How the prefix goes on for one of several inboxes, which may be in one database. Short enough
   * for tables of an outbox, too.
   */
  static String wordFor(String inbox) {
    String word = inbox.replaceAll("[^A-Za-z0-9]+", "_");
    return word.length() <= LONGEST_WORD
        ? word + "_"
        : "%s_%08x_".formatted(word.substring(0, LONGEST_WORD - 9), inbox.hashCode());
  }

  /** Deletes every row of a message. */
  void clear() {
    try (Connection connection = dataSource.getConnection()) {
      connection.setAutoCommit(false);
      try (Statement statement = connection.createStatement()) {
        String quote = connection.getMetaData().getIdentifierQuoteString();
        for (String prefix : prefixes) {
          for (String table : EMPTIED) {
            statement.executeUpdate("DELETE FROM " + name(quote, prefix + table));
          }
        }
      }
      connection.commit();
    } catch (SQLException e) {
      throw new IllegalStateException("The tables of the inbox could not be emptied.", e);
    }
  }

  private String name(String quote, String table) {
    String quoted = quote + table + quote;
    return schema == null ? quoted : quote + schema + quote + "." + quoted;
  }
}
