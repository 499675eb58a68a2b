package dev.pigeonhole.proofs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Inbox;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.DuplicateRows;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.JavaProcess;
import dev.pigeonhole.support.Ledger;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A process is paused in the middle of a transaction that holds locks. Another handler, on a node
 * that runs beside it and then on one that takes its lanes over, continues while the locks are
 * held. What is locked is done as soon as the database has ended the session of the paused process,
 * which is resumed only after that.
 */
class PausedProcessTest {
  /** All that lie within a transaction, but for those of guards and of migrations. */
  private static final List<String> POINTS =
      List.of(
          "failure.before-commit", // the one of the small size
          "accept.in-batch",
          "accept.before-commit",
          "run.before-handler",
          "run.after-handler",
          "settle.before-commit",
          "poison.before-commit",
          "mark.before-commit",
          "operation.before-commit",
          "retry.before-commit",
          "prune.before-commit",
          "join.before-commit",
          "beat.before-commit",
          "take.before-commit",
          "declare-dead.before-commit",
          "tx.locked",
          "tx.work-done",
          "tx.before-commit");

  /** Before the first statement of a transaction, or after the last one: nothing is locked. */
  private static final Set<String> OUTSIDE =
      Set.of(
          "accept.before-insert",
          "accept.after-commit",
          "settle.before",
          "settle.after-commit",
          "mark.after-commit",
          "nodes.before-beat",
          "nodes.after-beat",
          "nodes.before-declare-dead",
          "nodes.after-declare-dead",
          "nodes.before-take",
          "tx.after-commit",
          "guard.after-commit");

  private static final String JOIN = "join.before-commit";
  private static final int WARM_UP = Size.of(500, 6_000);
  private static final int OTHERS = Size.of(500, 6_000);

  /** So many looks at the database take long enough for something to be settled between them. */
  private static final int LOOKS = 5;

  private static final Duration BETWEEN_LOOKS = Duration.ofMillis(200);

  /** How long a rate is measured, unless the server ends the session before. */
  private static final Duration LONG_ENOUGH = Duration.ofSeconds(Size.of(2, 4));

  private static final Duration LIMIT = Duration.ofMinutes(4);

  /**
   * What one look at the database has shown.
   *
   * @param nanos when
   * @param takenOver whether the node that takes over was the only one alive
   */
  private record Look(long nanos, long settled, boolean takenOver) {}

  @Test
  void everyPointInTheSourcesIsTriedOrLiesOutsideOfTransactions() throws Exception {
    List<String> all = new ArrayList<>(POINTS);
    all.addAll(OUTSIDE);
    all.add(PausedMigrationTest.POINT);
    PausedGuardTest.POINTS.stream().filter(each -> !each.startsWith("test.")).forEach(all::add);
    assertThat(all).doesNotHaveDuplicates();
    assertThat(new TreeSet<>(all)).isEqualTo(CrashPointTest.inSources());
  }

  static Stream<Arguments> places() {
    return POINTS.stream()
        .limit(Size.of(1, POINTS.size()))
        .flatMap(
            point ->
                Size.databases(DatabaseKind.MARIADB).stream()
                    .map(kind -> Arguments.of(kind, point)));
  }

  @ParameterizedTest
  @MethodSource("places")
  void otherHandlersContinueWhileAProcessIsPausedInATransaction(
      DatabaseKind kind, String point, @TempDir Path ledgers) throws Exception {
    try (TestDatabase database = TestDatabases.open(kind);
        Ledger ledger = Ledger.open(Life.ledgerOf(ledgers, 3));
        SteadyLoad load = new SteadyLoad(database)) {
      Schema.migrate(database.dataSource());
      Tables.createEffects(database);
      dieSoThatOthersHaveToMark(database, ledgers);
      Inbox beside = beside(database, load);
      Inbox successor =
          load.handledBy(
                  new Life(database, ledgers, ledger, 3).inbox(JdbcStore.of(database.pool(10))))
              .build();
      OwnLogin login = OwnLogin.on(database);
      Path end = ledgers.resolve("resumed");
      RunningInbox running = beside.start();
      try {
        load.startWith(beside);
        settle(load, WARM_UP);
        double before = rate(lookFor(LONG_ENOUGH, load));
        load.rest();
        List<Look> looks;
        try (JavaProcess paused =
            StandStill.atAny(point, end, life(login.forProcess(), ledgers, 2)).start()) {
          Set<String> held = StandStill.stopInTransaction(paused, end, login, LIMIT);
          load.resume();
          RunningInbox former = running;
          CompletableFuture<RunningInbox> taking =
              CompletableFuture.supplyAsync(
                  () -> {
                    RunningInbox started = successor.start();
                    load.continueWith(successor);
                    former.close();
                    return started;
                  });
          looks = lookWhileHeld(database, load, login, held);
          long settled = load.settled();
          running = taking.join();
          settle(load, OTHERS);
          if (looks.size() >= LOOKS) {
            assertThat(settledIn(looks)).as("settled while %s was held", held).isPositive();
          }
          load.rest();
          Eventually.until(
              "what was locked to be done", LIMIT, () -> Tables.open(database).isEmpty());
          resumeAndKill(paused, point, end);
          assertThat(load.receipts()).isEqualTo(load.accepted()).isGreaterThan(settled);
        }
        Eventually.until("the rest to be done", LIMIT, () -> Tables.open(database).isEmpty());
        load.resume();
        double after = rate(lookFor(LONG_ENOUGH, load));
        load.close();
        report(kind, point, before, after, looks);
        Eventually.until("the load to be done", LIMIT, () -> Tables.open(database).isEmpty());
        Eventually.until(Duration.ofMinutes(3), running::healthy);
      } finally {
        running.close();
      }
      assertNothingIsLostOrDoubled(database, load, ledgers);
    }
  }

  /** What it was about to commit is refused, and it finds out that others have taken over. */
  private static void resumeAndKill(JavaProcess paused, String point, Path end) throws IOException {
    StandStill.resume(paused, end);
    if (point.equals(JOIN)) {
      assertThat(paused.waitFor(LIMIT)).as("%s", paused.output()).isEqualTo(1);
    } else {
      paused.awaitLine(line -> line.contains("declared dead"), LIMIT);
    }
    paused.kill9();
  }

  private static void assertNothingIsLostOrDoubled(
      TestDatabase database, SteadyLoad load, Path ledgers) {
    assertThat(
            database.count(
                "SELECT count(*) FROM (SELECT handler, message FROM effect"
                    + " GROUP BY handler, message HAVING count(*) > 1) AS twice"))
        .as("effects that are there twice")
        .isZero();
    assertThat(DuplicateRows.in(database)).isEmpty();
    assertThat(Tables.count(database, "receipt") + Tables.count(database, "poison"))
        .as("everything that was accepted has been done")
        .isGreaterThanOrEqualTo(load.accepted() + accepted(ledgers));
  }

  /** A node that takes nothing over, so that the paused process finds what it has to do. */
  private static Inbox beside(TestDatabase database, SteadyLoad load) {
    return load.handledBy(
            Inbox.on(JdbcStore.of(database.pool(10)))
                .named("life")
                .lanes(8)
                .concurrency(2)
                .polling(Duration.ofMillis(20), Duration.ofMillis(100))
                .beat(Duration.ofMillis(200))
                .deadAfter(Duration.ofDays(365))
                .keepPayload(Duration.ofSeconds(1)))
        .build();
  }

  private static List<Look> lookWhileHeld(
      TestDatabase database, SteadyLoad load, OwnLogin login, Set<String> held) {
    List<Look> looks = new ArrayList<>();
    long takeover = 0;
    while (true) {
      long now = System.nanoTime();
      Look look = new Look(now, load.settled(), living(database) == 1);
      // Asked last: what was settled before was settled while they were held.
      if (Collections.disjoint(login.idleWithLocks(), held)) {
        return looks;
      }
      looks.add(look);
      takeover = look.takenOver() && takeover == 0 ? now : takeover;
      if (takeover != 0 && now - takeover > LONG_ENOUGH.toNanos()) {
        return looks;
      }
      LockSupport.parkNanos(BETWEEN_LOOKS.toNanos());
    }
  }

  /** How many nodes are alive, as the database has it. */
  private static long living(TestDatabase database) {
    return database.count(
        "SELECT count(*) FROM "
            + Tables.name(database, "node")
            + " WHERE state IN ('LIVE', 'STOPPING')");
  }

  private static void settle(SteadyLoad load, int more) {
    long wanted = load.settled() + more;
    Eventually.until("the other handler to continue", LIMIT, () -> load.settled() >= wanted);
  }

  private static List<Look> lookFor(Duration time, SteadyLoad load) {
    List<Look> looks = new ArrayList<>();
    do {
      LockSupport.parkNanos(BETWEEN_LOOKS.toNanos());
      looks.add(new Look(System.nanoTime(), load.settled(), false));
    } while (looks.size() < LOOKS || nanos(looks) < time.toNanos());
    return looks;
  }

  private static long settledIn(List<Look> looks) {
    return looks.isEmpty() ? 0 : looks.get(looks.size() - 1).settled() - looks.get(0).settled();
  }

  private static double rate(List<Look> looks) {
    return settledIn(looks) * 1e9 / nanos(looks);
  }

  private static long nanos(List<Look> looks) {
    return looks.get(looks.size() - 1).nanos() - looks.get(0).nanos();
  }

  /** A row of the table: rates in settlements a second, and their ratio to the rate before. */
  private static void report(
      DatabaseKind kind, String point, double before, double after, List<Look> looks) {
    System.out.printf(
        Locale.ROOT,
        "| %s | `%s` | %.0f | %.0f | %s | %s |%n",
        kind,
        point,
        before,
        after,
        columns(before, looks),
        columns(before, looks.stream().filter(Look::takenOver).toList()));
  }

  private static String columns(double before, List<Look> looks) {
    if (looks.size() < 2) {
      return "– | – | –";
    }
    double rate = rate(looks);
    return String.format(
        Locale.ROOT, "%.1f s | %.0f | %.2f", nanos(looks) / 1e9, rate, rate / before);
  }

  private static long accepted(Path ledgers) {
    return IntStream.rangeClosed(1, 2)
        .mapToObj(life -> Ledger.read(Life.ledgerOf(ledgers, life)))
        .flatMap(List::stream)
        .filter(line -> line.startsWith("ANSWER ") && line.endsWith(" Accepted"))
        .mapToLong(line -> Autopsy.handlersOf(line.split(" ")[1]).size())
        .sum();
  }

  private static void dieSoThatOthersHaveToMark(TestDatabase database, Path ledgers) {
    try (JavaProcess process =
        life(database, ledgers, 1)
            .systemProperty("pigeonhole.crash", "run.after-handler:halt:5")
            .start()) {
      process.waitFor(LIMIT);
    }
  }

  private static JavaProcess.Builder life(TestDatabase database, Path ledgers, int life) {
    return JavaProcess.of(Life.class)
        .heap("128m")
        .args(database.jdbcUrl(), database.user(), database.password(), ledgers, life);
  }
}
