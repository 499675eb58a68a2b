package dev.pigeonhole.proofs;

import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The inbox's tables as a checker reads them: with SQL, past the library. */
final class Tables {
  private Tables() {}

  /** The name of a table in a statement. */
  static String name(TestDatabase database, String table) {
    // H2 takes a bare name for an upper-case one.
    return database.kind() == DatabaseKind.H2
        ? "\"pigeonhole_" + table + '"'
        : "pigeonhole_" + table;
  }

  static long count(TestDatabase database, String table) {
    return database.count("SELECT COUNT(*) FROM " + name(database, table));
  }

  /** Everything that is neither completed nor poisoned. */
  static List<Map<String, Object>> open(TestDatabase database) {
    List<Map<String, Object>> open = new ArrayList<>();
    for (String table : List.of("delivery", "later")) {
      open.addAll(database.rows("SELECT * FROM " + name(database, table)));
    }
    return open;
  }

  /** How much is neither completed nor poisoned. */
  static long openCount(TestDatabase database) {
    return count(database, "delivery") + count(database, "later");
  }

  /** The codes of all failures on record, counted or not. */
  static List<String> failureCodes(TestDatabase database) {
    return database.rows("SELECT error_code FROM " + name(database, "failure")).stream()
        .flatMap(row -> row.values().stream())
        .map(Tables::text)
        .toList();
  }

  /** On MariaDB names are bytes. */
  static String text(Object value) {
    return value instanceof byte[] bytes
        ? new String(bytes, StandardCharsets.UTF_8)
        : String.valueOf(value);
  }

  /**
   * A table for what handlers do, without a unique key: what happens twice must be able to show.
   */
  static void createEffects(TestDatabase database) {
    String identity =
        database.kind() == DatabaseKind.MARIADB
            ? "BIGINT AUTO_INCREMENT"
            : "BIGINT GENERATED ALWAYS AS IDENTITY";
    database.execute(
        "CREATE TABLE IF NOT EXISTS effect (id "
            + identity
            + " PRIMARY KEY, handler VARCHAR(50), message VARCHAR(200))");
  }
}
