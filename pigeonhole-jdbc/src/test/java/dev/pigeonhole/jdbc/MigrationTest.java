package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.store.StoreSettings;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.JavaProcess;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import dev.pigeonhole.testkit.CrashPlan;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Making the tables: by many at once, cut in the middle, by hand, and with other names. */
class MigrationTest {

  private static final int AT_ONCE = 16;
  private static final int PROCESSES =
      "small".equals(System.getProperty("pigeonhole.size", "small")) ? 4 : 16;

  @AfterEach
  void forgetPlans() {
    CrashPlan.clear();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void pg15_sixteenAtOnceMakeOneSchema(TestDatabase database) {
    List<CompletableFuture<Void>> all =
        IntStream.range(0, AT_ONCE)
            .mapToObj(i -> CompletableFuture.runAsync(() -> Schema.migrate(database.dataSource())))
            .toList();
    all.forEach(CompletableFuture::join);

    assertThat(Rig.on(database).count("schema_history")).isEqualTo(1);
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void processesAtOnceMakeOneSchema(DatabaseKind kind) {
    try (TestDatabase database = TestDatabases.open(kind)) {
      List<JavaProcess> children = new ArrayList<>();
      for (int i = 0; i < PROCESSES; i++) {
        children.add(
            JavaProcess.of(MigrateMain.class)
                .heap("64m")
                .args(database.jdbcUrl(), database.user(), database.password())
                .start());
      }
      for (JavaProcess child : children) {
        assertThat(child.waitFor(Duration.ofMinutes(5))).as("%s", child.output()).isZero();
      }
      assertThat(Rig.on(database).count("schema_history")).isEqualTo(1);
    }
  }

  /** A child that migrates once. */
  static final class MigrateMain {
    public static void main(String[] args) {
      Schema.migrate(TestDatabase.attach(args[0], args[1], args[2]).dataSource());
    }
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void d170_aMigrationCutAfterAnyStatementIsFinishedByTheNext(TestDatabase database)
      throws Exception {
    CrashPlan.at("migrate.after-statement").onHit(Integer.MAX_VALUE).counting();
    int cuts = 0;
    for (int nth = 1; ; nth++) {
      CrashPlan.clear();
      CrashPlan.at("migrate.after-statement")
          .onHit(nth)
          .throwing(() -> new IllegalStateException("cut"));
      try {
        Schema.migrate(database.dataSource());
        break;
      } catch (IllegalStateException expected) {
        cuts++;
      }
    }
    CrashPlan.clear();

    assertThat(cuts).isGreaterThan(1);
    try (TestDatabase whole = TestDatabases.open(database.kind())) {
      Schema.migrate(whole.dataSource());
      assertThat(describe(database)).isEqualTo(describe(whole));
    }
    assertThat(Rig.on(database).accept(Rig.on(database).message("m"))).isNotNull();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void thePrintedScriptMakesTheSameTables(TestDatabase database) throws Exception {
    String dialect = dialect(database.kind());
    for (String statement : Schema.ofDefaults().sql(dialect).split(";\\s*\\n")) {
      String bare = statement.replaceAll("(?m)^--.*$", "").strip();
      if (!bare.isEmpty()) {
        database.execute(bare);
      }
    }
    try (TestDatabase migrated = TestDatabases.open(database.kind())) {
      Schema.migrate(migrated.dataSource());
      assertThat(describe(database)).isEqualTo(describe(migrated)).isNotEmpty();
    }
    Schema.migrate(database.dataSource());
    assertThat(Rig.on(database).count("schema_history")).isEqualTo(1);
  }

  private static String dialect(DatabaseKind kind) {
    return kind == DatabaseKind.POSTGRES ? "postgresql" : kind.name().toLowerCase(Locale.ROOT);
  }

  /** Every column and index, one line each. */
  private static TreeSet<String> describe(TestDatabase database) throws SQLException {
    TreeSet<String> lines = new TreeSet<>();
    try (Connection connection = database.dataSource().getConnection()) {
      String catalog = connection.getCatalog();
      String schema = connection.getSchema();
      var meta = connection.getMetaData();
      try (ResultSet columns = meta.getColumns(catalog, schema, "pigeonhole%", null)) {
        while (columns.next()) {
          lines.add(
              "%s.%s %s(%s) %s"
                  .formatted(
                      columns.getString("TABLE_NAME"),
                      columns.getString("COLUMN_NAME"),
                      columns.getString("TYPE_NAME"),
                      columns.getString("COLUMN_SIZE"),
                      columns.getString("IS_NULLABLE")));
        }
      }
      for (String table : dev.pigeonhole.jdbc.internal.Tables.ALL) {
        try (ResultSet index =
            meta.getIndexInfo(catalog, schema, "pigeonhole_" + table, false, true)) {
          while (index.next()) {
            lines.add(
                "%s %s %s %s"
                    .formatted(
                        table,
                        index.getBoolean("NON_UNIQUE"),
                        index.getShort("ORDINAL_POSITION"),
                        index.getString("COLUMN_NAME")));
          }
        }
      }
    }
    return lines;
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void op08_twoInboxesLiveSideBySideUnderTheirPrefixes(TestDatabase database) {
    String longest = "p".repeat(41);
    Schema.ofDefaults().prefix(longest).applyTo(database.dataSource());
    Schema.ofDefaults().prefix("Other_").applyTo(database.dataSource());
    JdbcStore one = JdbcStore.of(database.dataSource()).prefix(longest);
    JdbcStore other = JdbcStore.of(database.dataSource()).prefix("Other_");
    one.maintenance().open(new StoreSettings("one", 8, 4, 1 << 20));
    other.maintenance().open(new StoreSettings("other", 8, 4, 1 << 20));

    one.acceptor().accept(List.of(Messages.plain("m", 0, "x")));

    assertThat(one.admin().messages()).isEqualTo(1);
    assertThat(other.admin().messages()).isZero();
  }

  @Test
  void pg14_sc10_d75_d111_d112_e24_namesThatAreMoreThanNamesAreRefused() {
    for (String bad : List.of("", "x\"; DROP", "a b", "1x", "ü_", "public.evil", "x-y")) {
      refused(ErrorCode.IDENTIFIER_INVALID, () -> Schema.ofDefaults().prefix(bad));
      refused(ErrorCode.IDENTIFIER_INVALID, () -> Schema.ofDefaults().schema(bad));
    }
    refused(ErrorCode.IDENTIFIER_TOO_LONG, () -> Schema.ofDefaults().prefix("p".repeat(42)));
    refused(ErrorCode.IDENTIFIER_TOO_LONG, () -> Schema.ofDefaults().schema("s".repeat(64)));
    refused(ErrorCode.DATABASE_UNSUPPORTED, () -> Schema.ofDefaults().sql("oracle"));
  }

  private static void refused(ErrorCode code, Runnable work) {
    assertThatExceptionOfType(ConfigurationException.class)
        .isThrownBy(work::run)
        .satisfies(e -> assertThat(e.code()).isEqualTo(code));
  }

  @Test
  void sc24_e25_theRunningRoleNeedsNoRightToCreate() {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES)) {
      Schema.migrate(database.dataSource());
      String role = "role_" + database.schema();
      String schema = database.rows("SELECT current_schema() AS s").get(0).get("s").toString();
      database.execute("CREATE ROLE " + role + " LOGIN");
      database.execute("GRANT USAGE ON SCHEMA \"" + schema + "\" TO " + role);
      for (String grant :
          Schema.ofDefaults().schema(schema).grants("postgresql", role).split(";\\s*")) {
        database.execute(grant);
      }
      TestDatabase asRole = TestDatabase.attach(database.jdbcUrl(), role, database.password());
      Rig rig = Rig.on(asRole, asRole.dataSource());
      rig.accept(rig.message("m", rig.a));
      rig.complete(rig.open(rig.a, 10));
      long node = rig.store.nodes().join("n", java.util.Set.of(rig.a.family()));
      rig.store.nodes().stopped(node);
      assertThat(rig.count("receipt")).isEqualTo(1);
      database.execute("DROP OWNED BY " + role);
      database.execute("DROP ROLE " + role);
    }
  }
}
