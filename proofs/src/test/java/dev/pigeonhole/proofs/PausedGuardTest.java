package dev.pigeonhole.proofs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Guard;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.DuplicateRows;
import dev.pigeonhole.support.JavaProcess;
import dev.pigeonhole.support.Ledger;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Stops the caller of a guard in the middle of its transaction (SIGSTOP) and resumes it after
 * another process has run the key.
 *
 * <p>If the transaction had no idle limit, the key would stay locked and no other process could run
 * it. If it locked more than its key, calls with other keys would wait. If the resumed process
 * trusted what it had done before, the effect would be there twice, or it would return an answer
 * that the database does not have.
 */
@Execution(ExecutionMode.CONCURRENT)
class PausedGuardTest {
  /** All that lie within a transaction, and the body. */
  static final List<String> POINTS =
      List.of("guard.entered", GuardCaller.IN_BODY, "guard.work-done", "guard.before-commit");

  /** A few milliseconds each, while the key is held for 25 s. */
  private static final int OTHERS = 20;

  /** Before that the key is still held: for 25 s, a few of which may pass until the pause. */
  private static final Duration SURELY_HELD = Duration.ofSeconds(20);

  static Stream<Arguments> places() {
    Random random = new Random(Size.seed("paused guards"));
    List<Arguments> places = new ArrayList<>();
    for (DatabaseKind kind : Size.databases(DatabaseKind.MARIADB)) {
      List<String> points = new ArrayList<>(POINTS);
      Collections.shuffle(points, random);
      points.stream()
          .limit(Size.of(1, POINTS.size()))
          .forEach(point -> places.add(Arguments.of(kind, point, 1 + random.nextInt(5))));
    }
    return places.stream();
  }

  @ParameterizedTest
  @MethodSource("places")
  void clm01_aStoppedCallerOfAGuardDelaysNoOtherKeyAndGetsTheAnswerOfTheNext(
      DatabaseKind kind, String point, int visit, @TempDir Path directory) throws Exception {
    Path stoppedLog = directory.resolve("stopped.log");
    Path livingLog = directory.resolve("living.log");
    Path end = directory.resolve("resumed");
    try (TestDatabase database = TestDatabases.open(kind)) {
      Schema.migrate(database.dataSource());
      GuardAutopsy.createEffects(database);
      try (Guard guard = GuardCaller.guard(database.pool(2));
          Ledger ledger = Ledger.open(livingLog);
          JavaProcess stopped =
              StandStill.at(point, visit, end, caller(database, stoppedLog)).start()) {
        GuardCaller living = new GuardCaller(ledger, "living");
        living.call(guard, "warm-up");
        StandStill.stop(stopped, Size.patience());
        long began = System.nanoTime();
        String held = onlyOpenKey(database, stoppedLog);

        callOthers(living, guard);
        Guarded<String> result = living.call(guard.waitingAtMost(Duration.ofSeconds(1)), held);
        Duration others = since(began);
        if (result instanceof Guarded.Busy) {
          result = callUntilFree(living, guard, held);
        } else {
          assertThat(others)
              .as("%s was free, and only a machine that is very slow comes here after that", held)
              .isGreaterThan(SURELY_HELD);
        }
        assertThat(result)
            .as("the stopped process has committed nothing")
            .isInstanceOf(Guarded.Ran.class);
        Duration free = since(began);

        StandStill.resume(stopped, end);
        assertThat(stopped.waitFor(Size.patience())).as("%s", stopped.output()).isZero();
        assertThat(new GuardAutopsy(database, stoppedLog).answers.get(held))
            .as("what the resumed process was answered")
            .isEqualTo(new GuardAutopsy(database, livingLog).answers.get(held));
        GuardCaller.callAgain(
            guard, ledger, new GuardAutopsy(database, stoppedLog, livingLog).called);
        System.out.printf(
            "%s stopped at visit %d of %s: %d other keys in %d ms, its own after %d s%n",
            kind, visit, point, OTHERS, others.toMillis(), free.toSeconds());
      }
      new GuardAutopsy(database, stoppedLog, livingLog).assertOneEffectEach("stopped at " + point);
      assertThat(DuplicateRows.in(database)).as("standing twice").isEmpty();
    }
  }

  private static JavaProcess.Builder caller(TestDatabase database, Path ledger) {
    return JavaProcess.of(GuardCaller.class)
        .heap("64m")
        .args(database.jdbcUrl(), database.user(), database.password(), ledger, "stopped");
  }

  private static String onlyOpenKey(TestDatabase database, Path ledger) {
    List<String> open = new GuardAutopsy(database, ledger).open();
    assertThat(open).as("calls of the stopped process without an answer").hasSize(1);
    return open.get(0);
  }

  private static void callOthers(GuardCaller living, Guard guard) throws SQLException {
    for (int i = 0; i < OTHERS; i++) {
      assertThat(living.call(guard, "other." + i)).isInstanceOf(Guarded.Ran.class);
    }
  }

  private static Guarded<String> callUntilFree(GuardCaller living, Guard guard, String key)
      throws SQLException {
    long began = System.nanoTime();
    Guarded<String> result;
    do {
      assertThat(since(began)).as("wait for %s", key).isLessThan(Size.patience());
      result = living.call(guard, key);
    } while (result instanceof Guarded.Busy);
    return result;
  }

  private static Duration since(long began) {
    return Duration.ofNanos(System.nanoTime() - began);
  }
}
