package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.store.Ahead;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.Guards;
import dev.pigeonhole.store.Guards.Verdict;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.Range;
import dev.pigeonhole.store.StoreSettings;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.StatementCounter;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;

/**
 * Plans that the server cached while the tables were tiny must not scan them once they are huge.
 * The server's own counters tell how many rows it really touched.
 */
class PlanTest {
  private static final int HUGE = Size.of(50_000, 300_000);

  /** A warm-up that makes the server cache a generic plan: five executions and some more. */
  private static final int WARM = 15;

  @Test
  void clm14_whatPostgresPlannedForTinyTablesStaysFastOnHugeOnes() {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES);
        HikariDataSource one = oneConnection(database, "TRANSACTION_READ_COMMITTED")) {
      Schema.migrate(database.dataSource());
      database.execute("CREATE TABLE mark (n integer)");
      Rig rig = rig(database, one);
      for (String table :
          List.of("message", "delivery", "later", "receipt", "answer", "poison", "failure")) {
        database.execute("ALTER TABLE " + rig.table(table) + " SET (autovacuum_enabled = off)");
      }
      rig.accept(rig.message("tiny", 1L, "x", rig.a, rig.b));
      for (String table : List.of("message", "delivery", "later", "receipt", "answer", "poison")) {
        database.execute("VACUUM (ANALYZE) " + rig.table(table));
      }
      for (int i = 0; i < WARM; i++) {
        everything(rig, one, "warm-" + i);
      }
      grow(rig);
      // Two runs: the first may still plan anew, the second uses what is cached.
      everything(rig, one, "once");
      Map<String, Long> before = touched(database, one);
      everything(rig, one, "huge");
      Map<String, Long> after = touched(database, one);

      before.forEach(
          (counter, count) ->
              assertThat(after.get(counter) - count)
                  .as("rows touched by %s", counter)
                  .isLessThan(20_000));
    }
  }

  /**
   * What is switched off costs so much that a server before version 18 would compile a query for
   * one row. The servers of the tests cannot compile, so this looks at what is sent.
   */
  @Test
  void whatIsKeptToItsIndexesIsNotCompiled() {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES);
        HikariDataSource one = oneConnection(database, "TRANSACTION_READ_COMMITTED")) {
      Schema.migrate(database.dataSource());
      JdbcStore.of(database.dataSource())
          .maintenance()
          .open(new StoreSettings("shop", Rig.LANES, 4, 1 << 20));
      StatementCounter counter = StatementCounter.on(database, unpooled(one));
      everything(Rig.on(database, counter.dataSource()), one, "once");

      assertThat(counter.statements())
          .filteredOn(each -> each.contains("set_config('enable_hashjoin', 'off', true)"))
          .hasSizeGreaterThan(5)
          .allSatisfy(each -> assertThat(each).contains("set_config('jit', 'off', true)"));
    }
  }

  @Test
  void mariaDbReadsAndRemovesByIndexOnHugeTables() {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.MARIADB);
        HikariDataSource one = oneConnection(database, "TRANSACTION_READ_COMMITTED")) {
      Schema.migrate(database.dataSource());
      Rig rig = rig(database, one);
      grow(rig);
      everything(rig, one, "once");
      Map<String, Long> before = handlerReads(database);
      everything(rig, one, "huge");
      Map<String, Long> after = handlerReads(database);

      before.forEach(
          (counter, count) ->
              assertThat(after.get(counter) - count).as(counter).isLessThan(20_000));
    }
  }

  private static Rig rig(TestDatabase database, HikariDataSource one) {
    JdbcStore.of(database.dataSource())
        .maintenance()
        .open(new StoreSettings("shop", Rig.LANES, 4, 1 << 20));
    // All statements share one connection, so that they meet their cached plans again.
    return Rig.on(database, unpooled(one));
  }

  /** Hides the size of the pool. */
  private static javax.sql.DataSource unpooled(HikariDataSource pool) {
    return (javax.sql.DataSource)
        java.lang.reflect.Proxy.newProxyInstance(
            PlanTest.class.getClassLoader(),
            new Class<?>[] {javax.sql.DataSource.class},
            (self, method, args) -> method.invoke(pool, args));
  }

  private static HikariDataSource oneConnection(TestDatabase database, String isolation) {
    HikariConfig config = new HikariConfig();
    config.setDataSource(database.dataSource());
    config.setMaximumPoolSize(1);
    config.setTransactionIsolation(isolation);
    return new HikariDataSource(config);
  }

  /**
   * A life of every kind: new, repeat, new handler, read, order, mark, fail, poison, complete, run
   * now.
   */
  private static void everything(Rig rig, DataSource one, String name) {
    List<NewMessage> batch = new ArrayList<>();
    for (int i = 0; i < 50; i++) {
      batch.add(rig.message(name + "/" + i, 1000L + i, "x", rig.a));
    }
    rig.store.acceptor().accept(batch);
    rig.store.acceptor().accept(batch);
    List<NewMessage> more = new ArrayList<>();
    for (int i = 0; i < 50; i++) {
      more.add(rig.message(name + "/" + i, 1000L + i, "x", rig.a, rig.b));
    }
    long first =
        rig.store.acceptor().accept(more).stream()
            .mapToLong(each -> ((dev.pigeonhole.store.AcceptResult.Known) each).seq())
            .min()
            .orElseThrow();
    List<Delivery> rows =
        rig.store
            .deliveries()
            .fresh(
                Rig.cells(rig.a).stream().map(cell -> Range.after(cell, first - 1, 100)).toList());
    assertThat(rows).hasSize(50);
    assertThat(rig.store.deliveries().waiting(Rig.cells(rig.a), 500)).isNotEmpty();
    rig.store.deliveries().load(rows.stream().map(Delivery::seq).toList());
    rig.store.deliveries().mark(rows, 7, false);
    assertThat(rig.store.acceptor().accept(placed(rig, name))).hasSize(10);
    assertThat(
            rig.complete(
                rig.store
                    .deliveries()
                    .placed(
                        Rig.cells(rig.a).stream()
                            .map(cell -> new dev.pigeonhole.store.CellLimit(cell, 10))
                            .toList())))
        .isEmpty();
    rig.settle(rows.subList(0, 10), new Outcome.RetryAfter(Duration.ZERO, Rig.failure("x")));
    rig.settle(rows.subList(10, 20), new Outcome.Poisoned(Rig.failure("x"), true));
    rig.settle(rows.subList(20, 25), new Outcome.Blocked());
    rig.complete(rows.subList(25, 50));
    List<Delivery> late =
        rig.store
            .deliveries()
            .due(
                Rig.cells(rig.a).stream()
                    .map(c -> dev.pigeonhole.store.DueRange.fromStart(c, 100))
                    .toList())
            .rows();
    assertThat(late).isNotEmpty();
    rig.store.deliveries().lastFailures(late);
    rig.complete(late);
    rig.store
        .deliveries()
        .ahead(
            rows.stream()
                .limit(5)
                .map(each -> new Ahead(each.cell(), each.keyHash(), 2000L))
                .toList());
    List<Delivery> others =
        rig.store
            .deliveries()
            .fresh(
                Rig.cells(rig.b).stream().map(cell -> Range.after(cell, first - 1, 100)).toList());
    try {
      for (Delivery alone : others.subList(0, 10)) {
        rig.store.transactions().orElseThrow().run(List.of(alone), (row, connection) -> {});
      }
      rig.store
          .transactions()
          .orElseThrow()
          .run(others.subList(10, others.size()), (row, connection) -> {});
    } catch (dev.pigeonhole.store.Transactions.WorkFailedException e) {
      throw new AssertionError(e);
    }
    for (Delivery each : rows.subList(10, 20)) {
      String id = rig.store.deliveries().load(List.of(each.seq())).get(each.seq()).id();
      assertThat(rig.store.admin().retry("test", id, rig.a.family(), "ada", "x")).isTrue();
    }
    rig.complete(
        rig.store
            .deliveries()
            .due(
                Rig.cells(rig.a).stream()
                    .map(c -> dev.pigeonhole.store.DueRange.fromStart(c, 100))
                    .toList())
            .rows());
    guarded(rig, one, name);
  }

  /**
   * Runs of guards: of what is new, known, delivered, open and open for later, each of both kinds.
   */
  private static void guarded(Rig rig, DataSource one, String name) {
    for (int i = 0; i < 5; i++) {
      NewMessage fresh = rig.message(name + "/fresh/" + i, rig.a, rig.b);
      NewMessage late = rig.placed(name + "/late/" + i, 1 + i, rig.a, rig.b);
      rig.store.acceptor().accept(List.of(fresh, late));
      for (NewMessage each : List.of(rig.message(name + "/now/" + i), fresh, late)) {
        for (boolean again : new boolean[] {false, true}) {
          assertThat(guarded(rig, request(each, rig.a), null))
              .isInstanceOf(again ? Verdict.Known.class : Verdict.Ran.class);
          assertThat(guarded(rig, request(each, rig.b), one))
              .isInstanceOf(again ? Verdict.Known.class : Verdict.Ran.class);
        }
      }
    }
  }

  private static Guards.Request request(NewMessage message, HandlerId handler) {
    return new Guards.Request(
        message, handler, null, Duration.ofSeconds(5), Duration.ofSeconds(30), Guards.FOR_EVER);
  }

  /**
   * @param callers null for a transaction of the guard's own
   */
  private static Verdict guarded(Rig rig, Guards.Request request, DataSource callers) {
    Guards guards = rig.store.guards().orElseThrow();
    Guards.Work work =
        (connection, handler) -> new Guards.Answer(new byte[] {1}, "x", Duration.ofDays(1));
    try {
      if (callers == null) {
        return guards.run(request, work);
      }
      try (Connection connection = callers.getConnection()) {
        connection.setAutoCommit(false);
        Verdict verdict = guards.join(connection, request, work);
        connection.commit();
        return verdict;
      }
    } catch (Guards.WorkFailedException | SQLException e) {
      throw new AssertionError(e);
    }
  }

  /** Messages that go before everything else. */
  private static List<NewMessage> placed(Rig rig, String name) {
    List<NewMessage> batch = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      batch.add(rig.placed(name + "/placed/" + i, 1 + i, rig.a));
    }
    return batch;
  }

  /** Fills the tables behind the statistics' back. */
  private static void grow(Rig rig) {
    boolean postgres = rig.database.kind() == DatabaseKind.POSTGRES;
    String numbers =
        postgres
            ? "generate_series(1, " + HUGE + ") AS n(n)"
            : "(SELECT seq AS n FROM seq_1_to_" + HUGE + ") n";
    String hash =
        postgres
            ? "'\\x00112233445566778899aabbccddeeff'::bytea"
            : "X'00112233445566778899aabbccddeeff'";
    String empty = postgres ? "''::bytea" : "''";
    String now = postgres ? "now()" : "UTC_TIMESTAMP(6)";
    long base = 1_000_000_000L;
    rig.database.execute(
        "INSERT INTO %s (seq, token, received_at, lane, source, id, type, channel, transport, content_type, content_hash, headers) SELECT %d + n, 0, %s, n %% 4, 'grown', CONCAT('g', n), 't', 'c', 'l', 'x', %s, %s FROM %s"
            .formatted(rig.table("message"), base, now, hash, empty, numbers));
    for (String table : List.of("delivery", "later")) {
      boolean later = table.equals("later");
      rig.database.execute(
          "INSERT INTO %s (lane, handler, seq, key_id, key_hash%s) SELECT n %% 4, %d, %d + n, %d, n + 5000%s FROM %s"
              .formatted(
                  rig.table(table),
                  later ? ", due_at, reason" : "",
                  rig.a.family(),
                  base + (later ? HUGE : 0),
                  rig.a.keyId(),
                  later
                      ? ", "
                          + (postgres
                              ? "now() + interval '1 day'"
                              : "UTC_TIMESTAMP(6) + INTERVAL 1 DAY")
                          + ", 'x'"
                      : "",
                  numbers));
    }
    rig.database.execute(
        "INSERT INTO %s (lane, handler, seq, key_id, due_at, place, reason) SELECT n %% 4, %d, %d + n, %d, %s, 1000000 + n, 'priority' FROM %s"
            .formatted(
                rig.table("later"), rig.a.family(), base + 3 * HUGE, rig.a.keyId(), now, numbers));
    rig.database.execute(
        "INSERT INTO %s (seq, handler, key_id, completed_at, failures, crashes, releases) SELECT %d + n, %d, %d, %s, 0, 0, 0 FROM %s"
            .formatted(
                rig.table("receipt"),
                base + 2 * HUGE,
                rig.a.family(),
                rig.a.keyId(),
                now,
                numbers));
    rig.database.execute(
        "INSERT INTO %s (seq, handler, content_type) SELECT %d + n, %d, 'x' FROM %s"
            .formatted(rig.table("answer"), base + 2 * HUGE, rig.a.family(), numbers));
    // What is accepted from now on stands behind everything else.
    rig.database.execute("ALTER SEQUENCE " + rig.table("message_seq") + " RESTART WITH 2000000000");
  }

  /**
   * A session publishes everything it has counted in one go, and at most once a second. So the
   * session under test scans a table that nobody else scans: once that scan is told, so is all that
   * came before it.
   */
  private static Map<String, Long> touched(TestDatabase database, DataSource one) {
    long marked = mark(one);
    Eventually.until(
        "the server to publish its counters",
        Duration.ofMinutes(5),
        () -> {
          mark(one); // a session publishes when it ends a transaction
          return database.count(
                  "SELECT coalesce(sum(seq_scan), 0) FROM pg_stat_user_tables"
                      + " WHERE schemaname = current_schema() AND relname = 'mark'")
              >= marked;
        });
    Map<String, Long> touched = new TreeMap<>();
    for (Map<String, Object> row :
        database.rows(
            "SELECT relname, coalesce(seq_tup_read, 0) AS s, coalesce(idx_tup_fetch, 0) AS i FROM pg_stat_user_tables WHERE schemaname = current_schema() AND relname <> 'mark'")) {
      touched.put(row.get("relname") + " by scans", ((Number) row.get("s")).longValue());
      touched.put(row.get("relname") + " by index", ((Number) row.get("i")).longValue());
    }
    return touched;
  }

  /** Scans the table of marks, and answers how many scans there have been. */
  private static long mark(DataSource one) {
    try (Connection connection = one.getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute("INSERT INTO mark VALUES (1)");
      try (ResultSet rows = statement.executeQuery("SELECT count(*) FROM mark")) {
        rows.next();
        return rows.getLong(1);
      }
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  private static Map<String, Long> handlerReads(TestDatabase database) {
    Map<String, Long> reads = new TreeMap<>();
    for (Map<String, Object> row : database.rows("SHOW GLOBAL STATUS LIKE 'Innodb_rows_read'")) {
      reads.put(row.get("variable_name").toString(), Long.valueOf(row.get("value").toString()));
    }
    return reads;
  }
}
