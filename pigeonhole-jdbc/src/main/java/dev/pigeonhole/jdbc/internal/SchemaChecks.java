package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.jdbc.internal.TableShape.Column;
import dev.pigeonhole.jdbc.internal.TableShape.Key;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Compares the tables with the scripts that made them. What is less than a script says is a
 * problem: a column or an index that is gone, a type that holds less, a collation that tells less
 * apart. What is more is fine, unless rows could not be stored any longer because of it.
 */
final class SchemaChecks {

  private static final Set<String> BYTEWISE = Set.of("C", "POSIX");

  private static final String POSTGRES_UNLOGGED =
      """
      SELECT c.relname
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = ? AND c.relpersistence <> 'p' AND c.relname IN (%s)
      ORDER BY c.relname
      """;

  private static final String MARIADB_ENGINES =
      """
      SELECT table_name, engine
      FROM information_schema.tables
      WHERE table_schema = ? AND engine <> 'InnoDB' AND table_name IN (%s)
      ORDER BY table_name
      """;

  private final Session session;
  private final Findings findings;

  private SchemaChecks(Session session, Findings findings) {
    this.session = session;
    this.findings = findings;
  }

  static void run(Session session, Findings findings) throws SQLException {
    if (version(session, findings)) {
      new SchemaChecks(session, findings).compare();
    }
  }

  /** Whether the tables have the version that this library was made for. */
  private static boolean version(Session session, Findings findings) throws SQLException {
    Map<Integer, String> applied = Migrations.applied(session);
    List<Migrations.Script> scripts = Migrations.scripts(session.dialect);
    int newest = scripts.get(scripts.size() - 1).version();
    if (applied.isEmpty() && !schemaExists(session)) {
      findings.problem(ErrorCode.DATABASE_PRIVILEGE, noSchema(session));
      return false;
    }
    if (applied.isEmpty()) {
      findings.problem(
          ErrorCode.SCHEMA_VERSION,
          ("There are no tables %s… in %s. Call %s.applyTo(dataSource) once with a role that may"
                  + " create tables, or run the output of %s.")
              .formatted(
                  session.tables.plain(""),
                  session.tables.schema(),
                  session.tables.inJava(),
                  statements(session)));
      return false;
    }
    int highest = applied.keySet().stream().mapToInt(Integer::intValue).max().orElse(0);
    if (highest < newest) {
      findings.problem(
          ErrorCode.SCHEMA_VERSION,
          "The tables have version %d and this library needs %d. Call %s.applyTo(dataSource)."
              .formatted(highest, newest, session.tables.inJava()));
      return false;
    }
    if (highest > newest) {
      findings.problem(
          ErrorCode.SCHEMA_TOO_NEW,
          ("The tables have version %d, and this library only knows %d. Use the newer library that"
                  + " made them.")
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

  /** The call that prints the statements of these tables. */
  private static String statements(Session session) {
    return "%s.sql(\"%s\")".formatted(session.tables.inJava(), session.dialect.name());
  }

  static String noSchema(Session session) {
    return ("There is no schema %s, or this role may not use it. Create it, or let its owner run"
            + " GRANT USAGE ON SCHEMA %s TO the role, and then call %s.applyTo(dataSource).")
        .formatted(session.tables.schema(), session.tables.schema(), session.tables.inJava());
  }

  static boolean schemaExists(Session session) throws SQLException {
    String schema = session.tables.schema();
    return schema == null
        || session
            .one(
                "SELECT 1 FROM information_schema.schemata WHERE schema_name = ?",
                params -> params.add(schema),
                row -> true)
            .isPresent();
  }

  private void compare() throws SQLException {
    Map<String, TableShape> expected = Blueprint.of(session.dialect);
    List<String> names = expected.keySet().stream().map(session.tables::plain).toList();
    Map<String, TableShape> actual = Catalogue.read(session, names);
    expected.forEach(
        (name, table) -> {
          TableShape found = actual.get(session.tables.plain(name));
          if (found == null) {
            missing(name);
          } else {
            columns(table, found);
            keys(table, found);
          }
        });
    for (Map.Entry<String, Long> sequence : Blueprint.sequences(session.dialect).entrySet()) {
      sequence(sequence.getKey(), sequence.getValue());
    }
    storage(names);
  }

  private void missing(String table) {
    findings.problem(
        ErrorCode.SCHEMA_COLUMN,
        ("Table %s is missing, or this role may not see it. Make it again with the statement in"
                + " %s, or grant the role its rights.")
            .formatted(session.tables.plain(table), statements(session)));
  }

  // ---- columns

  private void columns(TableShape expected, TableShape found) {
    for (Column column : expected.columns().values()) {
      Column is = found.columns().get(column.name());
      if (is == null) {
        findings.problem(
            ErrorCode.SCHEMA_COLUMN,
            "Table %s has lost its column %s (%s). Add it again, or restore the table: %s."
                .formatted(
                    plain(expected),
                    column.name(),
                    column.type().shown(),
                    alter(expected, "ADD COLUMN " + column.definition())));
      } else {
        type(expected, column, is);
        nullability(expected, column, is);
        initial(expected, column, is);
      }
    }
    for (Column extra : found.columns().values()) {
      if (!expected.columns().containsKey(extra.name()) && !extra.mayBeLeftOut()) {
        findings.problem(
            ErrorCode.SCHEMA_COLUMN,
            ("Table %s has a column %s (%s) that is not ours, is NOT NULL and has no default, so"
                    + " no row can be stored. Give it a default, let it be null, or drop it: %s.")
                .formatted(
                    plain(expected),
                    extra.name(),
                    extra.type().shown(),
                    alter(expected, "DROP COLUMN " + extra.definition())));
      }
    }
  }

  private void type(TableShape table, Column expected, Column is) {
    if (is.type().comparesLess(expected.type())) {
      findings.problem(
          ErrorCode.SCHEMA_COLLATION,
          ("Column %s of table %s is %s%s and must be %s: otherwise different values are taken for"
                  + " one. Change it back: %s.")
              .formatted(
                  expected.name(),
                  plain(table),
                  is.type().shown(),
                  is.collation() == null ? "" : " by the collation " + is.collation(),
                  expected.type().shown(),
                  changeBack(table, expected)));
    } else if (!is.type().holds(expected.type())) {
      findings.problem(
          ErrorCode.SCHEMA_COLUMN,
          ("Column %s of table %s is %s and must be %s: otherwise values are cut or refused."
                  + " Change it back: %s.")
              .formatted(
                  expected.name(),
                  plain(table),
                  is.type().shown(),
                  expected.type().shown(),
                  changeBack(table, expected)));
    } else if (expected.collation() != null && !comparesAlike(expected.collation(), is)) {
      findings.problem(
          ErrorCode.SCHEMA_COLLATION,
          ("Column %s of table %s has the collation %s and must have %s: otherwise different"
                  + " values are taken for one. Change it back: %s.")
              .formatted(
                  expected.name(),
                  plain(table),
                  is.collation(),
                  expected.collation(),
                  changeBack(table, expected)));
    }
  }

  private boolean comparesAlike(String expected, Column is) {
    String collation = is.collation() == null ? "" : is.collation();
    return session.dialect.name().equals("postgresql")
        ? BYTEWISE.contains(collation)
        : collation.startsWith(expected.substring(0, expected.indexOf('_') + 1))
            && collation.endsWith("_bin");
  }

  private void nullability(TableShape table, Column expected, Column is) {
    if (expected.nullable() == is.nullable()) {
      return;
    }
    findings.problem(
        ErrorCode.SCHEMA_COLUMN,
        "Column %s of table %s is %s and must be %s. Change it back: %s."
            .formatted(
                expected.name(),
                plain(table),
                shown(is.nullable()),
                shown(expected.nullable()),
                session.dialect.name().equals("mariadb")
                    ? changeBack(table, expected)
                    : alter(
                        table,
                        "ALTER COLUMN %s %s NOT NULL"
                            .formatted(expected.name(), expected.nullable() ? "DROP" : "SET"))));
  }

  private static String shown(boolean nullable) {
    return nullable ? "nullable" : "NOT NULL";
  }

  /** Inserts leave out what has a default; so it must be there, and be the same. */
  private void initial(TableShape table, Column expected, Column is) {
    String wanted = expected.initial();
    if (expected.filled() && !is.filled() && is.initial() == null) {
      findings.problem(
          ErrorCode.SCHEMA_COLUMN,
          "Column %s of table %s no longer numbers its rows by itself. Change it back: %s."
              .formatted(
                  expected.name(),
                  plain(table),
                  session.dialect.name().equals("postgresql")
                      ? alter(
                          table,
                          "ALTER COLUMN %s ADD GENERATED ALWAYS AS IDENTITY"
                              .formatted(expected.name()))
                      : changeBack(table, expected)));
    } else if (wanted != null && !wanted.equals(is.initial())) {
      findings.problem(
          ErrorCode.SCHEMA_COLUMN,
          "Column %s of table %s has %s and must have the default %s. Change it back: %s."
              .formatted(
                  expected.name(),
                  plain(table),
                  is.initial() == null ? "no default" : "the default " + is.initial(),
                  wanted,
                  alter(
                      table,
                      "ALTER COLUMN %s SET DEFAULT %s"
                          .formatted(
                              expected.name(),
                              expected
                                  .definition()
                                  .replaceAll(".* DEFAULT ('[^']*'|\\S+).*", "$1")))));
    }
  }

  private String changeBack(TableShape table, Column column) {
    String definition = column.definition();
    return switch (session.dialect.name()) {
      case "mariadb" -> alter(table, "MODIFY " + definition);
      case "postgresql" -> {
        String type = definition.substring(definition.indexOf(' ') + 1);
        yield alter(
            table,
            "ALTER COLUMN %s TYPE %s"
                .formatted(column.name(), type.replaceAll(" (NOT NULL|DEFAULT|GENERATED).*", "")));
      }
      default -> alter(table, "ALTER COLUMN " + definition);
    };
  }

  // ---- keys

  private void keys(TableShape expected, TableShape found) {
    for (Key key : expected.keys()) {
      if (found.keys().stream().noneMatch(each -> each.doesTheWorkOf(key))) {
        findings.problem(
            ErrorCode.SCHEMA_INDEX,
            ("Table %s has lost its %s on (%s)%s; without it %s. There %s. Make it again, and drop"
                    + " one that took its name before: %s.")
                .formatted(
                    plain(expected),
                    shown(key),
                    String.join(", ", key.columns()),
                    key.condition() == null ? "" : " where " + key.condition(),
                    key.unique()
                        ? "the same row could be stored twice"
                        : "statements lock or read the whole table",
                    there(found),
                    again(expected, key)));
      }
    }
    for (Key extra : found.keys()) {
      if (extra.unique() && expected.keys().stream().noneMatch(each -> covers(each, extra))) {
        findings.warning(
            ErrorCode.SCHEMA_INDEX,
            ("Table %s has a unique index %s on (%s) that is not ours. Rows that it takes for equal"
                    + " cannot both be stored. Make it a plain index, or drop it.")
                .formatted(plain(expected), extra.name(), String.join(", ", extra.columns())));
      }
    }
  }

  /** Rows that our key keeps apart cannot collide in a larger one. */
  private static boolean covers(Key ours, Key extra) {
    return ours.unique() && extra.columns().containsAll(ours.columns());
  }

  private String shown(Key key) {
    String name = key.name().isEmpty() ? "" : " " + session.tables.plain(key.name());
    return (key.unique() ? "unique key" : "index") + name;
  }

  private static String there(TableShape table) {
    if (table.keys().isEmpty()) {
      return "is no index at all";
    }
    List<String> names =
        table.keys().stream()
            .map(
                key ->
                    "%s (%s)%s"
                        .formatted(
                            key.name(),
                            String.join(", ", key.columns()),
                            key.condition() == null ? "" : " where " + key.condition()))
            .sorted()
            .toList();
    return "is " + String.join(", ", names);
  }

  private String again(TableShape table, Key key) {
    String name = session.tables.sql("{name}" + key.name());
    String columns = "(" + String.join(", ", key.columns()) + ")";
    if (!key.unique()) {
      String condition = key.condition();
      return "CREATE INDEX %s ON %s %s%s"
          .formatted(
              name,
              session.tables.qualified(table.name()),
              columns,
              condition == null ? "" : " WHERE " + condition);
    }
    boolean primary = key.equals(table.keys().get(0));
    return alter(
        table,
        primary
            ? "ADD PRIMARY KEY " + columns
            : "ADD CONSTRAINT %s UNIQUE %s".formatted(name, columns));
  }

  // ---- sequences

  private void sequence(String name, long step) throws SQLException {
    Optional<Long> is = Catalogue.step(session, name);
    if (is.isEmpty()) {
      findings.problem(
          ErrorCode.SCHEMA_COLUMN,
          ("Sequence %s is missing, or this role may not see it. Make it again with the statement"
                  + " in %s, and let it start above every number that was given out.")
              .formatted(session.tables.plain(name), statements(session)));
    } else if (is.get() != step) {
      findings.problem(
          ErrorCode.SCHEMA_COLUMN,
          ("Sequence %s steps by %d and must step by %d: otherwise numbers are given out twice."
                  + " Change it back: ALTER SEQUENCE %s INCREMENT BY %d.")
              .formatted(
                  session.tables.plain(name),
                  is.get(),
                  step,
                  session.tables.qualified(name),
                  step));
    }
  }

  // ---- where the rows are kept

  /** A table that a crash empties, or that knows no transactions, keeps no promise. */
  private void storage(List<String> names) throws SQLException {
    String places = Session.repeat("?", names.size());
    Session.Bind bind =
        params -> {
          params.add(session.tables.schema());
          for (String name : names) {
            params.add(name);
          }
        };
    switch (session.dialect.name()) {
      case "postgresql" ->
          session.query(
              POSTGRES_UNLOGGED.formatted(places),
              bind,
              row -> lost(row.getString(1), "is unlogged, so a crash empties it", "SET LOGGED"));
      case "mariadb" ->
          session.query(
              MARIADB_ENGINES.formatted(places),
              bind,
              row ->
                  lost(
                      row.getString(1),
                      "is kept by %s, which knows no transactions".formatted(row.getString(2)),
                      "ENGINE = InnoDB"));
      default -> {}
    }
  }

  private boolean lost(String name, String why, String change) {
    String table = name.substring(session.tables.plain("").length());
    findings.problem(
        ErrorCode.DATABASE_NOT_DURABLE,
        "Table %s %s. Change it back: ALTER TABLE %s %s."
            .formatted(name, why, session.tables.qualified(table), change));
    return true;
  }

  private String plain(TableShape table) {
    return session.tables.plain(table.name());
  }

  private String alter(TableShape table, String change) {
    return "ALTER TABLE %s %s".formatted(session.tables.qualified(table.name()), change);
  }
}
