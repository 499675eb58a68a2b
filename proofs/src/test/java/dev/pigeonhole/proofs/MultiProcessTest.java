package dev.pigeonhole.proofs;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.event.InboxListener;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.DatabaseServer;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.Ledger;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Three worker processes under load while workers are killed, stopped and paused, the database
 * crashes, a later version is deployed, retention forgets, and an operator pauses, retries and
 * replays. Nothing is lost, no effect happens twice, no order is broken.
 */
class MultiProcessTest {
  private static final int PRODUCERS = 4;
  private static final Duration BEAT = Duration.ofSeconds(2);

  /** Each kind of fault once at small size. */
  private static final int ROUNDS = Size.of(4, 6);

  static List<DatabaseKind> databases() {
    return Size.databases(DatabaseKind.POSTGRES);
  }

  @ParameterizedTest
  @MethodSource("databases")
  void nothingIsLostDoubledOrOvertakenWhateverDies(DatabaseKind kind, @TempDir Path directory)
      throws Exception {
    long seed = Size.seed("multi-process on " + kind);
    int messages = Size.of(600, 20_000);
    Duration load = Duration.ofSeconds(Size.of(15, 60));
    try (DatabaseServer server = TestDatabases.startServer(kind);
        TestDatabase database = server.emptySchema();
        HikariDataSource pool = database.pool(16);
        Ledger sends = Ledger.open(Files.createDirectories(directory).resolve("sends.log"))) {
      Schema.migrate(pool);
      Worker.createEffects(database);
      Inbox inbox =
          Worker.inbox(
              pool,
              new Worker.Traces(sends, 0),
              InboxListener.create(),
              BEAT,
              Worker.Version.FIRST);
      try (Nemesis nemesis =
          new Nemesis(
              3,
              version -> Worker.start(database, directory, BEAT, version),
              server,
              directory,
              seed)) {
        List<Producer> producers = new ArrayList<>();
        AtomicBoolean over = new AtomicBoolean();
        Thread load1 =
            new Thread(
                () -> {
                  produce(inbox, sends, messages, load, seed, producers);
                  over.set(true);
                },
                "load");
        load1.start();
        Operator operator = new Operator(inbox.admin(), over::get);
        Thread operating = new Thread(operator, "operator");
        operating.start();
        nemesis.rage(ROUNDS, Duration.ofSeconds(Size.of(3, 5)), Duration.ofSeconds(15), over::get);
        load1.join();
        operating.join();
        long left = noise(database);
        operator.replayUpTo(Instant.now().plusSeconds(60)); // all the rest
        Eventually.until(
            "no open or poisoned delivery",
            Size.patience(),
            () -> {
              operator.retryAll();
              return Tables.openCount(database) + Tables.count(database, "poison") == 0;
            });
        Eventually.until("no noise", Duration.ofMinutes(5), () -> noise(database) == 0);
        List<String> output = nemesis.stop();
        Verdict verdict = new Verdict(directory, database, nemesis.faults(), Worker.Version.SECOND);
        System.out.printf(
            "%s: %d messages, %d forgotten ones, %d faults, %d pauses, %d retried, %d replayed by an"
                + " operator, %d refused settles, %d unanswered sends, %d needless invocations of the"
                + " plain handler, takeovers after %s ms, %d nodes buried alive%n",
            kind,
            verdict.sent.size(),
            verdict.noise.size(),
            nemesis.faults().size(),
            operator.pauses(),
            operator.retried(),
            operator.replayed(),
            verdict.refused,
            producers.stream().mapToInt(Producer::unanswered).sum(),
            verdict.extraInvocations,
            verdict.takeoverMillis(),
            verdict.buriedAlive());
        assertThat(verdict.sent).hasSize(messages);
        assertThat(verdict.lost).as("lost").isEmpty();
        assertThat(verdict.doubleEffects).as("double effects").isEmpty();
        assertThat(verdict.inversions).as("inversions").isEmpty();
        assertThat(verdict.restarted).as("loops that failed; %s", output).isZero();
        assertThat(operator.pauses()).isPositive();
        assertThat(operator.retried()).isPositive();
        assertThat(operator.replayed()).isEqualTo(messages);
        assertThat(left).as("noise while the faults went on").isLessThan(verdict.noise.size());
        assertThat(verdict.refused).as("a zombie must have been refused").isPositive();
        assertThat(nemesis.cutConnections())
            .as("connections that the crash of the database broke")
            .isGreaterThan(10);
        assertThat(nemesis.faults())
            .extracting(Nemesis.Fault::kind)
            .contains("kill", "restart", "pause", "database");
      }
    }
  }

  /** How much of what retention should forget is still there. */
  private static long noise(TestDatabase database) {
    return database.count(
        "SELECT COUNT(*) FROM pigeonhole_message WHERE channel = '" + Worker.NOISE + "'");
  }

  private static void produce(
      Inbox inbox, Ledger sends, int messages, Duration load, long seed, List<Producer> producers) {
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < PRODUCERS; i++) {
      int each = messages / PRODUCERS;
      Producer producer =
          new Producer(inbox, sends, i, each, 200 / PRODUCERS, load.toNanos() / each, seed);
      producers.add(producer);
      Thread thread = new Thread(producer, "producer-" + i);
      threads.add(thread);
      thread.start();
    }
    for (Thread thread : threads) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
  }
}
