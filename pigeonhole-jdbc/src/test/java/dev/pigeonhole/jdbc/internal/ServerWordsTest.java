package dev.pigeonhole.jdbc.internal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Texts of the real servers: values are left out, and names stay. */
class ServerWordsTest {
  private static final String TABLE =
      """
      CREATE TABLE t (i int, d date, v varchar(2), n int DEFAULT 0 NOT NULL,
                      k varchar(20) UNIQUE, c varchar(20) CHECK (length(c) < 3))
      """;

  /** Each statement fails, and this is left of the text of its error. */
  private static void leaves(DatabaseKind kind, Map<String, String> statements)
      throws SQLException {
    Map<String, String> left = new HashMap<>();
    try (TestDatabase database = TestDatabases.open(kind);
        Connection connection = database.dataSource().getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute(TABLE);
      for (String sql : statements.keySet()) {
        try {
          statement.execute(sql);
        } catch (SQLException e) {
          left.put(sql, ServerWords.of(e).replaceFirst("^(ERROR: |\\(conn=\\d+\\) )", ""));
        }
      }
    }
    assertThat(left).containsExactlyInAnyOrderEntriesOf(statements);
  }

  /** As the driver of PostgreSQL reports rows of an answer that the heap has no room for. */
  @Test
  void aLackOfMemoryRemainsTheCause() {
    OutOfMemoryError noMemory = new OutOfMemoryError("for the test");
    SQLException first = new SQLException("Ran out of memory retrieving query results.", "53200");
    first.initCause(noMemory);
    first.setNextException(new SQLException("Ran out of memory", "53200", noMemory));

    SQLException only = ServerWords.only(first);
    assertThat(only.getCause()).isSameAs(noMemory);
    assertThat(only.getSQLState()).isEqualTo("53200");
  }

  @Test
  void postgres() throws SQLException {
    leaves(
        DatabaseKind.POSTGRES,
        Map.ofEntries(
            Map.entry("SELECT '98765432101'::text::int", "value …"),
            Map.entry(
                "INSERT INTO t (i) VALUES ('canary')", "invalid input syntax for type integer: …"),
            Map.entry("SELECT 'canary'::date", "invalid input syntax for type date: …"),
            Map.entry("SELECT to_date('canary', 'DD')", "invalid value …"),
            Map.entry("SELECT make_date(1234, 99, 1)", "date field value out of range: …"),
            Map.entry("SELECT '1e999'::float8", "…"),
            Map.entry("SELECT now() AT TIME ZONE 'canary'", "time zone …"),
            Map.entry(
                "SELECT set_config('timezone', 'canary', false)",
                "invalid value for parameter \"TimeZone\": …"),
            Map.entry(
                "SELECT convert_from('\\xff', 'UTF8')",
                "invalid byte sequence for encoding \"UTF8\": …"),
            Map.entry("SELECT '{canary'::json", "invalid input syntax for type json"),
            Map.entry(
                "INSERT INTO t (v) VALUES ('canary')",
                "value too long for type character varying(2)"),
            Map.entry(
                "INSERT INTO t (n) VALUES (NULL)",
                "null value in column \"n\" of relation \"t\" violates not-null constraint"),
            Map.entry(
                "INSERT INTO t (k) VALUES ('canary'), ('canary')",
                "duplicate key value violates unique constraint \"t_k_key\""),
            Map.entry(
                "INSERT INTO t (c) VALUES ('canary')",
                "new row for relation \"t\" violates check constraint \"t_c_check\"")));
  }

  @Test
  void mariaDb() throws SQLException {
    leaves(
        DatabaseKind.MARIADB,
        Map.ofEntries(
            Map.entry("INSERT INTO t (i) VALUES ('canary')", "Incorrect integer value: …"),
            Map.entry("INSERT INTO t (d) VALUES ('canary')", "Incorrect date value: …"),
            Map.entry("SELECT DATE 'canary'", "Incorrect DATE value: …"),
            Map.entry("INSERT INTO t (v) VALUES (x'f0ff')", "Incorrect string value: …"),
            Map.entry(
                "INSERT INTO t (i) SELECT str_to_date('canary', '%d')",
                "Incorrect datetime value: …"),
            Map.entry(
                "INSERT INTO t (i) SELECT 9223372036854775807 + length('canary')",
                "BIGINT value is out of range in …"),
            Map.entry(
                "INSERT INTO t (i) VALUES (98765432101)",
                "Out of range value for column 'i' at row 1"),
            Map.entry(
                "INSERT INTO t (v) VALUES ('canary')", "Data too long for column 'v' at row 1"),
            Map.entry("INSERT INTO t (n) VALUES (NULL)", "Column 'n' cannot be null"),
            Map.entry("INSERT INTO t (k) VALUES ('canary'), ('canary')", "Duplicate entry …")));
  }

  @Test
  void h2() throws SQLException {
    leaves(
        DatabaseKind.H2,
        Map.ofEntries(
            Map.entry("INSERT INTO t (i) VALUES ('canary')", "Data conversion error converting …"),
            Map.entry("INSERT INTO t (d) VALUES ('canary')", "Cannot parse \"DATE\" constant …"),
            Map.entry("INSERT INTO t (i) VALUES (98765432101)", "Numeric value out of range: …"),
            Map.entry("SELECT parsedatetime('canary', 'dd')", "Error parsing …"),
            Map.entry("SELECT X'canary'", "Hexadecimal string contains non-hex character: …"),
            Map.entry("SELECT CURRENT_TIMESTAMP AT TIME ZONE 'canary'", "Invalid value …"),
            Map.entry(
                "SELECT CAST('canary' AS ENUM('a', 'b'))",
                "Value not permitted for column \"('a', 'b')\": …"),
            Map.entry(
                "INSERT INTO t (v) VALUES ('canary')",
                "Value too long for column \"V CHARACTER VARYING(2)\": …"),
            Map.entry("INSERT INTO t (n) VALUES (NULL)", "NULL not allowed for column \"N\""),
            Map.entry("INSERT INTO t (c) VALUES ('canary')", "Check constraint violation: …"),
            Map.entry(
                "INSERT INTO t (k) VALUES ('canary'), ('canary')",
                "Unique index or primary key violation: …")));
  }

  /** A server may have been installed in another language, with other quotes and other words. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "22003 | Wert »canary« ist außerhalb des Bereichs für Typ integer | Wert …",
        "22P02 | syntaxe en entrée invalide pour le type integer : « canary » | syntaxe en entrée"
            + " invalide pour le type integer : …",
        "22P02 | 类型integer的输入语法无效:“canary” | 类型integer的输入语法无效:…",
        "23505 | doppelter Schlüsselwert verletzt Unique-Constraint »t_k_key« | doppelter"
            + " Schlüsselwert verletzt Unique-Constraint »t_k_key«",
        "23000 | Doppelter Eintrag 'canary' für Schlüssel 'k' | Doppelter Eintrag …",
        "22018 | Datenumwandlungsfehler beim Umwandeln von \"canary\" | Datenumwandlungsfehler beim"
            + " Umwandeln von …"
      })
  void otherLanguages(String state, String text, String left) {
    assertThat(ServerWords.of(new SQLException(text, state))).isEqualTo(left);
  }

  @Test
  void anErrorWithoutValuesIsLeftAsItIs() {
    for (String text : List.of("relation \"t\" does not exist", "can't open file: 'x'")) {
      assertThat(ServerWords.of(new SQLException(text, "42P01"))).isEqualTo(text);
    }
  }
}
