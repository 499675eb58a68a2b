package dev.pigeonhole.proofs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Guard;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.DuplicateRows;
import dev.pigeonhole.support.FaultProxy;
import dev.pigeonhole.support.JavaProcess;
import dev.pigeonhole.support.Ledger;
import dev.pigeonhole.support.StatementFault;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Kills the caller of a guard at every point of a run, again and again.
 *
 * <p>What each life leaves is looked at before anything else happens: the one key it had no answer
 * for, whether its body ran, and whether its effect is there, as the point says. Then the key comes
 * again, to another process. Commit the receipt before the body, and the effect of a life that
 * ended in between never comes; commit the body's writes before the receipt, and it comes twice;
 * keep the answer in another commit, and whoever comes again is told something else.
 */
@Execution(ExecutionMode.CONCURRENT)
class GuardCrashTest {
  static final Set<String> POINTS =
      Set.of("guard.entered", "guard.work-done", "guard.before-commit", "guard.after-commit");

  private static final int KILLED = 137;
  private static final Duration LIMIT = Duration.ofMinutes(5);

  /** Where a life ends, and what must be there then. */
  enum End {
    ENTERED("guard.entered", null, false, Effect.NONE),
    BODY_DONE("guard.work-done", null, true, Effect.NONE),
    BEFORE_COMMIT("guard.before-commit", null, true, Effect.NONE),
    /** The database has committed, and its answer was thrown away. */
    COMMIT_UNANSWERED("", StatementFault.ANSWER_LOST, true, Effect.ONE),
    /** The caller is cut off while the database has the commit to do. */
    COMMIT_UNDER_WAY("", StatementFault.CUT_IN_FLIGHT, true, Effect.EITHER),
    BEFORE_ANSWER("guard.after-commit", null, true, Effect.ONE);

    final String point;
    final StatementFault fault;
    final boolean bodyRan;
    final Effect effect;

    End(String point, StatementFault fault, boolean bodyRan, Effect effect) {
      this.point = point;
      this.fault = fault;
      this.bodyRan = bodyRan;
      this.effect = effect;
    }
  }

  private enum Effect {
    NONE,
    ONE,
    EITHER
  }

  private int repeats;

  static List<DatabaseKind> databases() {
    return Size.databases(DatabaseKind.MARIADB);
  }

  @ParameterizedTest
  @MethodSource("databases")
  void b38_dur01_dur02_t12_aKilledCallerLeavesOneEffectOrNoneAndNobodyIsToldAnythingElse(
      DatabaseKind kind, @TempDir Path directory) throws SQLException {
    Random random = new Random(Size.seed("guard crashes on " + kind));
    List<End> ends = shuffled(random);
    Path path = directory.resolve("calls.log");
    long began = System.nanoTime();
    try (TestDatabase database = TestDatabases.open(kind)) {
      Schema.migrate(database.dataSource());
      GuardAutopsy.createEffects(database);
      try (Guard guard = GuardCaller.guard(database.pool(2))) {
        for (int life = 1; life <= ends.size(); life++) {
          End end = ends.get(life - 1);
          kill(database, path, life, end, 1 + random.nextInt(5));
          String key = leftBehind(new GuardAutopsy(database, path), end);
          comeAgain(guard, database, path, key, end);
        }
        // The ledger of the lives, none of which lives now.
        try (Ledger ledger = Ledger.open(path)) {
          GuardCaller.callAgain(guard, ledger, new GuardAutopsy(database, path).called);
        }
      }
      GuardAutopsy autopsy = new GuardAutopsy(database, path);
      autopsy.assertOneEffectEach("lives " + ends);
      assertThat(DuplicateRows.in(database)).as("standing twice").isEmpty();
      System.out.printf(
          "%s: %d kills at %d points, %d keys, %d found done, %d s%n",
          kind,
          ends.size(),
          End.values().length,
          autopsy.called.size(),
          repeats,
          Duration.ofNanos(System.nanoTime() - began).toSeconds());
    }
  }

  private static List<End> shuffled(Random random) {
    List<End> ends = new ArrayList<>();
    for (int i = 0; i < Size.of(1, 20); i++) {
      ends.addAll(List.of(End.values()));
    }
    Collections.shuffle(ends, random);
    return ends;
  }

  private static void kill(TestDatabase database, Path path, int life, End end, int nth) {
    if (end.fault == null) {
      String crash = end.point + ":halt:" + nth;
      try (JavaProcess process =
          caller(database, path, life).systemProperty("pigeonhole.crash", crash).start()) {
        int code = process.waitFor(LIMIT);
        assertThat(code).as("%s must be reached: %s", crash, process.output()).isEqualTo(KILLED);
      }
      return;
    }
    try (FaultProxy proxy = FaultProxy.to(TestDatabases.server(database.kind()));
        JavaProcess process = caller(database.through(proxy), path, life).start()) {
      process.awaitLine(GuardCaller.READY, LIMIT);
      proxy.atCommit(nth, end.fault);
      process.awaitLine(GuardCaller.CUT, LIMIT);
      assertThat(proxy.hits()).as("%s must be struck", end).isOne();
      process.kill9();
      assertThat(process.exitCode()).isEqualTo(KILLED);
    }
  }

  private static JavaProcess.Builder caller(TestDatabase database, Path path, int life) {
    return JavaProcess.of(GuardCaller.class)
        .heap("64m")
        .args(database.jdbcUrl(), database.user(), database.password(), path, life);
  }

  /** Shows that the life ended where it should; answers the key that it was asking for. */
  private static String leftBehind(GuardAutopsy autopsy, End end) {
    assertThat(autopsy.open()).as("%s: calls without an answer", end).hasSize(1);
    String key = autopsy.open().get(0);
    assertThat(autopsy.bodiesOf(key)).as("%s: bodies run", end).hasSize(end.bodyRan ? 1 : 0);
    assertThat(autopsy.cut.contains(key)).as("%s: was cut", end).isEqualTo(end.fault != null);
    switch (end.effect) {
      case NONE -> assertThat(autopsy.effectsOf(key)).as("%s: effects", end).isEmpty();
      case ONE ->
          assertThat(autopsy.effectsOf(key))
              .as("%s: effects", end)
              .isEqualTo(autopsy.bodiesOf(key));
      case EITHER -> assertThat(autopsy.effectsOf(key).size()).as("%s: effects", end).isLessThan(2);
    }
    return key;
  }

  /** Somebody else gets the key that nobody was answered for. */
  private void comeAgain(Guard guard, TestDatabase database, Path path, String key, End end)
      throws SQLException {
    Guarded<String> again = call(guard, key);
    boolean repeat = again instanceof Guarded.Repeat;
    String answer = GuardCaller.answer(again);
    try (Ledger ledger = Ledger.open(path)) {
      ledger.append("ANSWER " + key + " " + answer);
    }
    GuardAutopsy autopsy = new GuardAutopsy(database, path);
    if (end.effect != Effect.EITHER) {
      assertThat(repeat).as("%s: %s is a repeat", end, key).isEqualTo(end.effect == Effect.ONE);
    }
    if (repeat) {
      repeats++;
      assertThat(answer).as("%s: answer", end).isEqualTo(autopsy.bodiesOf(key).get(0));
    }
    assertThat(autopsy.effectsOf(key)).as("%s: effects of %s", end, key).containsExactly(answer);
  }

  private static Guarded<String> call(Guard guard, String key) throws SQLException {
    Guarded<String> again;
    do {
      again =
          guard.answer(
              GuardCaller.key(key),
              String.class,
              tx -> GuardCaller.charge(tx, key, key + "/again"));
    } while (again instanceof Guarded.Busy);
    return again;
  }
}
