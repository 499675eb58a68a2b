package dev.pigeonhole.proofs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.Received;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.event.InboxListener;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.DatabaseServer;
import dev.pigeonhole.support.DuplicateRows;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.ToLongFunction;
import org.junit.jupiter.api.Test;

/**
 * A steady stream with retention on: what comes in is forgotten again, so tables, indexes and heap
 * stop growing. Without retention everything here would be more than twice as large in the last
 * quarter as in the second.
 */
class SoakTest {
  private static final Duration KEPT = Duration.ofSeconds(Size.of(3, 60));
  private static final int PER_SECOND = Size.of(100, 200);
  private static final int SAMPLES = 24;
  private static final int BATCHES_PER_SECOND = 4;
  private static final String PAYLOAD = "x".repeat(500);
  private static final String CHANNEL = "soak";

  /** One at small size, which has to be short; both side by side at full size. */
  private static final List<DatabaseKind> KINDS =
      List.of(DatabaseKind.POSTGRES, DatabaseKind.MARIADB).subList(0, Size.of(1, 2));

  /**
   * Ten times as long as anything is kept is enough for MariaDB, whose share of a full run is
   * large.
   */
  private static Duration length(DatabaseKind kind) {
    return Duration.ofSeconds(Size.of(36, kind == DatabaseKind.POSTGRES ? 20 * 60 : 10 * 60));
  }

  /** What was measured at one moment. */
  private record Sample(
      int accepted, long pruned, long messages, long tables, long indexes, long heap) {}

  @Test
  void pg03_aSteadyStreamWithRetentionLevelsOff() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(KINDS.size());
    try {
      List<Future<?>> soaks = new ArrayList<>();
      for (DatabaseKind kind : KINDS) {
        soaks.add(
            threads.submit(
                () -> {
                  soak(kind);
                  return kind;
                }));
      }
      for (Future<?> each : soaks) {
        each.get();
      }
    } finally {
      threads.shutdownNow();
    }
  }

  private static void soak(DatabaseKind kind) throws Exception {
    int total = Math.toIntExact(length(kind).toSeconds() * PER_SECOND);
    AtomicIntegerArray one = new AtomicIntegerArray(total);
    AtomicIntegerArray two = new AtomicIntegerArray(total);
    AtomicLong pruned = new AtomicLong();
    AtomicInteger rounds = new AtomicInteger();
    try (DatabaseServer server = TestDatabases.startServer(kind);
        TestDatabase database = server.emptySchema()) {
      vacuumOften(database);
      Schema.migrate(database.dataSource());
      Inbox inbox =
          Inbox.on(JdbcStore.of(database.pool(8)))
              .named("soak")
              .channel(
                  Channel.named(CHANNEL)
                      .on(String.class)
                      .handleMessage("one", received -> count(one, received))
                      .handleMessage("two", received -> count(two, received))
                      .build())
              .keepReceipts(KEPT)
              .listener(
                  InboxListener.create()
                      .with(
                          InboxEvent.Pruned.class,
                          event -> {
                            pruned.addAndGet(event.deleted());
                            rounds.incrementAndGet();
                          }))
              .build();
      List<Sample> samples = new ArrayList<>();
      int accepted = 0;
      try (RunningInbox running = inbox.start()) {
        long began = System.nanoTime();
        for (int sample = 1; sample <= SAMPLES; sample++) {
          int until = (int) ((long) total * sample / SAMPLES);
          while (accepted < until) {
            int batch = Math.min(PER_SECOND / BATCHES_PER_SECOND, until - accepted);
            inbox.accept(CHANNEL, batch(accepted, batch));
            accepted += batch;
            keepPace(began, accepted);
          }
          samples.add(measure(database, accepted, pruned.get()));
        }
        Eventually.until(
            "no open delivery", Size.patience(), () -> Tables.openCount(database) == 0);
        assertThat(DuplicateRows.in(database)).as("standing twice").isEmpty();
        Eventually.until(
            "everything forgotten", Size.patience(), () -> Tables.count(database, "message") == 0);
      }
      print(kind, samples);
      for (int number = 0; number < total; number++) {
        assertThat(one.get(number)).as("one of %d", number).isEqualTo(1);
        assertThat(two.get(number)).as("two of %d", number).isEqualTo(1);
      }
      assertThat(pruned).as("forgotten").hasValue(total);
      assertThat(rounds).as("steps of retention").hasValueGreaterThan(SAMPLES / 2);
      assertThat(Tables.count(database, "receipt")).as("receipts left").isZero();
      levelsOff(samples, "messages", Sample::messages, PER_SECOND * 10L);
      levelsOff(samples, "bytes of tables", Sample::tables, 1 << 20);
      levelsOff(samples, "bytes of indexes", Sample::indexes, 1 << 18);
      levelsOff(samples, "bytes of heap", Sample::heap, 8 << 20);
    }
  }

  /** The most of the last quarter against the most of the second, the first one being warm-up. */
  private static void levelsOff(
      List<Sample> samples, String what, ToLongFunction<Sample> value, long grain) {
    int quarter = SAMPLES / 4;
    long second = most(samples.subList(quarter, 2 * quarter), value);
    long last = most(samples.subList(3 * quarter, SAMPLES), value);
    assertThat(last)
        .as("%s, %d in the second quarter", what, second)
        .isLessThan(second * 3 / 2 + grain);
  }

  private static long most(List<Sample> samples, ToLongFunction<Sample> value) {
    return samples.stream().mapToLong(value).max().orElseThrow();
  }

  private static void count(AtomicIntegerArray seen, Received<String> received) {
    seen.incrementAndGet(Integer.parseInt(received.message().id().substring(2)));
  }

  private static List<Message> batch(int first, int size) {
    List<Message> messages = new ArrayList<>();
    for (int number = first; number < first + size; number++) {
      messages.add(Message.of("m-" + number, PAYLOAD));
    }
    return messages;
  }

  /** Waits for the time at which so many should have been accepted; a slow machine waits less. */
  private static void keepPace(long began, int accepted) throws InterruptedException {
    long due = began + TimeUnit.SECONDS.toNanos(accepted) / PER_SECOND;
    TimeUnit.NANOSECONDS.sleep(Math.max(0, due - System.nanoTime()));
  }

  /**
   * As a server does for large tables; by default it looks once a minute, which is too long here.
   */
  private static void vacuumOften(TestDatabase database) {
    if (database.kind() == DatabaseKind.POSTGRES) {
      database.execute("ALTER SYSTEM SET autovacuum_naptime = '1s'");
      database.execute("SELECT pg_reload_conf()");
    }
  }

  private static Sample measure(TestDatabase database, int accepted, long pruned) {
    System.gc();
    long heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    long messages = Tables.count(database, "message");
    if (database.kind() == DatabaseKind.POSTGRES) {
      if (Size.of(1, 0) == 1) {
        // Autovacuum may come late on a busy machine, and in the small size seconds count.
        database.execute("VACUUM");
      }
      return new Sample(
          accepted,
          pruned,
          messages,
          database.count(sizes("pg_table_size(c.oid)")),
          database.count(sizes("pg_indexes_size(c.oid)")),
          heap);
    }
    return new Sample(
        accepted,
        pruned,
        messages,
        database.count(mariaDbSizes("data_length")),
        database.count(mariaDbSizes("index_length")),
        heap);
  }

  private static String sizes(String size) {
    return "SELECT coalesce(sum("
        + size
        + "), 0) FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace"
        + " AND c.relkind = 'r'";
  }

  private static String mariaDbSizes(String column) {
    return "SELECT coalesce(sum("
        + column
        + "), 0) FROM information_schema.tables WHERE table_schema = database()";
  }

  private static void print(DatabaseKind kind, List<Sample> samples) {
    System.out.printf(
        "%s: %d messages a second for %s, kept for %s%n", kind, PER_SECOND, length(kind), KEPT);
    System.out.println("| accepted | forgotten | there | tables, KB | indexes, KB | heap, KB |");
    System.out.println("|---|---|---|---|---|---|");
    for (Sample each : samples) {
      System.out.printf(
          "| %d | %d | %d | %d | %d | %d |%n",
          each.accepted(),
          each.pruned(),
          each.messages(),
          each.tables() >> 10,
          each.indexes() >> 10,
          each.heap() >> 10);
    }
  }
}
