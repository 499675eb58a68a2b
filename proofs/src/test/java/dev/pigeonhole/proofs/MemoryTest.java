package dev.pigeonhole.proofs;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.DuplicateRows;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.JavaProcess;
import dev.pigeonhole.support.ParentWatch;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A backlog that is several times as large as the heap. A worker that read what waits, rather than
 * what it has room for, would run out of memory.
 */
class MemoryTest {
  private static final int BATCH = 500;
  private static final String CHANNEL = "backlog";
  private static final Duration PATIENCE = Duration.ofMinutes(Size.of(10, 30));

  /** What is held in memory is no store's affair, so only one of them has the large backlog. */
  static List<Arguments> backlogs() {
    return List.of(
            Arguments.of(DatabaseKind.POSTGRES, Size.of(12_000, 1_000_000), Size.of(32, 256) + "m"),
            Arguments.of(DatabaseKind.MARIADB, 100_000, "64m"))
        .subList(0, Size.of(1, 2));
  }

  @ParameterizedTest
  @MethodSource("backlogs")
  void aSmallHeapDeliversALargeBacklog(DatabaseKind kind, int messages, String heap) {
    try (TestDatabase database = TestDatabases.open(kind)) {
      Schema.migrate(database.dataSource());
      long began = System.nanoTime();
      accept(inbox(database.pool(6), new AtomicInteger()), messages);
      long accepted = System.nanoTime();
      assertThat(Tables.count(database, "delivery")).isEqualTo(messages);
      try (JavaProcess worker =
          JavaProcess.of(Delivering.class)
              .heap(heap)
              .option("-XX:+ExitOnOutOfMemoryError")
              .args(database.jdbcUrl(), database.user(), database.password(), messages)
              .start()) {
        String peak = worker.awaitLine("PEAK", PATIENCE);
        assertThat(worker.waitFor(Duration.ofMinutes(2))).as("exit code").isZero();
        System.out.printf(
            "%s: %d messages accepted in %d s and delivered in %d s with a heap of %s: %s%n",
            kind,
            messages,
            Duration.ofNanos(accepted - began).toSeconds(),
            Duration.ofNanos(System.nanoTime() - accepted).toSeconds(),
            heap,
            peak);
      }
      assertThat(Tables.count(database, "receipt")).isEqualTo(messages);
      assertThat(DuplicateRows.in(database)).as("standing twice").isEmpty();
      assertThat(Tables.count(database, "poison")).isZero();
      assertThat(Tables.openCount(database)).isZero();
    }
  }

  static List<DatabaseKind> databases() {
    return List.of(DatabaseKind.POSTGRES, DatabaseKind.MARIADB).subList(0, Size.of(1, 2));
  }

  /** Nearly as much as an inbox takes by default. */
  private static final int LARGE = 990_000;

  private static final int SMALL = Size.of(1_000, 2_000);

  /**
   * After many small messages a reader expects small ones. The large ones that come then are
   * several times as large as its heap.
   */
  @ParameterizedTest
  @MethodSource("databases")
  void largeMessagesBehindSmallOnesAreReadInParts(DatabaseKind kind) {
    int large = Size.of(60, 500);
    String heap = Size.of(32, 256) + "m";
    try (TestDatabase database = TestDatabases.open(kind)) {
      Schema.migrate(database.dataSource());
      Inbox inbox = inbox(database.pool(6), new AtomicInteger());
      try (JavaProcess worker =
          JavaProcess.of(Delivering.class)
              .heap(heap)
              .option("-XX:+ExitOnOutOfMemoryError")
              .args(database.jdbcUrl(), database.user(), database.password(), SMALL + large)
              .start()) {
        accept(inbox, "small", SMALL, "x".repeat(50));
        Eventually.until("small ones", PATIENCE, () -> Tables.count(database, "receipt") == SMALL);
        inbox.admin().pause("count", "so that they wait for it all at once");
        worker.awaitLine("PAUSED", PATIENCE);
        accept(inbox, "large", large, "x".repeat(LARGE));
        inbox.admin().resume("count", "now");

        worker.awaitLine("PEAK", PATIENCE);
        assertThat(worker.waitFor(Duration.ofMinutes(2))).as("exit code").isZero();
      }
      assertThat(Tables.count(database, "receipt")).isEqualTo(SMALL + large);
      assertThat(Tables.count(database, "poison")).isZero();
    }
  }

  /** Nearly as many headers as an inbox takes by default, and next to no content. */
  @Test
  @Tag("full")
  void largeHeadersWaitInTheStoreLikeContent() {
    int messages = 2_500;
    try (TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES)) {
      Schema.migrate(database.dataSource());
      Inbox inbox = inbox(database.pool(6), new AtomicInteger());
      String header = "h".repeat(60_000);
      for (int first = 0; first < messages; first += 100) {
        inbox.accept(
            CHANNEL,
            IntStream.range(first, first + 100)
                .mapToObj(number -> Message.of("m-" + number, "x").header("trace", header))
                .toList());
      }
      try (JavaProcess worker =
          JavaProcess.of(Delivering.class)
              .heap("64m")
              .option("-XX:+ExitOnOutOfMemoryError")
              .systemProperty("slow", "20") // so that the reader is ahead of the handler
              .args(database.jdbcUrl(), database.user(), database.password(), messages)
              .start()) {
        worker.awaitLine("PEAK", PATIENCE);
        assertThat(worker.waitFor(Duration.ofMinutes(2))).as("exit code").isZero();
      }
      assertThat(Tables.count(database, "receipt")).isEqualTo(messages);
      assertThat(Tables.count(database, "poison")).isZero();
    }
  }

  private static void accept(Inbox inbox, String ids, int messages, String payload) {
    int together = Math.max(1, Math.min(BATCH, (8 << 20) / payload.length()));
    for (int first = 0; first < messages; first += together) {
      List<Acceptance> answers =
          inbox.accept(
              CHANNEL,
              IntStream.range(first, Math.min(messages, first + together))
                  .mapToObj(number -> Message.of(ids + "-" + number, payload))
                  .toList());
      assertThat(answers).hasOnlyElementsOfType(Acceptance.Accepted.class);
    }
  }

  private static void accept(Inbox inbox, int messages) {
    // The payloads alone are more than the heap of the worker can hold.
    accept(inbox, "m", messages, "x".repeat(Size.of(5_000, 1_000)));
  }

  private static Inbox inbox(HikariDataSource pool, AtomicInteger handled) {
    return Inbox.on(JdbcStore.of(pool))
        .named("memory")
        .channel(
            dev.pigeonhole.Channel.named(CHANNEL)
                .on(String.class)
                .handle(
                    "count",
                    payload -> {
                      TimeUnit.MILLISECONDS.sleep(Integer.getInteger("slow", 0));
                      handled.incrementAndGet();
                    })
                .build())
        .listener(
            event -> {
              if (event instanceof InboxEvent.HandlerPaused) {
                System.out.println("PAUSED");
              }
            })
        .build();
  }

  /** The worker with the small heap. */
  static final class Delivering {
    private Delivering() {}

    public static void main(String[] args) {
      ParentWatch.install();
      int messages = Integer.parseInt(args[3]);
      AtomicInteger handled = new AtomicInteger();
      TestDatabase database = TestDatabase.attach(args[0], args[1], args[2]);
      try (HikariDataSource pool = database.pool(6);
          RunningInbox running = inbox(pool, handled).start()) {
        Eventually.until("all handled", PATIENCE, () -> handled.get() >= messages);
      }
      List<String> peaks = new ArrayList<>();
      long sum = 0;
      for (MemoryPoolMXBean memory : ManagementFactory.getMemoryPoolMXBeans()) {
        if (memory.getType() == MemoryType.HEAP) {
          long used = memory.getPeakUsage().getUsed() >> 20;
          peaks.add(memory.getName() + " " + used + " MB");
          sum += used;
        }
      }
      System.out.println("PEAK " + sum + " MB " + peaks);
    }
  }
}
