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
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Three worker processes under load while workers are killed, stopped and paused and the database
 * crashes. Nothing is lost, no effect happens twice, no order is broken.
 */
class MultiProcessTest {
  private static final int PRODUCERS = 4;
  private static final Duration BEAT = Duration.ofSeconds(2);

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void nothingIsLostDoubledOrOvertakenWhateverDies(DatabaseKind kind, @TempDir Path directory)
      throws Exception {
    long seed = Size.seed("multi-process on " + kind);
    int messages = Size.of(2_000, 20_000);
    Duration load = Duration.ofSeconds(Size.of(40, 60));
    try (DatabaseServer server = TestDatabases.startServer(kind);
        TestDatabase database = server.emptySchema();
        HikariDataSource pool = database.pool(14);
        Ledger sends = Ledger.open(Files.createDirectories(directory).resolve("sends.log"))) {
      Schema.migrate(pool);
      Worker.createEffects(database);
      Inbox inbox = Worker.inbox(pool, new Worker.Traces(sends, 0), InboxListener.create(), BEAT);
      Nemesis nemesis =
          new Nemesis(3, () -> Worker.start(database, directory, BEAT), server, directory, seed);
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
      nemesis.rage(Duration.ofSeconds(5), Duration.ofSeconds(15), over::get);
      load1.join();
      Eventually.until(
          "no open delivery",
          Duration.ofSeconds(120),
          () ->
              database.count("SELECT COUNT(*) FROM pigeonhole_delivery")
                      + database.count("SELECT COUNT(*) FROM pigeonhole_later")
                  == 0);
      List<String> output = nemesis.stop();
      Verdict verdict = new Verdict(directory, database, nemesis.faults());
      System.out.printf(
          "%s: %d messages, %d faults, %d refused settles, %d unanswered sends, %d needless"
              + " invocations of the plain handler, takeovers after %s ms%n",
          kind,
          verdict.sent.size(),
          nemesis.faults().size(),
          verdict.refused,
          producers.stream().mapToInt(Producer::unanswered).sum(),
          verdict.extraInvocations,
          verdict.takeoverMillis());
      assertThat(verdict.sent).hasSize(messages);
      assertThat(verdict.lost).as("lost").isEmpty();
      assertThat(verdict.doubleEffects).as("double effects").isEmpty();
      assertThat(verdict.inversions).as("inversions").isEmpty();
      assertThat(verdict.restarted).as("loops that failed; %s", output).isZero();
      assertThat(database.count("SELECT COUNT(*) FROM pigeonhole_poison")).isZero();
      assertThat(verdict.refused).as("a zombie must have been refused").isPositive();
      assertThat(nemesis.cutConnections())
          .as("connections that the crash of the database broke")
          .isGreaterThan(10);
      assertThat(nemesis.faults())
          .extracting(Nemesis.Fault::kind)
          .contains("kill", "restart", "pause", "database");
    }
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
