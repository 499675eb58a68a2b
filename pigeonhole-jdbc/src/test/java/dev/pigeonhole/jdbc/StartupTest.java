package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.store.StoreSettings;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.H2Database;
import dev.pigeonhole.support.JavaProcess;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.nio.file.Path;
import java.sql.Connection;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** What a store refuses to start on, with the code that says why and the way out. */
class StartupTest {
  private static final String WRITE_DELAY =
      "SELECT setting_value AS v FROM information_schema.settings"
          + " WHERE setting_name = 'WRITE_DELAY'";

  private static List<Problem> problems(DataSource dataSource) {
    return problems(dataSource, Rig.SETTINGS);
  }

  private static List<Problem> problems(DataSource dataSource, StoreSettings settings) {
    try {
      JdbcStore.of(dataSource).maintenance().open(settings);
      return List.of();
    } catch (ConfigurationException e) {
      return e.problems();
    }
  }

  private static String quoted(TestDatabase database, String name) {
    String quote = database.kind() == DatabaseKind.MARIADB ? "`" : "\"";
    return quote + "pigeonhole_" + name + quote;
  }

  /** Where its connections stand. */
  private static String schema(TestDatabase database) {
    return database.kind() == DatabaseKind.H2 ? "PUBLIC" : database.schema();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void anEmptyDatabaseIsRefusedWithTheWayOut(TestDatabase database) {
    assertThat(problems(database.dataSource()))
        .singleElement()
        .satisfies(
            problem -> {
              assertThat(problem.code()).isEqualTo(ErrorCode.SCHEMA_VERSION);
              assertThat(problem.text())
                  .contains(
                      "Schema.ofDefaults().schema(\"%s\").applyTo(dataSource)"
                          .formatted(schema(database)));
            });
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void theWayOutMakesTheTablesThatWereLookedFor(TestDatabase database) {
    Schema.migrate(database.dataSource());
    String schema = schema(database);
    JdbcStore store = JdbcStore.of(database.dataSource()).schema(schema).prefix("inbox_");
    String call = "Schema.ofDefaults().schema(\"%s\").prefix(\"inbox_\")".formatted(schema);
    assertThatExceptionOfType(ConfigurationException.class)
        .isThrownBy(() -> store.maintenance().open(Rig.SETTINGS))
        .withMessageContaining("There are no tables inbox_…")
        .withMessageContaining(call + ".applyTo(dataSource)")
        .withMessageContaining(call + ".sql(\"");

    Schema.ofDefaults().schema(schema).prefix("inbox_").applyTo(database.dataSource());
    store.maintenance().open(Rig.SETTINGS);
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void aDatabaseAsWeMakeItIsAccepted(TestDatabase database) {
    Schema.migrate(database.dataSource());
    assertThat(problems(database.dataSource())).isEmpty();
    assertThat(JdbcStore.of(database.dataSource()).maintenance().open(Rig.SETTINGS)).isEmpty();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void pg16_d88_tablesOfAnotherVersionAreRefused(TestDatabase database) {
    Schema.migrate(database.dataSource());
    database.execute("UPDATE " + quoted(database, "schema_history") + " SET version = 99");
    assertThat(problems(database.dataSource()))
        .extracting(Problem::code)
        .containsExactly(ErrorCode.SCHEMA_TOO_NEW);
  }

  @Test
  void dur06_d91_d92_settingsThatLoseCommitsAreRefused() {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES)) {
      Schema.migrate(database.dataSource());
      assertThat(problems(database.with("options", "-c%20synchronous_commit=off").dataSource()))
          .extracting(Problem::code)
          .containsExactly(ErrorCode.DATABASE_NOT_DURABLE);
      assertThat(
              problems(
                  database.with("options", "-c%20default_transaction_read_only=on").dataSource()))
          .extracting(Problem::code)
          .contains(ErrorCode.DATABASE_READ_ONLY);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "innodb_flush_log_at_trx_commit, 2, DATABASE_NOT_DURABLE",
    "sync_binlog, 0, DATABASE_NOT_DURABLE",
    "binlog_format, STATEMENT, BINLOG_STATEMENT",
    "read_only, 1, DATABASE_READ_ONLY"
  })
  void dur06_my10_my16_d91_d98_aMariaDbThatIsSetUpWronglyIsRefused(
      String setting, String value, ErrorCode code) {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.MARIADB)) {
      Schema.migrate(database.dataSource());
      Object former = database.rows("SELECT @@global." + setting + " AS v").get(0).get("v");
      database.execute("SET GLOBAL " + setting + " = " + value);
      try {
        assertThat(problems(database.dataSource()))
            .singleElement()
            .satisfies(
                problem -> {
                  assertThat(problem.code()).isEqualTo(code);
                  assertThat(problem.text()).matches(".*( is |is read-only).*");
                });
      } finally {
        database.execute("SET GLOBAL " + setting + " = " + former);
      }
      assertThat(problems(database.dataSource())).isEmpty();
    }
  }

  @Test
  void aMariaDbThatRejectsUpdatesWithoutAnIndexIsRefused() {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.MARIADB)) {
      Schema.migrate(database.dataSource());
      TestDatabase safe = database.with("sessionVariables", "sql_safe_updates=1");
      assertThat(problems(safe.dataSource()))
          .singleElement()
          .satisfies(
              problem -> {
                assertThat(problem.code()).isEqualTo(ErrorCode.SAFE_UPDATES);
                assertThat(problem.text()).contains("sql_safe_updates is on", "error 1175");
              });
    }
  }

  @ParameterizedTest
  @CsvSource(
      quoteCharacter = '"',
      value = {
        "POSTGRES, \"current_setting('server_version_num')\", 130020, 13",
        "MARIADB, VERSION(), 10.5.29-MariaDB, 10.5.29",
        "H2, H2VERSION(), 2.1.214, 2.1.214"
      })
  void my08_hx04_d87_aServerThatIsTooOldIsRefused(
      DatabaseKind kind, String question, String version, String shown) {
    try (TestDatabase database = TestDatabases.open(kind)) {
      Schema.migrate(database.dataSource());
      assertThat(
              problems(Pretending.rewriting(database.dataSource(), question, "'" + version + "'")))
          .singleElement()
          .satisfies(
              problem -> {
                assertThat(problem.code()).isEqualTo(ErrorCode.DATABASE_UNSUPPORTED);
                assertThat(problem.text()).contains(shown, "oldest");
              });
    }
  }

  @Test
  void mySqlIsRefusedByName() {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.MARIADB)) {
      assertThat(problems(Pretending.product(database.dataSource(), "MySQL")))
          .singleElement()
          .satisfies(
              problem -> {
                assertThat(problem.code()).isEqualTo(ErrorCode.DATABASE_UNSUPPORTED);
                assertThat(problem.text()).contains("no sequences and no RETURNING", "MariaDB");
              });
    }
  }

  @Test
  void aGaleraClusterIsWarnedAboutItsLocks() {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.MARIADB)) {
      Schema.migrate(database.dataSource());
      DataSource cluster =
          Pretending.rewriting(database.dataSource(), "SELECT variable_value", "SELECT 'ON'");
      cluster = Pretending.rewriting(cluster, "'WSREP_ON'", "'VERSION'");
      assertThat(JdbcStore.of(cluster).maintenance().open(Rig.SETTINGS))
          .singleElement()
          .satisfies(
              warning -> assertThat(warning).startsWith("PH-DB-03").contains("Galera", "same one"));
    }
  }

  /** The same database with a clock that is so many days ahead. */
  private static DataSource ahead(TestDatabase database, int days) {
    String now =
        switch (database.kind()) {
          case POSTGRES -> "clock_timestamp()";
          case MARIADB -> "UTC_TIMESTAMP(6)";
          case H2 -> "CURRENT_TIMESTAMP(6)";
        };
    return Pretending.rewriting(
        database.dataSource(),
        now,
        database.kind() == DatabaseKind.H2
            ? "DATEADD(DAY, %d, %s)".formatted(days, now)
            : "(%s + INTERVAL '%d' DAY)".formatted(now, days));
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void d95_aClockThatIsADayOffIsWarnedAboutWithWhatWasMeasured(TestDatabase database) {
    Schema.migrate(database.dataSource());
    assertThat(JdbcStore.of(ahead(database, 1)).maintenance().open(Rig.SETTINGS))
        .singleElement()
        .satisfies(
            warning ->
                assertThat(warning)
                    .startsWith(ErrorCode.DATABASE_CLOCK.text())
                    .containsPattern("is 86(3[5-9]|4[0-4])\\d s ahead of that of this host"));
    assertThat(JdbcStore.of(ahead(database, -1)).maintenance().open(Rig.SETTINGS))
        .singleElement()
        .satisfies(
            warning ->
                assertThat(warning)
                    .containsPattern("is 86(3[5-9]|4[0-4])\\d s behind that of this host"));
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void d95_aClockThatWasNeverSetIsRefused(TestDatabase database) {
    Schema.migrate(database.dataSource());
    for (int days : new int[] {-400, 400}) {
      assertThat(problems(ahead(database, days)))
          .singleElement()
          .satisfies(
              problem -> {
                assertThat(problem.code()).isEqualTo(ErrorCode.DATABASE_CLOCK);
                assertThat(problem.text()).contains("never been set", "Set it first");
              });
    }
  }

  /**
   * On PostgreSQL each transaction sets READ COMMITTED, unless the pool hides that it has another
   * default.
   */
  @Test
  void pg08_aDefaultIsolationThatAPoolHidesIsRefused() {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES)) {
      Schema.migrate(database.dataSource());
      TestDatabase strict =
          database.with("options", "-c%20default_transaction_isolation=serializable");
      DataSource hiding =
          Pretending.twisted(
              strict.dataSource(),
              call ->
                  call.name().equals("getTransactionIsolation")
                      ? Connection.TRANSACTION_READ_COMMITTED
                      : call.go());
      assertThat(problems(hiding))
          .singleElement()
          .satisfies(problem -> assertThat(problem.code()).isEqualTo(ErrorCode.DATABASE_ISOLATION));
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"MARIADB", "H2"})
  void my01_anIsolationThatCannotBeChangedIsRefused(DatabaseKind kind) {
    try (TestDatabase database = TestDatabases.open(kind)) {
      Schema.migrate(database.dataSource());
      DataSource stubborn =
          Pretending.twisted(
              database.dataSource(),
              call -> {
                if (call.name().equals("setTransactionIsolation")) {
                  call.connection().setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
                  return null;
                }
                if (call.name().equals("setAutoCommit")) { // behind every way to set it
                  call.connection().setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
                }
                // Or nobody would try to set what is set already.
                return call.name().equals("getTransactionIsolation")
                    ? Connection.TRANSACTION_SERIALIZABLE
                    : call.go();
              });
      assertThat(problems(stubborn))
          .singleElement()
          .satisfies(
              problem -> {
                assertThat(problem.code()).isEqualTo(ErrorCode.DATABASE_ISOLATION);
                assertThat(problem.text()).contains("SERIALIZABLE", "READ COMMITTED");
              });
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void d76_aRoleWithoutRightsIsToldWhichStatementsGrantThem(DatabaseKind kind) {
    try (TestDatabase database = TestDatabases.open(kind)) {
      Schema.migrate(database.dataSource());
      String role = "role_" + database.schema();
      if (kind == DatabaseKind.POSTGRES) {
        String schema = "\"" + database.schema() + "\"";
        database.execute("CREATE ROLE " + role + " LOGIN");
        database.execute("GRANT USAGE ON SCHEMA " + schema + " TO " + role);
        database.execute("GRANT SELECT ON ALL TABLES IN SCHEMA " + schema + " TO " + role);
      } else {
        database.execute("CREATE USER " + role);
        database.execute("GRANT SELECT ON " + database.schema() + ".* TO " + role);
      }
      try {
        TestDatabase poor = TestDatabase.attach(database.jdbcUrl(), role, "");
        assertThatExceptionOfType(InboxException.class)
            .isThrownBy(() -> JdbcStore.of(poor.dataSource()).maintenance().open(Rig.SETTINGS))
            .satisfies(
                e -> {
                  assertThat(e.code()).isEqualTo(ErrorCode.DATABASE_PRIVILEGE);
                  assertThat(e)
                      .hasMessageContaining("Schema.ofDefaults().schema(\"")
                      .hasMessageContaining(".grants(\"");
                });
      } finally {
        if (kind == DatabaseKind.POSTGRES) {
          database.execute("DROP OWNED BY " + role);
          database.execute("DROP ROLE " + role);
        } else {
          database.execute("DROP USER " + role);
        }
      }
    }
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void d76_aSchemaThatDoesNotExistIsNamed(TestDatabase database) {
    assertThatExceptionOfType(ConfigurationException.class)
        .isThrownBy(
            () ->
                JdbcStore.of(database.dataSource())
                    .schema("nowhere")
                    .maintenance()
                    .open(Rig.SETTINGS))
        .satisfies(
            e ->
                assertThat(e.problems())
                    .singleElement()
                    .satisfies(
                        problem -> {
                          assertThat(problem.code()).isEqualTo(ErrorCode.DATABASE_PRIVILEGE);
                          assertThat(problem.text())
                              .contains("no schema nowhere", "GRANT")
                              .contains("Schema.ofDefaults().schema(\"nowhere\").applyTo(");
                        }));
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void d76_aSchemaThatDoesNotExistIsNamedBeforeAnythingIsMadeInIt(TestDatabase database) {
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(() -> Schema.ofDefaults().schema("nowhere").applyTo(database.dataSource()))
        .withMessageStartingWith("PH-DB-04: There is no schema nowhere,")
        .withMessageContaining("Create it")
        .withMessageContaining("Schema.ofDefaults().schema(\"nowhere\").applyTo(")
        .withMessageNotContaining(".grants(");
  }

  @Test
  void pg08_d93_anyDefaultIsolationWorks() {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES)) {
      Schema.migrate(database.dataSource());
      for (String level : List.of("TRANSACTION_REPEATABLE_READ", "TRANSACTION_SERIALIZABLE")) {
        HikariConfig config = new HikariConfig();
        config.setDataSource(database.dataSource());
        config.setTransactionIsolation(level);
        try (HikariDataSource pool = new HikariDataSource(config)) {
          Rig rig = Rig.on(database, pool);
          rig.accept(rig.message(level, rig.a));
          rig.accept(rig.message(level, rig.a, rig.b));
          assertThat(rig.complete(rig.open(rig.a, 10))).isEmpty();
          assertThat(rig.complete(rig.open(rig.b, 10))).isEmpty();
        }
      }
    }
  }

  @Test
  void dur11_hx01_aFileThatFlushesLateIsMadeToFlushAtCommit() {
    try (TestDatabase database = H2Database.file()) {
      database.execute("SET WRITE_DELAY 500");
      Schema.migrate(database.dataSource());
      assertThat(problems(database.dataSource())).isEmpty();
      assertThat(database.rows(WRITE_DELAY))
          .isNotEmpty()
          .allSatisfy(row -> assertThat(row.get("v")).isEqualTo("0"));
    }
  }

  /** H2's own default is half a second; what a killed process had committed in it is lost. */
  @Test
  void dur11_hx01_aFileThatIsOpenedWithoutAnyDelayInItsAddressFlushesAtCommit(
      @TempDir Path directory) {
    String url = "jdbc:h2:file:" + directory.resolve("db");
    TestDatabase database = TestDatabase.attach(url, "sa", "");
    for (int opened = 1; opened <= 2; opened++) {
      try (HikariDataSource pool = database.pool(12)) {
        Schema.migrate(pool);
        Rig rig = Rig.on(database, pool);
        assertThat(database.rows(WRITE_DELAY))
            .as("opened %d times", opened)
            .isNotEmpty()
            .allSatisfy(row -> assertThat(row.get("v")).isEqualTo("0"));
        rig.accept(rig.message("m-" + opened, rig.a));
      } // with its last connection the database is closed
    }
  }

  @Test
  void my12_aPacketThatAPayloadCannotPassIsRefused() {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.MARIADB)) {
      Schema.migrate(database.dataSource());
      assertThat(
              problems(database.dataSource(), new StoreSettings("shop", Rig.LANES, 4, 100_000_000)))
          .extracting(Problem::code)
          .containsExactly(ErrorCode.PACKET_TOO_SMALL);
    }
  }

  @Test
  void id03_my13_aServerThatIsNotStrictCutsNoId() {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.MARIADB)) {
      Schema.migrate(database.dataSource());
      TestDatabase loose = database.with("sessionVariables", "sql_mode=''");
      JdbcStore store = JdbcStore.of(loose.dataSource());
      assertThat(store.maintenance().open(Rig.SETTINGS))
          .singleElement()
          .satisfies(warning -> assertThat(warning).startsWith("PH-DB-14"));
      Rig rig = Rig.on(loose, loose.dataSource());
      assertThatExceptionOfType(StoreException.class)
          .isThrownBy(() -> rig.accept(rig.message("x".repeat(801), rig.a)))
          .satisfies(e -> assertThat(e.kind()).isEqualTo(StoreException.Kind.PERMANENT));
      assertThat(rig.count("message")).isZero();
    }
  }

  @Test
  void jd02_d77_aPoolThatIsTooSmallIsRefused() {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES)) {
      Schema.migrate(database.dataSource());
      assertThat(problems(database.pool(4)))
          .singleElement()
          .satisfies(problem -> assertThat(problem.code()).isEqualTo(ErrorCode.POOL_TOO_SMALL));
      assertThat(problems(database.pool(5))).isEmpty();
    }
  }

  @Test
  void withoutTransactionalHandlersNobodySpeaksOfThem() {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.H2)) {
      Schema.migrate(database.dataSource());
      Channel channel = Channel.named("orders").on(String.class).handle("a", text -> {}).build();
      assertThatExceptionOfType(ConfigurationException.class)
          .isThrownBy(() -> Inbox.on(JdbcStore.of(database.pool(3))).channel(channel).build())
          .withMessageContaining("3 (accepting, reading, settling) + 1 (beats) = 4.")
          .withMessageContaining("Enlarge the pool to 4, or take the beats")
          .withMessageNotContaining("transactional");
    }
  }

  @Test
  void thePoolMustHoldThreeTheBeatAndEverySlotOfATransactionalHandler() {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES)) {
      Schema.migrate(database.dataSource());
      Channel channel =
          Channel.named("orders")
              .on(String.class)
              .handleInTransaction("a", (text, tx) -> {}, HandlerOption.atMost(2))
              .handle("b", text -> {})
              .build();
      DataSource five = database.pool(5);
      assertThatExceptionOfType(ConfigurationException.class)
          .isThrownBy(() -> Inbox.on(JdbcStore.of(five)).channel(channel).build())
          .satisfies(
              e ->
                  assertThat(e.problems())
                      .singleElement()
                      .satisfies(
                          problem -> {
                            assertThat(problem.code()).isEqualTo(ErrorCode.POOL_TOO_SMALL);
                            assertThat(problem.text())
                                .startsWith(
                                    "The pool has 5 connections and the inbox may hold 6 at once: 3"
                                        + " (accepting, reading, settling) + 2 (slots of"
                                        + " transactional handlers) + 1 (beats) = 6.")
                                .contains("Enlarge the pool to 6", "beatsOn(…)");
                          }));

      assertThat(Inbox.on(JdbcStore.of(database.pool(6))).channel(channel).build()).isNotNull();
      JdbcStore apart = JdbcStore.of(five).beatsOn(database.dataSource());
      assertThat(Inbox.on(apart).channel(channel).build()).isNotNull();
      JdbcStore tooFew = JdbcStore.of(database.pool(4)).beatsOn(database.dataSource());
      assertThatExceptionOfType(ConfigurationException.class)
          .isThrownBy(() -> Inbox.on(tooFew).channel(channel).build())
          .withMessageContaining("hold 5 at once: 3")
          .withMessageContaining("transactional handlers) = 5.");
    }
  }

  @Test
  void d86_aDatabaseThatIsDownIsUnreachable() {
    var dataSource = new org.postgresql.ds.PGSimpleDataSource();
    dataSource.setURL("jdbc:postgresql://127.0.0.1:1/none");
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(() -> problems(dataSource))
        .satisfies(
            e -> {
              assertThat(e.code()).isEqualTo(ErrorCode.DATABASE_UNREACHABLE);
              assertThat(e.kind()).isEqualTo(StoreException.Kind.TRANSIENT);
              assertThat(e).hasMessageContaining("Check that it is running, that address, user");
            });
  }

  @Test
  void hx03_d90_aFileThatAnotherProcessHasOpenIsNamed() throws Exception {
    try (TestDatabase database = H2Database.file()) {
      Schema.migrate(database.dataSource());
      try (Connection open = database.dataSource().getConnection();
          JavaProcess other =
              JavaProcess.of(OpenMain.class).heap("64m").args(database.jdbcUrl()).start()) {
        assertThat(other.waitFor(Duration.ofMinutes(5))).as("%s", other.output()).isZero();
        assertThat(other.output()).contains("refused with PH-DB-06");
        assertThat(open.isValid(1)).isTrue();
      }
      assertThat(problems(database.dataSource())).isEmpty();
    }
  }

  /** A child that tries to open a store. */
  static final class OpenMain {
    public static void main(String[] args) {
      try {
        DataSource dataSource = TestDatabase.attach(args[0], "sa", "").dataSource();
        JdbcStore.of(dataSource).maintenance().open(Rig.SETTINGS);
        System.out.println("opened");
      } catch (InboxException e) {
        System.out.println("refused with " + e.code().text());
      }
    }
  }

  @ParameterizedTest
  @CsvSource({
    "POSTGRES, reWriteBatchedInserts, true",
    "POSTGRES, preferQueryMode, simple",
    "MARIADB, useAffectedRows, true",
    "MARIADB, useAffectedRows, false",
    "MARIADB, useBulkStmts, true"
  })
  void jd01_my06_driversThatCountRowsDifferentlyChangeNothing(
      DatabaseKind kind, String option, String value) {
    try (TestDatabase database = TestDatabases.open(kind)) {
      Schema.migrate(database.dataSource());
      TestDatabase odd = database.with(option, value);
      Rig rig = Rig.on(odd, odd.dataSource());
      List<NewMessage> batch =
          List.of(rig.message("m-1", rig.a), rig.message("m-2", rig.a), rig.message("m-1", rig.a));

      assertThat(rig.store.acceptor().accept(batch))
          .extracting(result -> result.getClass().getSimpleName())
          .containsExactly("Stored", "Stored", "Known");
      assertThat(rig.store.acceptor().accept(batch)).allMatch(AcceptResult.Known.class::isInstance);
      List<Delivery> open = rig.open(rig.a, 10);
      assertThat(open).hasSize(2);
      assertThat(rig.complete(open)).isEmpty();
      assertThat(rig.complete(open)).containsExactlyInAnyOrderElementsOf(open);
    }
  }

  @Test
  void my09_aServerThatRefusesWhatChangedMeanwhileChangesNothing() throws Exception {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.MARIADB)) {
      Schema.migrate(database.dataSource());
      TestDatabase strict = database.with("sessionVariables", "innodb_snapshot_isolation=1");
      Rig rig = Rig.on(strict, strict.dataSource());
      for (int round = 0; round < 10; round++) {
        String id = "m-" + round;
        List<CompletableFuture<AcceptResult>> all =
            IntStream.range(0, 6)
                .mapToObj(
                    i ->
                        CompletableFuture.supplyAsync(
                            () -> rig.accept(rig.message(id, rig.a, rig.b))))
                .toList();
        long stored = 0;
        for (CompletableFuture<AcceptResult> each : all) {
          stored += each.get(300, TimeUnit.SECONDS) instanceof AcceptResult.Stored ? 1 : 0;
        }
        assertThat(stored).isEqualTo(1);
      }
      assertThat(rig.complete(rig.open(rig.a, 100))).isEmpty();
      assertThat(rig.count("receipt")).isEqualTo(10);
    }
  }
}
