package dev.pigeonhole.proofs;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.JavaProcess;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Processes that die again and again, with a backlog behind a slow handler. Only what had a slot
 * when a process died is suspected, and another handler goes on while the suspects are tried. Its
 * rate then and its rate without suspects are printed at full size and not judged; {@code
 * SuspectsTest} checks the share of time with a clock that the test advances.
 */
@Execution(ExecutionMode.CONCURRENT)
class CrashLoopTest {
  private static final Duration PATIENCE = Size.patience();
  private static final int DEATHS = Size.of(2, 5);
  private static final int BACKLOG = 4_000;
  private static final int BESIDE = 100;

  /** More than the other handler can complete while the suspects are tried. */
  private static final int STEADY = 20_000;

  /** So many receipts of the other handler, once no suspect is left, give its own rate. */
  private static final int SAMPLE = 300;

  private static final int FOR_EVER = 3_600_000;

  static List<DatabaseKind> databases() {
    return Size.databases(DatabaseKind.POSTGRES);
  }

  @ParameterizedTest
  @MethodSource("databases")
  void onlyWhatHadASlotIsSuspectedAndOthersGoOn(DatabaseKind kind) {
    try (TestDatabase database = TestDatabases.open(kind);
        HikariDataSource pool = database.pool(8)) {
      Schema.migrate(pool);
      Inbox inbox = CrashLoopWorker.inbox(pool, 0);
      accept(inbox, CrashLoopWorker.SLOW, BACKLOG);
      dieWhileWorking(database, 0); // without marks: its cells are left to a probation
      for (int death = 1; death <= DEATHS; death++) {
        dieWhileWorking(database, 2);
        assertThat(marked(database))
            .as("suspects after %d deaths on probation", death)
            .isBetween(1L, (long) CrashLoopWorker.SLOTS);
      }
      anotherHandlerCompletesWhileASuspectDoesNotReturn(database, inbox);
      if (Size.of(0, 1) == 1) {
        printRates(database, inbox);
      }
    }
  }

  /** The suspect that runs does not return, so that the others cannot be tried meanwhile. */
  private static void anotherHandlerCompletesWhileASuspectDoesNotReturn(
      TestDatabase database, Inbox inbox) {
    try (JavaProcess worker = worker(database, FOR_EVER)) {
      worker.awaitLine("READY", PATIENCE);
      Eventually.until("a suspect that runs alone", PATIENCE, () -> runningAlone(database) > 0);
      accept(inbox, CrashLoopWorker.BESIDE, BESIDE);
      Eventually.until(
          "all of the other handler", PATIENCE, () -> receipts(database, "beside") == BESIDE);
      assertThat(suspects(database)).as("suspects that wait for their turn").isPositive();
      worker.kill9();
    }
  }

  private static void printRates(TestDatabase database, Inbox inbox) {
    accept(inbox, CrashLoopWorker.BESIDE + "-more", CrashLoopWorker.BESIDE, STEADY);
    try (JavaProcess worker = worker(database, 250)) {
      worker.awaitLine("READY", PATIENCE);
      Eventually.until("a suspect that runs alone", PATIENCE, () -> runningAlone(database) > 0);
      long tried = suspects(database) + 1;
      double meanwhile = perSecond(database, "no suspect", () -> suspects(database) == 0);
      long enough = Math.min(receipts(database, "beside") + SAMPLE, BESIDE + STEADY);
      double alone = perSecond(database, "a sample", () -> receipts(database, "beside") >= enough);
      System.out.printf(
          "%s: another handler completes %.0f messages/s while %d suspects are tried, and %.0f"
              + " without suspects (%.0f %%)%n",
          database.kind(), meanwhile, tried, alone, 100 * meanwhile / alone);
    }
  }

  /** The rate of the other handler until then. */
  private static double perSecond(TestDatabase database, String what, Callable<Boolean> until) {
    long before = receipts(database, "beside");
    long began = System.nanoTime();
    Eventually.until(what, PATIENCE, until);
    long completed = receipts(database, "beside") - before;
    return completed * 1e9 / (System.nanoTime() - began);
  }

  private static void accept(Inbox inbox, String channel, int messages) {
    accept(inbox, channel, channel, messages);
  }

  private static void accept(Inbox inbox, String prefix, String channel, int messages) {
    inbox.accept(
        channel,
        IntStream.range(0, messages)
            .mapToObj(number -> Message.of(prefix + "-" + number, "x"))
            .toList());
  }

  /**
   * A process that has handled a few, has some under way, and is killed. There are moments without
   * a mark, so it is paused, and looked at when its last statements have come to an end.
   */
  private static void dieWhileWorking(TestDatabase database, int marks) {
    try (JavaProcess worker = worker(database, 100)) {
      worker.awaitLine("READY", PATIENCE);
      long enough = receipts(database, "slow") + 5L * CrashLoopWorker.SLOTS;
      Eventually.until("receipts", PATIENCE, () -> receipts(database, "slow") >= enough);
      Eventually.until(
          "marks",
          PATIENCE,
          () -> {
            worker.pause();
            TimeUnit.MILLISECONDS.sleep(100);
            if (marked(database) >= marks) {
              return true;
            }
            worker.resume();
            return false;
          });
      worker.kill9();
    }
  }

  /** Rows that a process has marked, be it alive or dead. */
  private static long marked(TestDatabase database) {
    return database.count("SELECT COUNT(*) FROM pigeonhole_delivery WHERE mark <> 0");
  }

  /** Rows that a dead process has marked, and that have not been tried since. */
  private static long suspects(TestDatabase database) {
    return database.count(
        "SELECT COUNT(*) FROM pigeonhole_delivery d JOIN pigeonhole_node n ON n.incarnation ="
            + " d.mark WHERE n.state = 'DEAD'");
  }

  /** Of the process that has joined last. */
  private static long runningAlone(TestDatabase database) {
    return database.count(
        "SELECT COUNT(*) FROM pigeonhole_delivery WHERE crashes > 0"
            + " AND mark = (SELECT MAX(incarnation) FROM pigeonhole_node)");
  }

  private static long receipts(TestDatabase database, String handler) {
    return database.count(
        "SELECT COUNT(*) FROM pigeonhole_receipt r JOIN pigeonhole_handler h ON h.key_id ="
            + " r.handler WHERE h.handler_key = '"
            + handler
            + "'");
  }

  private static JavaProcess worker(TestDatabase database, int millis) {
    return JavaProcess.of(CrashLoopWorker.class)
        .heap("128m")
        .args(database.jdbcUrl(), database.user(), database.password(), millis)
        .start();
  }
}
