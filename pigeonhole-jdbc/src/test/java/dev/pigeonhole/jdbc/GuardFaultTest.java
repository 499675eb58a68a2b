package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.GuardBuilder;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.KeptFailureException;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.FaultProxy;
import dev.pigeonhole.support.LockWaits;
import dev.pigeonhole.support.StatementFault;
import dev.pigeonhole.support.TestDatabases;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The database fails under a guarded run. */
class GuardFaultTest {
  /** How long a busy server may need to notice that a client is gone: the most that is allowed. */
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  private FaultProxy proxy;
  private GuardRig direct;
  private GuardRig proxied;

  private void open(DatabaseKind kind) {
    open(kind, options -> options);
  }

  private void open(DatabaseKind kind, UnaryOperator<GuardBuilder> options) {
    direct = GuardRig.on(TestDatabases.open(kind));
    proxy = FaultProxy.to(TestDatabases.server(kind));
    proxied =
        direct.through(
            direct.database.through(proxy).dataSource(),
            builder -> options.apply(builder.waitAtMost(PATIENCE)));
    proxied.guard.run(GuardRig.key("warm"), tx -> 1); // its handler is registered
  }

  @AfterEach
  void close() {
    proxied.guard.close();
    proxy.close();
    direct.close();
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void dur02_aCommitInDoubtIsResolvedByInsertingAgain(DatabaseKind kind) throws SQLException {
    open(kind);
    for (StatementFault fault : StatementFault.values()) {
      String id = fault.name();
      int hits = proxy.hits();
      AtomicInteger runs = new AtomicInteger();
      proxy.atCommit(fault);

      Guarded<String> result =
          proxied.guard.answer(
              GuardRig.key(id),
              String.class,
              tx -> {
                GuardRig.write(tx, id);
                return "run " + runs.incrementAndGet();
              });

      assertThat(proxy.hits()).as(id).isGreaterThan(hits);
      assertThat(result).as(id).isEqualTo(new Guarded.Ran<>("run " + runs.get()));
      assertThat(direct.effects(id)).as(id).isOne();
      if (fault == StatementFault.ANSWER_LOST) {
        assertThat(runs).as("it had been committed").hasValue(1);
      }
      Guarded<String> repeat = direct.guard.answer(GuardRig.key(id), String.class, tx -> "never");
      assertThat(((Guarded.Repeat<String>) repeat).answer())
          .as("the caller was told what the database holds")
          .hasValue("run " + runs.get());
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void dur02_aKeptFailureWhoseCommitIsInDoubtReachesTheCallerAndIsKept(DatabaseKind kind) {
    open(kind, options -> options.keepFailures(ArithmeticException.class));
    for (StatementFault fault : StatementFault.values()) {
      String id = fault.name();
      int hits = proxy.hits();
      AtomicInteger runs = new AtomicInteger();
      proxy.atCommit(fault);

      assertThatThrownBy(
              () ->
                  proxied.guard.run(
                      GuardRig.key(id),
                      tx -> {
                        GuardRig.write(tx, id);
                        throw new ArithmeticException("run " + runs.incrementAndGet());
                      }))
          .as(id)
          .isInstanceOf(ArithmeticException.class);

      assertThat(proxy.hits()).as(id).isGreaterThan(hits);
      assertThat(direct.effects(id)).as(id).isZero();
      if (fault == StatementFault.ANSWER_LOST) {
        assertThat(runs).as("it had been committed").hasValue(1);
      }
      assertThatThrownBy(() -> direct.guard.run(GuardRig.key(id), tx -> "never"))
          .isInstanceOf(KeptFailureException.class)
          .hasMessageContaining("run " + runs.get());
    }
  }

  /** The receipt waits for the table, with its commit right behind it. */
  @Test
  void aRunThatMayStillBeUnderWayIsNotCalledBusy() throws Exception {
    open(DatabaseKind.POSTGRES, options -> options.waitAtMost(Duration.ofMillis(500)));
    CompletableFuture<Guarded<Integer>> run;
    try (Connection locking = direct.begin();
        Statement statement = locking.createStatement()) {
      statement.execute(
          "LOCK TABLE " + GuardRig.table(direct.database, "receipt") + " IN EXCLUSIVE MODE");
      run =
          CompletableFuture.supplyAsync(
              () -> {
                try {
                  return proxied.guard.run(
                      GuardRig.key("k-1"),
                      tx -> {
                        GuardRig.write(tx, "k-1");
                        return 1;
                      });
                } catch (SQLException e) {
                  throw new IllegalStateException(e);
                }
              });
      LockWaits.awaitOne(direct.database);
      proxy.cut();

      assertThatThrownBy(() -> run.get(300, TimeUnit.SECONDS))
          .cause()
          .isInstanceOf(StoreException.class)
          .satisfies(
              e -> assertThat(((StoreException) e).code()).isEqualTo(ErrorCode.COMMIT_UNKNOWN));
      locking.rollback();
    }
    Eventually.until(
        "the server has done it", Duration.ofMinutes(5), () -> direct.effects("k-1") == 1);
    assertThat(direct.guard.run(GuardRig.key("k-1"), tx -> 2)).isInstanceOf(Guarded.Repeat.class);
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void b40_aConnectionLostInTheBodyRunsTheWholeAgain(DatabaseKind kind) throws SQLException {
    open(kind);
    AtomicInteger runs = new AtomicInteger();

    Guarded<Integer> result =
        proxied.guard.run(
            GuardRig.key("k-1"),
            tx -> {
              GuardRig.write(tx, "k-1");
              if (runs.incrementAndGet() == 1) {
                proxy.cut();
                GuardRig.write(tx, "k-1"); // fails
              }
              return runs.get();
            });

    assertThat(result).isEqualTo(new Guarded.Ran<>(2));
    assertThat(direct.effects("k-1")).isOne();
  }

  /** As for a caller that was paused: the server has ended its session meanwhile. */
  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void b40_aGuardRunsAgainAfterTheServerEndsItsIdleSession(DatabaseKind kind) throws SQLException {
    open(kind);
    AtomicInteger runs = new AtomicInteger();

    Guarded<Integer> result =
        proxied.guard.run(
            GuardRig.key("k-1"),
            tx -> {
              GuardRig.write(tx, "k-1");
              if (runs.incrementAndGet() == 1) {
                Sessions.beSilent(direct.database, tx.connection(), Duration.ofMinutes(3));
                GuardRig.write(tx, "k-1"); // fails
              }
              return runs.get();
            });

    assertThat(result).isEqualTo(new Guarded.Ran<>(2));
    assertThat(direct.effects("k-1")).isOne();
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void t13_aConnectionThatIsLostEveryTimeEndsWithTheBodysOwnException(DatabaseKind kind) {
    open(kind);
    AtomicInteger runs = new AtomicInteger();
    assertThatThrownBy(
            () ->
                proxied.guard.run(
                    GuardRig.key("k-1"),
                    tx -> {
                      runs.incrementAndGet();
                      proxy.cut();
                      GuardRig.write(tx, "k-1");
                      return 1;
                    }))
        .isInstanceOf(SQLException.class);
    assertThat(runs).as("once, and three times again").hasValue(4);
    assertThat(direct.effects("k-1")).isZero();
  }

  /** Two transactions that wait for each other; the one of the guard is always the victim. */
  private final class Deadlock {
    private final CountDownLatch bodyBegan = new CountDownLatch(1);
    private final CountDownLatch otherHolds = new CountDownLatch(1);
    private final CompletableFuture<Void> other;

    Deadlock() {
      direct.database.execute("CREATE INDEX effect_id ON effect (id)");
      for (int i = 1; i <= 50; i++) {
        direct.database.execute("INSERT INTO effect (id, note) VALUES (?, 'old')", "row-" + i);
      }
      other = CompletableFuture.runAsync(this::rival);
    }

    /**
     * Never looks for a deadlock itself, and has changed much. PostgreSQL ends the transaction that
     * finds the deadlock, MariaDB the one that has changed least.
     */
    private void rival() {
      try (Connection connection = direct.begin();
          Statement statement = connection.createStatement()) {
        if (direct.database.kind() == DatabaseKind.POSTGRES) {
          statement.execute("SET LOCAL deadlock_timeout = '1h'");
        }
        bodyBegan.await();
        for (int i = 2; i <= 50; i++) {
          statement.executeUpdate("UPDATE effect SET note = 'other' WHERE id = 'row-" + i + "'");
        }
        otherHolds.countDown();
        statement.executeUpdate("UPDATE effect SET note = 'other' WHERE id = 'row-1'");
        connection.commit();
      } catch (SQLException | InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }

    /** Closes the circle: the other one already waits. */
    void runInto(Connection connection) throws SQLException, InterruptedException {
      update(connection, "row-1");
      bodyBegan.countDown();
      otherHolds.await();
      LockWaits.awaitOne(direct.database);
      update(connection, "row-2");
    }

    /**
     * No other transaction is left to wait for. On PostgreSQL it must not begin before the other
     * one has ended: a row of a transaction that was rolled back is free at once, also while
     * another one is still about to wake up for it.
     */
    void runBehind(Connection connection) throws SQLException {
      other.join();
      update(connection, "row-1");
      update(connection, "row-2");
    }

    private static void update(Connection connection, String id) throws SQLException {
      try (Statement statement = connection.createStatement()) {
        statement.executeUpdate("UPDATE effect SET note = 'ours' WHERE id = '" + id + "'");
      }
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void b40_theVictimOfADeadlockRunsTheWholeAgain(DatabaseKind kind) throws Exception {
    open(kind);
    Deadlock deadlock = new Deadlock();
    AtomicInteger runs = new AtomicInteger();

    Guarded<Integer> result =
        direct.guard.run(
            GuardRig.key("k-1"),
            tx -> {
              int run = runs.incrementAndGet();
              if (run == 1) {
                deadlock.runInto(tx.connection());
              } else {
                deadlock.runBehind(tx.connection());
              }
              return run;
            });

    deadlock.other.get();
    assertThat(result).isEqualTo(new Guarded.Ran<>(2));
    assertThat(direct.database.count("SELECT COUNT(*) FROM effect WHERE note = 'ours'"))
        .isEqualTo(2);
  }

  /** MariaDB has undone the caller's own writes, too: the body's exception would not say so. */
  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void b40_aDeadlockInTheTransactionOfACallerIsToldWhateverTheBodyMakesOfIt(DatabaseKind kind)
      throws Exception {
    open(kind);
    Deadlock deadlock = new Deadlock();
    try (Connection caller = direct.begin()) {
      GuardRig.write(caller, "before");
      assertThatThrownBy(
              () ->
                  direct.guard.run(
                      caller,
                      GuardRig.key("k-1"),
                      tx -> {
                        try {
                          deadlock.runInto(tx.connection());
                          return 1;
                        } catch (SQLException e) {
                          throw new IllegalStateException("the body's own", e);
                        }
                      }))
          .isInstanceOfSatisfying(
              StoreException.class,
              failed -> {
                assertThat(failed.deadlock()).isTrue();
                assertThat(failed.getSuppressed())
                    .hasOnlyElementsOfType(IllegalStateException.class);
              });
      caller.rollback();
    }
    deadlock.other.get();
    assertThat(direct.effects("before")).isZero();
    assertThat(direct.guard.run(GuardRig.key("k-1"), tx -> 2)).isEqualTo(new Guarded.Ran<>(2));
  }
}
