package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.ErrorCode;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Compares the tables with the scripts that made them: a column that is gone, an index that was
 * dropped, a collation that was changed. What should be there is read from the scripts themselves.
 */
final class SchemaChecks {

  private record Index(String table, boolean unique, List<String> columns) {}

  /** What the scripts say. */
  private record Expected(Map<String, Map<String, String>> columns, List<Index> indexes) {}

  private static final Pattern TABLE =
      Pattern.compile("CREATE TABLE IF NOT EXISTS \\{prefix}(\\w+) \\((.*?)\\n\\)", Pattern.DOTALL);
  private static final Pattern COLUMN =
      Pattern.compile("(?m)^  ([a-z_]+) +([a-z]+(?:\\(\\d+\\))?(?: COLLATE \"C\")?)");
  private static final Pattern KEY =
      Pattern.compile("(?m)^  (?:CONSTRAINT \\{name}\\w+ )?(?:PRIMARY KEY|UNIQUE) \\(([^)]*)\\)");
  private static final Pattern INDEX =
      Pattern.compile("CREATE INDEX IF NOT EXISTS \\{name}\\w+ ON \\{prefix}(\\w+) \\(([^)]*)\\)");

  private SchemaChecks() {}

  static void run(Session session, Findings findings) throws SQLException {
    if (!version(session, findings)) {
      return;
    }
    Expected expected = expected(session.dialect);
    DatabaseMetaData meta = session.connection.getMetaData();
    for (Map.Entry<String, Map<String, String>> table : expected.columns().entrySet()) {
      columns(session, meta, table.getKey(), table.getValue(), findings);
    }
    Map<String, List<Index>> actual = new HashMap<>();
    for (Index index : expected.indexes()) {
      if (!actual.containsKey(index.table())) {
        actual.put(index.table(), indexes(session, meta, index.table()));
      }
      boolean found =
          actual.get(index.table()).stream()
              .anyMatch(
                  each ->
                      each.columns().equals(index.columns()) && (each.unique() || !index.unique()));
      findings.problemIf(
          !found,
          ErrorCode.SCHEMA_INDEX,
          ("Table %s has lost its %sindex on (%s); without it statements lock or read the whole"
                  + " table. Create it again as in Schema.ofDefaults().sql(\"%s\").")
              .formatted(
                  session.tables.plain(index.table()),
                  index.unique() ? "unique " : "",
                  String.join(", ", index.columns()),
                  session.dialect.name()));
    }
  }

  /** Whether the tables have the version that this library was made for. */
  private static boolean version(Session session, Findings findings) throws SQLException {
    Map<Integer, String> applied = Migrations.applied(session);
    List<Migrations.Script> scripts = Migrations.scripts(session.dialect);
    int newest = scripts.get(scripts.size() - 1).version();
    if (applied.isEmpty() && !schemaExists(session)) {
      findings.problem(
          ErrorCode.DATABASE_PRIVILEGE,
          ("There is no schema %s, or this role may not use it. Create it, or let its owner run"
                  + " GRANT USAGE ON SCHEMA %s TO the role, and then Schema.migrate(dataSource).")
              .formatted(session.tables.schema(), session.tables.schema()));
      return false;
    }
    if (applied.isEmpty()) {
      findings.problem(
          ErrorCode.SCHEMA_VERSION,
          ("There are no tables %s… in %s. Call Schema.migrate(dataSource) once with a role that"
                  + " may create tables, or run the output of Schema.ofDefaults().sql(\"%s\").")
              .formatted(
                  session.tables.plain(""), session.tables.schema(), session.dialect.name()));
      return false;
    }
    int highest = applied.keySet().stream().mapToInt(Integer::intValue).max().orElse(0);
    if (highest != newest) {
      findings.problem(
          ErrorCode.SCHEMA_VERSION,
          highest < newest
              ? ("The tables have version %d and this library needs %d. Call"
                      + " Schema.migrate(dataSource).")
                  .formatted(highest, newest)
              : ("The tables have version %d, and this library only knows %d. Use the newer"
                      + " library that made them.")
                  .formatted(highest, newest));
      return false;
    }
    for (Migrations.Script script : scripts) {
      if (!script.checksum().equals(applied.get(script.version()))) {
        findings.warning(
            ErrorCode.SCHEMA_VERSION,
            "Version %d of the tables was made from another text than %s of this library."
                .formatted(script.version(), script.name()));
      }
    }
    return true;
  }

  private static boolean schemaExists(Session session) throws SQLException {
    String schema = session.tables.schema();
    return schema == null
        || session
            .one(
                "SELECT 1 FROM information_schema.schemata WHERE schema_name = ?",
                params -> params.add(schema),
                row -> true)
            .isPresent();
  }

  private static Expected expected(Dialect dialect) {
    Map<String, Map<String, String>> columns = new LinkedHashMap<>();
    List<Index> indexes = new ArrayList<>();
    for (Migrations.Script script : Migrations.scripts(dialect)) {
      Matcher table = TABLE.matcher(script.text());
      while (table.find()) {
        Map<String, String> ofTable = new LinkedHashMap<>();
        Matcher column = COLUMN.matcher(table.group(2));
        while (column.find()) {
          ofTable.put(column.group(1), column.group(2));
        }
        columns.put(table.group(1), ofTable);
        Matcher key = KEY.matcher(table.group(2));
        while (key.find()) {
          indexes.add(new Index(table.group(1), true, List.of(key.group(1).split(", "))));
        }
      }
      Matcher index = INDEX.matcher(script.text());
      while (index.find()) {
        indexes.add(new Index(index.group(1), false, List.of(index.group(2).split(", "))));
      }
    }
    return new Expected(columns, indexes);
  }

  private static @Nullable String catalog(Session session) {
    return session.dialect.name().equals("mariadb") ? session.tables.schema() : null;
  }

  private static @Nullable String schema(Session session) {
    return session.dialect.name().equals("mariadb") ? null : session.tables.schema();
  }

  private static void columns(
      Session session,
      DatabaseMetaData meta,
      String table,
      Map<String, String> expected,
      Findings findings)
      throws SQLException {
    String name = session.tables.plain(table);
    Map<String, String> actual = new HashMap<>();
    try (ResultSet found =
        meta.getColumns(
            catalog(session),
            schema(session),
            name.replace("_", meta.getSearchStringEscape() + "_"),
            null)) {
      while (found.next()) {
        actual.put(
            found.getString("COLUMN_NAME").toLowerCase(Locale.ROOT),
            found.getString("TYPE_NAME").toLowerCase(Locale.ROOT)
                + "("
                + found.getInt("COLUMN_SIZE")
                + ")");
      }
    }
    expected.forEach(
        (column, type) -> {
          String is = actual.get(column);
          if (is == null) {
            findings.problem(
                ErrorCode.SCHEMA_COLUMN,
                "Table %s has lost its column %s (%s). Add it again, or restore the table."
                    .formatted(name, column, type));
          } else if (type.startsWith("varbinary") && !comparesBytes(type, is)) {
            findings.problem(
                ErrorCode.SCHEMA_COLLATION,
                ("Column %s of table %s is %s and must be %s: otherwise different ids are the"
                        + " same, or are cut. Change it back.")
                    .formatted(column, name, is, type));
          } else if (type.equals("varchar") && !is.startsWith("character varying(")) {
            findings.problem(
                ErrorCode.SCHEMA_COLLATION,
                ("Column %s of table %s is %s and must be CHARACTER VARYING, which tells upper"
                        + " case from lower case. Create the tables without IGNORECASE.")
                    .formatted(column, name, is));
          }
        });
    if (session.dialect.name().equals("postgresql")) {
      collations(session, name, expected, findings);
    }
  }

  private static boolean comparesBytes(String expected, String actual) {
    int most = expected.indexOf('(') < 0 ? 0 : size(expected);
    return (actual.startsWith("varbinary") || actual.startsWith("binary varying"))
        && size(actual) >= most;
  }

  private static int size(String type) {
    return Integer.parseInt(type.substring(type.indexOf('(') + 1, type.indexOf(')')));
  }

  private static void collations(
      Session session, String name, Map<String, String> expected, Findings findings)
      throws SQLException {
    Set<String> bytewise =
        new HashSet<>(
            session.query(
                """
                SELECT a.attname
                FROM pg_attribute a
                JOIN pg_class c ON c.oid = a.attrelid
                JOIN pg_namespace n ON n.oid = c.relnamespace
                JOIN pg_collation l ON l.oid = a.attcollation
                WHERE n.nspname = ? AND c.relname = ? AND l.collname IN ('C', 'POSIX')
                """,
                params -> params.add(session.tables.schema()).add(name),
                row -> row.getString(1)));
    expected.forEach(
        (column, type) ->
            findings.problemIf(
                type.contains("COLLATE") && !bytewise.contains(column),
                ErrorCode.SCHEMA_COLLATION,
                ("Column %s of table %s has lost its collation \"C\", so different ids may be"
                        + " the same. Change it back: ALTER TABLE … ALTER COLUMN %s TYPE text"
                        + " COLLATE \"C\".")
                    .formatted(column, name, column)));
  }

  private static List<Index> indexes(Session session, DatabaseMetaData meta, String table)
      throws SQLException {
    Map<String, List<String>> columns = new LinkedHashMap<>();
    Map<String, Boolean> unique = new HashMap<>();
    try (ResultSet found =
        meta.getIndexInfo(
            catalog(session), schema(session), session.tables.plain(table), false, true)) {
      while (found.next()) {
        String index = found.getString("INDEX_NAME");
        String column = found.getString("COLUMN_NAME");
        if (index != null && column != null) {
          unique.put(index, !found.getBoolean("NON_UNIQUE"));
          columns
              .computeIfAbsent(index, any -> new ArrayList<>())
              .add(column.toLowerCase(Locale.ROOT));
        }
      }
    }
    List<Index> indexes = new ArrayList<>();
    columns.forEach(
        (index, names) ->
            indexes.add(new Index(table, Boolean.TRUE.equals(unique.get(index)), names)));
    return indexes;
  }
}
