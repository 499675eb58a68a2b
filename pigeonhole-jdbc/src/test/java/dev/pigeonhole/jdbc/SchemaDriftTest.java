package dev.pigeonhole.jdbc;

import static dev.pigeonhole.ErrorCode.DATABASE_NOT_DURABLE;
import static dev.pigeonhole.ErrorCode.SCHEMA_COLLATION;
import static dev.pigeonhole.ErrorCode.SCHEMA_COLUMN;
import static dev.pigeonhole.ErrorCode.SCHEMA_INDEX;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Tables that somebody has changed by hand: what is less than the scripts say is named with the way
 * back, what is more is left alone.
 */
class SchemaDriftTest {

  /**
   * A change by hand. In its statements, {@code <x>} is the quoted name of table or index x.
   *
   * @param words what the problem must name
   * @param waysBack whether the statement at the end of the problem undoes the change
   */
  private record Drift(
      String name,
      ErrorCode code,
      List<String> words,
      boolean waysBack,
      Map<DatabaseKind, List<String>> statements) {

    Drift on(DatabaseKind kind, String... changes) {
      statements.put(kind, List.of(changes));
      return this;
    }

    Drift onAll(String... changes) {
      for (DatabaseKind kind : DatabaseKind.values()) {
        on(kind, changes);
      }
      return this;
    }

    @Override
    public String toString() {
      return name;
    }
  }

  private static final DatabaseKind POSTGRES = DatabaseKind.POSTGRES;
  private static final DatabaseKind MARIADB = DatabaseKind.MARIADB;
  private static final DatabaseKind H2 = DatabaseKind.H2;

  private static Drift drift(String name, ErrorCode code, String... words) {
    return new Drift(name, code, List.of(words), true, new EnumMap<>(DatabaseKind.class));
  }

  /** One whose way back takes more than a statement. */
  private static Drift deepDrift(String name, ErrorCode code, String... words) {
    return new Drift(name, code, List.of(words), false, new EnumMap<>(DatabaseKind.class));
  }

  private static List<Drift> drifts() {
    List<Drift> drifts = new ArrayList<>();
    drifts.addAll(columns());
    drifts.addAll(indexes());
    drifts.add(
        drift("a table that a crash empties", DATABASE_NOT_DURABLE, "pigeonhole_pause")
            .on(POSTGRES, "ALTER TABLE <pause> SET UNLOGGED")
            .on(MARIADB, "ALTER TABLE <pause> ENGINE = MyISAM"));
    return drifts;
  }

  private static List<Drift> columns() {
    return List.of(
        deepDrift("a table is gone", SCHEMA_COLUMN, "pigeonhole_audit", "missing")
            .onAll("DROP TABLE <audit>"),
        drift("a column is gone", SCHEMA_COLUMN, "pigeonhole_delivery", "column mark", "bigint")
            .onAll("ALTER TABLE <delivery> DROP COLUMN mark"),
        drift("a number is smaller", SCHEMA_COLUMN, "pigeonhole_message", "token", "bigint")
            .on(POSTGRES, "ALTER TABLE <message> ALTER COLUMN token TYPE int")
            .on(MARIADB, "ALTER TABLE <message> MODIFY token int NOT NULL")
            .on(H2, "ALTER TABLE <message> ALTER COLUMN token SET DATA TYPE int"),
        drift("a number has no sign", SCHEMA_COLUMN, "pigeonhole_message", "token", "unsigned")
            .on(MARIADB, "ALTER TABLE <message> MODIFY token bigint unsigned NOT NULL"),
        drift("an id is shorter", SCHEMA_COLUMN, "pigeonhole_message", "Column id", "50", "must be")
            .on(POSTGRES, "ALTER TABLE <message> ALTER COLUMN id TYPE varchar(50) COLLATE \"C\"")
            .on(MARIADB, "ALTER TABLE <message> MODIFY id varbinary(250) NOT NULL")
            .on(H2, "ALTER TABLE <message> ALTER COLUMN id SET DATA TYPE varchar(50)"),
        drift(
                "content is shorter",
                SCHEMA_COLUMN,
                "pigeonhole_message",
                "Column content",
                "must be")
            .on(MARIADB, "ALTER TABLE <message> MODIFY content blob")
            .on(H2, "ALTER TABLE <message> ALTER COLUMN content SET DATA TYPE varbinary(1000)"),
        drift(
                "a hash is padded",
                SCHEMA_COLUMN,
                "pigeonhole_conflict",
                "content_hash",
                "binary(20)")
            .on(MARIADB, "ALTER TABLE <conflict> MODIFY content_hash binary(20) NOT NULL"),
        drift("a time has no zone", SCHEMA_COLUMN, "received_at", "timestamp")
            .on(POSTGRES, "ALTER TABLE <message> ALTER COLUMN received_at TYPE timestamp")
            .on(MARIADB, "ALTER TABLE <message> MODIFY received_at timestamp(6) NOT NULL")
            .on(H2, "ALTER TABLE <message> ALTER COLUMN received_at SET DATA TYPE timestamp"),
        drift("a time is coarser", SCHEMA_COLUMN, "pigeonhole_later", "due_at", "must be")
            .on(POSTGRES, "ALTER TABLE <later> ALTER COLUMN due_at TYPE timestamptz(3)")
            .on(MARIADB, "ALTER TABLE <later> MODIFY due_at datetime")
            .on(
                H2,
                "ALTER TABLE <later> ALTER COLUMN due_at SET DATA TYPE timestamp(3) with time zone"),
        drift("a column may be null", SCHEMA_COLUMN, "received_at", "nullable", "NOT NULL")
            .on(POSTGRES, "ALTER TABLE <message> ALTER COLUMN received_at DROP NOT NULL")
            .on(MARIADB, "ALTER TABLE <message> MODIFY received_at datetime(6)")
            .on(H2, "ALTER TABLE <message> ALTER COLUMN received_at DROP NOT NULL"),
        drift("a column must not be null", SCHEMA_COLUMN, "due_at", "nullable", "NOT NULL")
            .on(POSTGRES, "ALTER TABLE <later> ALTER COLUMN due_at SET NOT NULL")
            .on(MARIADB, "ALTER TABLE <later> MODIFY due_at datetime(6) NOT NULL")
            .on(H2, "ALTER TABLE <later> ALTER COLUMN due_at SET NOT NULL"),
        drift("a default is gone", SCHEMA_COLUMN, "pigeonhole_message", "repeats", "no default")
            .onAll("ALTER TABLE <message> ALTER COLUMN repeats DROP DEFAULT"),
        drift("a default is another", SCHEMA_COLUMN, "failures", "the default 5", "the default 0")
            .onAll("ALTER TABLE <delivery> ALTER COLUMN failures SET DEFAULT 5"),
        drift("rows are not numbered", SCHEMA_COLUMN, "pigeonhole_audit", "audit_id", "by itself")
            .on(POSTGRES, "ALTER TABLE <audit> ALTER COLUMN audit_id DROP IDENTITY")
            .on(MARIADB, "ALTER TABLE <audit> MODIFY audit_id bigint NOT NULL")
            .on(H2, "ALTER TABLE <audit> ALTER COLUMN audit_id DROP IDENTITY"),
        drift(
                "numbers step otherwise",
                SCHEMA_COLUMN,
                "pigeonhole_message_seq",
                "steps by 1 ",
                "1000")
            .onAll("ALTER SEQUENCE <message_seq> INCREMENT BY 1"),
        deepDrift("no numbers are given out", SCHEMA_COLUMN, "pigeonhole_node_seq", "missing")
            .onAll("DROP SEQUENCE <node_seq>"),
        drift("a column nobody fills", SCHEMA_COLUMN, "pigeonhole_message", "tenant", "no default")
            .onAll("ALTER TABLE <message> ADD COLUMN tenant int NOT NULL"),
        drift("keys of handlers are folded", SCHEMA_COLLATION, "pigeonhole_handler", "handler_key")
            .on(
                POSTGRES,
                "ALTER TABLE <handler> ALTER COLUMN handler_key TYPE text COLLATE \"default\"")
            .on(
                MARIADB,
                "ALTER TABLE <handler> MODIFY handler_key varchar(200) CHARACTER SET utf8mb4 NOT NULL")
            .on(H2, "ALTER TABLE <handler> ALTER COLUMN handler_key varchar_ignorecase NOT NULL"),
        drift("texts are folded", SCHEMA_COLLATION, "error_text", "utf8mb4_general_ci")
            .on(
                MARIADB,
                "ALTER TABLE <poison> MODIFY error_text longtext"
                    + " CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL"),
        drift("texts lack characters", SCHEMA_COLLATION, "error_text", "latin1_bin")
            .on(
                MARIADB,
                "ALTER TABLE <poison> MODIFY error_text longtext"
                    + " CHARACTER SET latin1 COLLATE latin1_bin NOT NULL"));
  }

  private static List<Drift> indexes() {
    List<Drift> drifts = new ArrayList<>();
    for (String index : List.of("later_due", "later_key", "poison_key")) {
      String table = index.substring(0, index.indexOf('_'));
      drifts.add(
          drift(index + " is gone", SCHEMA_INDEX, "pigeonhole_" + table, "pigeonhole_" + index)
              .on(POSTGRES, "DROP INDEX <" + index + ">")
              .on(MARIADB, "DROP INDEX <" + index + "> ON <" + table + ">")
              .on(H2, "DROP INDEX <" + index + ">"));
    }
    drifts.add(
        drift("ids are not unique", SCHEMA_INDEX, "pigeonhole_message_identity", "(source, id)")
            .on(POSTGRES, "ALTER TABLE <message> DROP CONSTRAINT <message_identity>")
            .on(MARIADB, "DROP INDEX <message_identity> ON <message>")
            .on(H2, "ALTER TABLE <message> DROP CONSTRAINT <message_identity>"));
    drifts.add(
        drift("receipts have no key", SCHEMA_INDEX, "pigeonhole_receipt", "(seq, handler)")
            .on(POSTGRES, "ALTER TABLE <receipt> DROP CONSTRAINT <receipt_pk>")
            .on(MARIADB, "ALTER TABLE <receipt> DROP PRIMARY KEY")
            .on(H2, "ALTER TABLE <receipt> DROP CONSTRAINT <receipt_pk>"));
    drifts.add(
        deepDrift("an index has another order", SCHEMA_INDEX, "due_at, seq)", "(handler, lane")
            .on(
                POSTGRES,
                "DROP INDEX <later_due>",
                "CREATE INDEX <later_due> ON <later> (handler, lane, due_at, seq)")
            .on(
                MARIADB,
                "DROP INDEX <later_due> ON <later>",
                "CREATE INDEX <later_due> ON <later> (handler, lane, due_at, seq)")
            .on(
                H2,
                "DROP INDEX <later_due>",
                "CREATE INDEX <later_due> ON <later> (handler, lane, due_at, seq)"));
    drifts.add(
        deepDrift("an index goes down", SCHEMA_INDEX, "pigeonhole_later_due", "due_at desc")
            .on(
                POSTGRES,
                "DROP INDEX <later_due>",
                "CREATE INDEX <later_due> ON <later> (lane, handler, place, due_at DESC, seq)")
            .on(
                MARIADB,
                "DROP INDEX <later_due> ON <later>",
                "CREATE INDEX <later_due> ON <later> (lane, handler, place, due_at DESC, seq)")
            .on(
                H2,
                "DROP INDEX <later_due>",
                "CREATE INDEX <later_due> ON <later> (lane, handler, place, due_at DESC, seq)"));
    drifts.add(
        deepDrift("ids are compared in part", SCHEMA_INDEX, "pigeonhole_message", "id(100)")
            .on(
                MARIADB,
                "ALTER TABLE <message> DROP INDEX <message_identity>,"
                    + " ADD CONSTRAINT <message_identity> UNIQUE (source, id(100))"));
    drifts.add(
        deepDrift("an index is not looked at", SCHEMA_INDEX, "pigeonhole_later_due")
            .on(
                POSTGRES,
                "UPDATE pg_index SET indisvalid = false"
                    + " WHERE indexrelid = '<later_due>'::regclass")
            .on(MARIADB, "ALTER TABLE <later> ALTER INDEX <later_due> IGNORED"));
    drifts.add(
        deepDrift("an index lacks rows", SCHEMA_INDEX, "pigeonhole_later_key", "key_hash > 0")
            .on(
                POSTGRES,
                "DROP INDEX <later_key>",
                "CREATE INDEX <later_key> ON <later> (handler, key_hash, seq) WHERE key_hash > 0"));
    return drifts;
  }

  static Stream<Arguments> driftsOfAll() {
    return drifts().stream()
        .flatMap(
            drift -> drift.statements().keySet().stream().map(kind -> Arguments.of(kind, drift)));
  }

  private static void run(TestDatabase database, List<String> statements) {
    String quote = database.kind() == MARIADB ? "`" : "\"";
    for (String statement : statements) {
      database.execute(
          statement
              .replaceAll("<(?=[a-z])", quote + "pigeonhole_")
              .replaceAll("(?<=[a-z0-9])>", quote));
    }
  }

  private static List<Problem> problems(TestDatabase database) {
    try {
      JdbcStore.of(database.dataSource()).maintenance().open(Rig.SETTINGS);
      return List.of();
    } catch (ConfigurationException e) {
      return e.problems();
    }
  }

  @ParameterizedTest(name = "{0}: {1}")
  @MethodSource("driftsOfAll")
  void my02_d89_whatIsLessIsNamedWithTheWayBack(DatabaseKind kind, Drift drift) {
    try (TestDatabase database = TestDatabases.open(kind)) {
      Schema.migrate(database.dataSource());
      run(database, drift.statements().get(kind));

      List<Problem> problems = problems(database);

      assertThat(problems).extracting(Problem::code).containsExactly(drift.code());
      String text = problems.get(0).text();
      assertThat(text).contains(drift.words());
      if (drift.waysBack()) {
        String wayBack = text.substring(text.lastIndexOf(": ") + 2, text.length() - 1);
        database.execute(wayBack);
        assertThat(problems(database)).as(wayBack).isEmpty();
      }
    }
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void everythingIsToldTogether(TestDatabase database) {
    Schema.migrate(database.dataSource());
    List<Drift> together =
        drifts().stream()
            .filter(Drift::waysBack)
            .filter(drift -> drift.statements().containsKey(database.kind()))
            // Each of these changes a column that another one changes, too.
            .filter(drift -> !drift.name().equals("a column may be null"))
            .filter(drift -> !drift.name().equals("a column must not be null"))
            .filter(drift -> !drift.name().equals("a number has no sign"))
            .filter(drift -> !drift.name().equals("texts lack characters"))
            .toList();
    together.forEach(drift -> run(database, drift.statements().get(database.kind())));

    List<Problem> problems = problems(database);

    assertThat(together).hasSizeGreaterThan(10);
    assertThat(problems)
        .extracting(Problem::code)
        .containsExactlyInAnyOrderElementsOf(together.stream().map(Drift::code).toList());
    assertThat(together)
        .allSatisfy(
            drift ->
                assertThat(problems)
                    .as(drift.name())
                    .anySatisfy(problem -> assertThat(problem.text()).contains(drift.words())));
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void whatIsMoreIsLeftAlone(TestDatabase database) {
    Schema.migrate(database.dataSource());
    run(
        database,
        List.of(
            "CREATE INDEX <message_by_type> ON <message> (type)",
            "CREATE UNIQUE INDEX <message_twice> ON <message> (source, id, type)",
            "ALTER TABLE <message> ADD COLUMN tenant int",
            "ALTER TABLE <receipt> ADD COLUMN node int NOT NULL DEFAULT 7"));
    run(
        database,
        switch (database.kind()) {
          case POSTGRES ->
              List.of(
                  "ALTER TABLE <message> ALTER COLUMN repeats TYPE bigint",
                  "ALTER TABLE <message> ALTER COLUMN type TYPE varchar COLLATE \"POSIX\"",
                  "ALTER TABLE <message> ADD COLUMN twice int GENERATED ALWAYS AS (lane * 2) STORED",
                  "DROP INDEX <later_key>",
                  "CREATE INDEX <later_key_2> ON <later> (handler, key_hash, seq)",
                  "DROP INDEX <later_due>",
                  "CREATE INDEX <wide> ON <later> (lane, handler, place, due_at, seq, version)");
          case MARIADB ->
              List.of(
                  "ALTER TABLE <message> MODIFY repeats bigint NOT NULL DEFAULT 0",
                  "ALTER TABLE <message> MODIFY channel varbinary(2000) NOT NULL",
                  "ALTER TABLE <message> MODIFY headers mediumblob NOT NULL",
                  "ALTER TABLE <message> MODIFY headers longblob NOT NULL",
                  "ALTER TABLE <message> MODIFY content_hash varbinary(64) NOT NULL",
                  "ALTER TABLE <message> ADD COLUMN twice int AS (lane * 2) PERSISTENT",
                  "ALTER TABLE <audit> MODIFY reason longtext"
                      + " CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL",
                  "DROP INDEX <later_due> ON <later>",
                  "CREATE INDEX <wide> ON <later> (lane, handler, place, due_at, seq, version)");
          case H2 ->
              List.of(
                  "ALTER TABLE <message> ALTER COLUMN repeats SET DATA TYPE bigint",
                  "ALTER TABLE <message> ALTER COLUMN received_at SET DATA TYPE"
                      + " timestamp(9) with time zone",
                  "DROP INDEX <later_due>",
                  "CREATE INDEX <wide> ON <later> (lane, handler, place, due_at, seq, version)");
        });

    assertThat(problems(database)).isEmpty();
    assertThat(JdbcStore.of(database.dataSource()).maintenance().open(Rig.SETTINGS)).isEmpty();
    Rig rig = Rig.on(database, database.pool(12));
    rig.accept(rig.message("m", rig.a));
    assertThat(rig.complete(rig.open(rig.a, 10))).isEmpty();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void aUniqueIndexThatIsNotOursIsWarnedAbout(TestDatabase database) {
    Schema.migrate(database.dataSource());
    run(database, List.of("CREATE UNIQUE INDEX <one_per_lane> ON <message> (lane)"));

    assertThat(JdbcStore.of(database.dataSource()).maintenance().open(Rig.SETTINGS))
        .singleElement()
        .satisfies(
            warning ->
                assertThat(warning)
                    .startsWith(SCHEMA_INDEX.text())
                    .contains("pigeonhole_message", "one_per_lane", "(lane)"));
  }

  @Test
  void tablesOfAnotherPrefixAreNotMixedUp() {
    try (TestDatabase database = TestDatabases.open(MARIADB)) {
      Schema.migrate(database.dataSource());
      Schema.ofDefaults().prefix("Pigeonhole_").applyTo(database.dataSource());
      run(database, List.of("ALTER TABLE <delivery> DROP COLUMN mark"));

      assertThat(problems(database)).hasSize(1);
      JdbcStore.of(database.dataSource()).prefix("Pigeonhole_").maintenance().open(Rig.SETTINGS);
    }
  }
}
