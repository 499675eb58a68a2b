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
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Processes that die again and again, with a backlog behind a slow handler. Only what had a slot
 * when a process died is suspected, and a handler beside it goes on while the suspects are tried.
 */
@Execution(ExecutionMode.CONCURRENT)
class CrashLoopTest {
  private static final Duration PATIENCE = Size.patience();
  private static final int DEATHS = Size.of(2, 5);
  private static final int BACKLOG = 4_000;
  private static final int BESIDE = 100;

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void onlyWhatHadASlotIsSuspectedAndOthersGoOn(DatabaseKind kind) {
    try (TestDatabase database = TestDatabases.open(kind);
        HikariDataSource pool = database.pool(8)) {
      Schema.migrate(pool);
      Inbox inbox = CrashLoopWorker.inbox(pool, 0);
      accept(inbox, CrashLoopWorker.SLOW, BACKLOG);
      dieWhileWorking(database, 0); // without marks: its cells are left to a probation
      for (int death = 1; death <= DEATHS; death++) {
        dieWhileWorking(database, 1);
        assertThat(suspects(database))
            .as("suspects after %d deaths on probation", death)
            .isBetween(1L, (long) CrashLoopWorker.SLOTS);
      }

      try (JavaProcess worker = worker(database, 20_000)) {
        worker.awaitLine("READY", PATIENCE);
        Eventually.until("a suspect that runs alone", PATIENCE, () -> runningAlone(database) > 0);
        long before = suspects(database);
        accept(inbox, CrashLoopWorker.BESIDE, BESIDE);
        Eventually.until(
            "all of the handler beside", PATIENCE, () -> receipts(database, "beside") == BESIDE);
        Eventually.until(
            "suspects that wait while the other handler goes on, of " + before,
            PATIENCE,
            () -> suspects(database) > 0);
      }
    }
  }

  private static void accept(Inbox inbox, String channel, int messages) {
    inbox.accept(
        channel,
        IntStream.range(0, messages)
            .mapToObj(number -> Message.of(channel + "-" + number, "x"))
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
            if (suspects(database) >= marks) {
              return true;
            }
            worker.resume();
            return false;
          });
      worker.kill9();
    }
  }

  /** Rows that a process has marked, be it alive or dead. */
  private static long suspects(TestDatabase database) {
    return database.count("SELECT COUNT(*) FROM pigeonhole_delivery WHERE mark <> 0");
  }

  private static long runningAlone(TestDatabase database) {
    return database.count("SELECT COUNT(*) FROM pigeonhole_delivery WHERE crashes > 0");
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
