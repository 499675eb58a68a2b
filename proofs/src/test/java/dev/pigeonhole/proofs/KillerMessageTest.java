package dev.pigeonhole.proofs;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.DuplicateRows;
import dev.pigeonhole.support.JavaProcess;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A message that ends its process is found among innocents and poisoned, after a bounded number of
 * deaths; and deaths without such a message accuse nobody.
 *
 * <p>They are tried side by side: whoever has died is waited for more than anything is computed.
 */
@Execution(ExecutionMode.CONCURRENT)
class KillerMessageTest {
  private static final int HEALTHY = Size.of(200, 500);
  private static final int MAX_CRASHES = 3; // the inbox's default

  static List<DatabaseKind> databases() {
    return Size.databases(DatabaseKind.POSTGRES);
  }

  @ParameterizedTest
  @MethodSource("databases")
  void b57_clm09_d118_aKillerInABacklogIsFoundAndNobodyElseSuffers(DatabaseKind kind) {
    try (TestDatabase database = TestDatabases.open(kind);
        HikariDataSource pool = database.pool(8)) {
      Schema.migrate(pool);
      Inbox inbox = KillerWorker.inbox(pool);
      inbox.accept("killing", KillerWorker.messages(HEALTHY + 1));

      assertThat(deathsUntilDone(database, 0)).isBetween(2, MAX_CRASHES + 2);
      assertOnlyTheKillerIsPoisoned(database);
    }
  }

  @ParameterizedTest
  @Tag("full")
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void b57_clm09_aKillerThatCameByHandOverIsFoundToo(DatabaseKind kind) {
    try (TestDatabase database = TestDatabases.open(kind);
        HikariDataSource pool = database.pool(8)) {
      Schema.migrate(pool);

      assertThat(deathsUntilDone(database, HEALTHY + 1)).isBetween(2, MAX_CRASHES + 2);
      assertOnlyTheKillerIsPoisoned(database);
    }
  }

  @ParameterizedTest
  @MethodSource("databases")
  void randomDeathsAccuseNobody(DatabaseKind kind) throws InterruptedException {
    Random random = new Random(Size.seed("random deaths on " + kind));
    int kills = Size.of(1, 30);
    int messages = Size.of(60, 200);
    try (TestDatabase database = TestDatabases.open(kind);
        HikariDataSource pool = database.pool(8)) {
      Schema.migrate(pool);
      Inbox inbox = KillerWorker.inbox(pool);
      int sent = 0;
      for (int kill = 0; kill < kills; kill++) {
        try (JavaProcess worker = worker(database, 0)) {
          worker.awaitLine("READY", Duration.ofMinutes(5));
          for (int i = 0; i < messages; i++) {
            inbox.accept("killing", dev.pigeonhole.Message.of("r-" + sent++, "healthy"));
          }
          TimeUnit.MILLISECONDS.sleep(random.nextInt(1_500));
          worker.kill9();
        }
      }
      try (JavaProcess worker = worker(database, 0)) {
        assertThat(awaitDone(database, worker, sent)).isTrue();
      }

      assertThat(DuplicateRows.in(database)).as("standing twice").isEmpty();
      assertThat(database.count("SELECT COUNT(*) FROM pigeonhole_poison")).isZero();
      assertThat(database.count("SELECT COUNT(*) FROM pigeonhole_receipt")).isEqualTo(sent);
    }
  }

  private static int deathsUntilDone(TestDatabase database, int acceptedByWorker) {
    for (int deaths = 0; deaths <= MAX_CRASHES + 5; deaths++) {
      try (JavaProcess worker = worker(database, acceptedByWorker)) {
        // It may be dead before it is ready.
        if (awaitDone(database, worker, HEALTHY + 1)) {
          return deaths;
        }
        assertThat(worker.exitCode()).isEqualTo(KillerWorker.HALTED);
      }
    }
    throw new AssertionError("the killer goes on killing: " + states(database));
  }

  /** True when everything is completed or poisoned, false when the worker died before that. */
  private static boolean awaitDone(TestDatabase database, JavaProcess worker, int messages) {
    long end = System.nanoTime() + Size.patience().toNanos();
    while (System.nanoTime() < end) {
      if (!worker.isAlive()) {
        return false;
      }
      if (ended(database) == messages) {
        return true;
      }
      pause();
    }
    throw new AssertionError("still open: " + states(database));
  }

  private static void pause() {
    try {
      TimeUnit.MILLISECONDS.sleep(200);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static long ended(TestDatabase database) {
    return database.count("SELECT COUNT(*) FROM pigeonhole_receipt")
        + database.count("SELECT COUNT(*) FROM pigeonhole_poison");
  }

  private static String states(TestDatabase database) {
    return database
            .rows("SELECT seq, version, failures, crashes, mark FROM pigeonhole_delivery")
            .toString()
        + database.rows("SELECT incarnation, state, beat FROM pigeonhole_node");
  }

  private static void assertOnlyTheKillerIsPoisoned(TestDatabase database) {
    assertThat(
            database.count(
                "SELECT COUNT(*) FROM pigeonhole_poison p JOIN pigeonhole_message m ON m.seq = p.seq"
                    + " WHERE m.id = 'm-"
                    + (HEALTHY + 1) / 2
                    + "'"))
        .isEqualTo(1);
    assertThat(DuplicateRows.in(database)).as("standing twice").isEmpty();
    assertThat(database.count("SELECT COUNT(*) FROM pigeonhole_poison")).isEqualTo(1);
    assertThat(database.count("SELECT COUNT(*) FROM pigeonhole_receipt")).isEqualTo(HEALTHY);
  }

  private static JavaProcess worker(TestDatabase database, int messages) {
    return JavaProcess.of(KillerWorker.class)
        .heap("128m")
        .args(database.jdbcUrl(), database.user(), database.password(), messages)
        .start();
  }
}
