package dev.pigeonhole.proofs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.event.InboxListener;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.DatabaseServer;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.JavaProcess;
import dev.pigeonhole.support.Ledger;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The database is away for much longer than a node may be silent. Nobody can beat then, so nobody's
 * silence means anything: afterwards the same nodes go on, and no delivery has paid for it.
 *
 * <p>If time in which a node could not look counted as the others' silence, the first node that
 * comes back would bury the second; if an error of the database counted as one of the handler,
 * receipts would show failures.
 */
@Execution(ExecutionMode.CONCURRENT)
class OutageTest {
  private static final int PRODUCERS = 2;

  /** A worker on a busy machine may stand still for seconds, and dies after four of these. */
  private static final Duration BEAT = Duration.ofSeconds(3);

  /** What is wrong with the database. */
  enum Outage {
    /** It dies, and for a while nobody restarts it. */
    DOWN,
    /** It stands still: connections stay open, and nobody answers. */
    HANGS
  }

  /** One of them at small size, drawn at random. */
  static List<Arguments> outages() {
    List<Arguments> outages =
        new ArrayList<>(
            List.of(
                Arguments.of(DatabaseKind.MARIADB, Outage.DOWN),
                Arguments.of(DatabaseKind.POSTGRES, Outage.HANGS),
                Arguments.of(DatabaseKind.POSTGRES, Outage.DOWN)));
    Collections.shuffle(outages, new Random(Size.seed("outages")));
    return outages.subList(0, Size.of(1, 3));
  }

  @ParameterizedTest
  @MethodSource("outages")
  void anOutageKillsNobodyAndCountsForNothing(
      DatabaseKind kind, Outage outage, @TempDir Path directory) throws Exception {
    long seed = Size.seed("outage on " + kind);
    Duration away = Duration.ofSeconds(Size.of(25, 60));
    int messages = Size.of(200, 4_000);
    try (DatabaseServer server = TestDatabases.startServer(kind);
        TestDatabase database = server.emptySchema();
        HikariDataSource pool = database.pool(14);
        Ledger sends = Ledger.open(directory.resolve("sends.log"))) {
      Schema.migrate(pool);
      Worker.createEffects(database);
      Inbox inbox =
          Worker.inbox(
              pool,
              new Worker.Traces(sends, 0),
              InboxListener.create(),
              BEAT,
              Worker.Version.PLAIN);
      try (JavaProcess one = Worker.start(database, directory, BEAT, Worker.Version.PLAIN);
          JavaProcess other = Worker.start(database, directory, BEAT, Worker.Version.PLAIN)) {
        one.awaitLine("READY", Duration.ofMinutes(5));
        other.awaitLine("READY", Duration.ofMinutes(5));
        List<Producer> producers = new ArrayList<>();
        List<Thread> load = produce(inbox, sends, messages, away.plusSeconds(8), seed, producers);
        TimeUnit.SECONDS.sleep(4);

        long from = Worker.now();
        if (outage == Outage.DOWN) {
          server.crash();
        } else {
          server.pause();
        }
        TimeUnit.NANOSECONDS.sleep(away.toNanos());
        long until = Worker.now();
        if (outage == Outage.DOWN) {
          server.restart();
        } else {
          server.resume();
        }

        for (Thread thread : load) {
          thread.join();
        }
        Eventually.until(
            "no open delivery", Duration.ofMinutes(3), () -> Tables.openCount(database) == 0);
        long alive = database.count("SELECT COUNT(*) FROM pigeonhole_node WHERE state = 'LIVE'");
        long dead = database.count("SELECT COUNT(*) FROM pigeonhole_node WHERE state = 'DEAD'");
        Verdict verdict = new Verdict(directory, database, List.of(), Worker.Version.PLAIN);
        long begunInTheDark =
            lines(directory, "PLAIN").stream()
                .mapToLong(line -> Long.parseLong(line[3]))
                .filter(at -> at > from + TimeUnit.SECONDS.toMicros(6) + micros(BEAT) * 4)
                .filter(at -> at < until)
                .count();
        System.out.printf(
            "%s %s for %s: %d messages, %d unanswered sends, %d nodes alive, %d dead, %d refused,"
                + " %d second invocations of the plain handler%n",
            kind,
            outage,
            away,
            verdict.sent.size(),
            producers.stream().mapToInt(Producer::unanswered).sum(),
            alive,
            dead,
            verdict.refused,
            verdict.extraInvocations);
        assertThat(verdict.sent).hasSize(messages);
        assertThat(lines(directory, "DIED")).as("declared dead").isEmpty();
        assertThat(dead).as("dead nodes").isZero();
        assertThat(alive).as("living nodes").isEqualTo(2);
        assertThat(verdict.lost).as("lost").isEmpty();
        assertThat(verdict.doubleEffects).as("double effects").isEmpty();
        assertThat(verdict.inversions).as("inversions").isEmpty();
        assertThat(Tables.count(database, "poison")).as("poisoned").isZero();
        // An attempt that lost its connection is on record, but does not count.
        assertThat(Tables.failureCodes(database))
            .as("recorded failures")
            .allMatch(code -> code.startsWith("PH-DB-"));
        assertThat(database.count("SELECT COUNT(*) FROM pigeonhole_receipt WHERE failures > 0"))
            .as("receipts after a counted failure")
            .isZero();
        assertThat(begunInTheDark).as("the outage must have been one").isZero();
      }
    }
  }

  /**
   * Whoever hands a message in has to hear that the database is away, or a broker waits for its
   * answer for minutes: a pool waits for a connection once, not once more for each try.
   */
  @Test
  void anAcceptTellsOfAnOutageAfterOneWaitForThePool() {
    try (DatabaseServer server = TestDatabases.startServer(DatabaseKind.POSTGRES);
        TestDatabase database = server.emptySchema()) {
      Schema.migrate(database.dataSource());
      AtomicInteger waits = new AtomicInteger();
      HikariConfig config = new HikariConfig();
      config.setDataSource(database.dataSource());
      config.setMaximumPoolSize(5);
      config.setConnectionTimeout(6_000);
      try (HikariDataSource pool =
          new HikariDataSource(config) {
            @Override
            public Connection getConnection() throws SQLException {
              try {
                return super.getConnection();
              } catch (SQLException e) {
                waits.incrementAndGet();
                throw e;
              }
            }
          }) {
        Inbox inbox =
            Inbox.on(JdbcStore.of(pool))
                .named("outage")
                .channel(Channel.named("c").on(String.class).handle("h", payload -> {}).build())
                .build();
        assertThat(inbox.accept("c", Message.of("before", "hello")))
            .isInstanceOf(Acceptance.Accepted.class);
        server.crash();
        assertThatThrownBy(() -> inbox.accept("c", Message.of("during", "hello")))
            .isInstanceOf(StoreException.class);
        assertThat(waits).as("waits for the pool").hasValue(1);
        server.restart();
        Eventually.passes(
            Duration.ofMinutes(5),
            () ->
                assertThat(inbox.accept("c", Message.of("during", "hello")))
                    .isInstanceOf(Acceptance.Accepted.class));
      }
    }
  }

  private static long micros(Duration duration) {
    return TimeUnit.NANOSECONDS.toMicros(duration.toNanos());
  }

  private static List<Thread> produce(
      Inbox inbox, Ledger sends, int messages, Duration load, long seed, List<Producer> producers) {
    List<Thread> threads = new ArrayList<>();
    int each = messages / PRODUCERS;
    for (int i = 0; i < PRODUCERS; i++) {
      Producer producer = new Producer(inbox, sends, i, each, 50, load.toNanos() / each, seed);
      producers.add(producer);
      Thread thread = new Thread(producer, "producer-" + i);
      threads.add(thread);
      thread.start();
    }
    return threads;
  }

  private static List<String[]> lines(Path directory, String first) throws Exception {
    List<String[]> lines = new ArrayList<>();
    try (Stream<Path> files = Files.list(directory)) {
      for (Path file : files.toList()) {
        Ledger.read(file).stream()
            .map(line -> line.split(" "))
            .filter(line -> line[0].equals(first))
            .forEach(lines::add);
      }
    }
    return lines;
  }
}
