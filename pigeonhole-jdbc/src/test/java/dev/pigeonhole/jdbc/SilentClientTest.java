package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Guard;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.Pruning;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.store.Transactions;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.tck.Judge;
import dev.pigeonhole.testkit.CrashPlan;
import dev.pigeonhole.testkit.Latch;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A client that says nothing any more in the middle of a transaction, as that of a paused process
 * or a lost host: the server ends its session and frees what it holds.
 */
class SilentClientTest {
  private static final Duration PATIENCE = Duration.ofMinutes(3);

  private final Latch silent = new Latch();
  private final CountDownLatch release = new CountDownLatch(1);

  @AfterEach
  void forgetPlans() {
    silent.release();
    release.countDown();
    CrashPlan.clear();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void theRowsOfASettleAreFreeAgain(TestDatabase database) throws Exception {
    Rig rig = Rig.on(database);
    rig.accept(rig.message("m", rig.a));
    Delivery row = rig.only(rig.a);
    CrashPlan.at("settle.before-commit").blocking(silent);
    CompletableFuture<?> settling =
        CompletableFuture.runAsync(
            () ->
                rig.settle(List.of(row), new Outcome.RetryAfter(Duration.ZERO, Rig.failure("x"))));
    silent.awaitReached(); // it holds the row, and says nothing from now on
    Eventually.until(
        "the row to be free",
        PATIENCE,
        () -> rig.trySettle(List.of(row), new Outcome.Completed()).complete());
    silent.release();
    assertThatThrownBy(() -> settling.get(3, TimeUnit.MINUTES))
        .hasCauseInstanceOf(StoreException.class);
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void theIdsOfAnAcceptAreFreeAgain(TestDatabase database) throws Exception {
    Rig rig = Rig.on(database);
    rig.accept(rig.message("known", rig.a)); // so that accept needs more than one statement
    List<NewMessage> batch = List.of(rig.message("known", rig.a), rig.message("m", rig.a));
    int second = database.kind() == DatabaseKind.POSTGRES ? 2 : 1; // the first commits by itself
    CrashPlan.at("accept.before-commit").onHit(second).blocking(silent);
    CompletableFuture<List<AcceptResult>> accepting =
        CompletableFuture.supplyAsync(() -> rig.store.acceptor().accept(batch));
    silent.awaitReached();
    Eventually.until(
        "the rows to be free", PATIENCE, () -> lockable(database, rig.table("message")));
    silent.release();
    accepting.handle((any, failed) -> null).get(3, TimeUnit.MINUTES); // it may have tried again
    assertThat(rig.store.acceptor().accept(batch)).hasSize(2);
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void theRowOfATransactionalHandlerIsFreeAfterItsTimeLimit(TestDatabase database)
      throws Exception {
    Rig rig = Rig.on(database);
    database.execute("CREATE TABLE effect (text varchar(20))");
    rig.accept(rig.message("m", rig.a));
    Delivery row = rig.only(rig.a);
    CountDownLatch begun = new CountDownLatch(1);
    CompletableFuture<?> running =
        CompletableFuture.runAsync(
            () -> {
              try {
                rig.store.transactions().orElseThrow().run(List.of(row), silentHandler(begun));
              } catch (Transactions.WorkFailedException e) {
                throw new IllegalStateException(e);
              }
            });
    assertThat(begun.await(3, TimeUnit.MINUTES)).isTrue();
    Eventually.until(
        "the row to be free", PATIENCE, () -> lockable(database, rig.table("delivery")));
    release.countDown();
    assertThatThrownBy(() -> running.get(3, TimeUnit.MINUTES)).isNotNull();
    assertThat(database.count("SELECT count(*) FROM effect")).isZero();
    assertThat(rig.complete(List.of(row))).isEmpty();
  }

  private Transactions.Work silentHandler(CountDownLatch begun) {
    return new Transactions.Work() {
      @Override
      public void run(Delivery delivery, Connection connection) throws Exception {
        try (Statement statement = connection.createStatement()) {
          statement.execute("INSERT INTO effect VALUES ('x')");
        }
        begun.countDown();
        release.await();
      }

      @Override
      public Optional<Duration> timeLimit() {
        return Optional.of(Duration.ofMillis(100));
      }
    };
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void theKeyOfAGuardIsFreeAfterItsTimeLimit(TestDatabase database) throws Exception {
    InboxTables.in(database);
    HikariDataSource pool = database.pool(6);
    try (Guard guard =
        Guard.on(JdbcStore.of(pool))
            .timeLimit(Duration.ofMillis(100))
            .keepReceiptsForEver()
            .build()) {
      CrashPlan.at("guard.work-done").blocking(silent);
      CompletableFuture<?> running =
          CompletableFuture.runAsync(() -> guard.run(GuardRig.key("k"), tx -> 1));
      silent.awaitReached();

      Eventually.until(
          "the key to be free",
          PATIENCE,
          () -> guard.run(GuardRig.key("k"), tx -> 2) instanceof Guarded.Ran);
      silent.release();
      running.handle((any, failed) -> null).get(3, TimeUnit.MINUTES); // a repeat, or a failure
    }
  }

  /** Only while the listener runs the client may be silent for longer. */
  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void theMessagesOfAStepOfRetentionAreFreeAgainBeforeItsListenerIsCalled(TestDatabase database)
      throws Exception {
    Rig rig = Rig.on(database);
    AtomicInteger called = new AtomicInteger();
    CountDownLatch judging = new CountDownLatch(1);
    Judge pruning =
        new Judge(
            message -> {
              judging.countDown();
              await(release);
              return Pruning.Fate.DELETE;
            },
            messages -> called.incrementAndGet());
    CompletableFuture<?> step = prune(rig, pruning);
    await(judging);
    theMessagesAreFreeAgain(rig);
    release.countDown();
    assertFailedAndDeletedNothing(rig, step);
    assertThat(called).hasValue(0);
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void theMessagesOfAStepOfRetentionAreFreeAgainAfterItsListenerHasReturned(TestDatabase database)
      throws Exception {
    Rig rig = Rig.on(database);
    AtomicInteger called = new AtomicInteger();
    CrashPlan.at("prune.before-commit").blocking(silent);
    Judge pruning = new Judge(message -> Pruning.Fate.DELETE, messages -> called.incrementAndGet());
    CompletableFuture<?> step = prune(rig, pruning);
    silent.awaitReached();
    theMessagesAreFreeAgain(rig);
    silent.release();
    assertFailedAndDeletedNothing(rig, step);
    assertThat(called).hasValue(1);
  }

  private static CompletableFuture<?> prune(Rig rig, Pruning pruning) {
    rig.accept(rig.message("m", rig.a));
    assertThat(rig.complete(rig.open(rig.a, 10))).isEmpty();
    return CompletableFuture.runAsync(() -> rig.store.maintenance().prune(pruning, 100));
  }

  private static void theMessagesAreFreeAgain(Rig rig) {
    Eventually.until(
        "the rows to be free", PATIENCE, () -> lockable(rig.database, rig.table("message")));
  }

  private static void assertFailedAndDeletedNothing(Rig rig, CompletableFuture<?> step) {
    assertThatThrownBy(() -> step.get(3, TimeUnit.MINUTES))
        .hasCauseInstanceOf(StoreException.class);
    assertThat(rig.count("message")).isEqualTo(1);
  }

  private static void await(CountDownLatch latch) {
    try {
      assertThat(latch.await(4, TimeUnit.MINUTES)).isTrue();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Connections go back to the pool with the limits that they came with. */
  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void noLimitIsLeftBehind(TestDatabase database) throws Exception {
    InboxTables.in(database);
    HikariDataSource pool = database.pool(4);
    Rig rig = Rig.on(database, pool);
    Set<String> before = limits(pool, database.kind());
    assertThat(before).hasSize(1);
    rig.accept(rig.message("m", rig.a));
    rig.settle(rig.open(rig.a, 10), new Outcome.LaterUncounted(Duration.ZERO));
    rig.store.transactions().orElseThrow().run(rig.open(rig.a, 10), (delivery, connection) -> {});
    Judge archiving = new Judge(message -> Pruning.Fate.DELETE, messages -> {});
    assertThat(rig.store.maintenance().prune(archiving, 100).deleted()).isEqualTo(1);
    assertThat(limits(pool, database.kind())).isEqualTo(before);
  }

  private static Set<String> limits(HikariDataSource pool, DatabaseKind kind) throws SQLException {
    Set<String> limits = new HashSet<>();
    List<Connection> all = new ArrayList<>();
    try {
      for (int i = 0; i < 4; i++) {
        Connection connection = pool.getConnection();
        all.add(connection);
        limits.add(limit(connection, kind));
      }
      return limits;
    } finally {
      for (Connection each : all) {
        each.close();
      }
    }
  }

  private static String limit(Connection connection, DatabaseKind kind) throws SQLException {
    String ask =
        kind == DatabaseKind.POSTGRES
            ? "SHOW idle_in_transaction_session_timeout"
            : "SELECT CONCAT(@@tx_isolation, @@idle_transaction_timeout)";
    try (Statement statement = connection.createStatement();
        ResultSet row = statement.executeQuery(ask)) {
      row.next();
      return row.getString(1);
    }
  }

  private static boolean lockable(TestDatabase database, String table) throws SQLException {
    try (Connection connection = database.dataSource().getConnection();
        Statement statement = connection.createStatement()) {
      connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
      connection.setAutoCommit(false);
      statement.executeQuery("SELECT seq FROM " + table + " FOR UPDATE NOWAIT").close();
      connection.rollback();
      return true;
    } catch (SQLException e) {
      return false;
    }
  }
}
