package dev.pigeonhole.proofs;

import static dev.pigeonhole.HandlerOption.atMost;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.MessageHandler;
import dev.pigeonhole.Received;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.DuplicateRows;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import javax.sql.DataSource;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Everything that can wait stands before a few fresh deliveries, in their tables and indexes: a
 * paused handler, a day that has not come, poisoned keys with their followers, a handler whose
 * slots never come free, and a key with more followers than anybody wants to remember. A reader
 * whose cost grew with what waits would come to the fresh ones late or never. What the reading
 * statements cost row by row is counted in the tests of the JDBC store.
 */
class StarvationTest {
  private static final Duration PATIENCE = Size.patience();

  /** Far below the numbers of what is accepted afterwards. */
  private static final long FIRST = 1_000_000;

  private static final int WAITING = Size.of(20_000, 1_000_000);
  private static final int KEYS = Size.of(500, 10_000);
  private static final int FOLLOWERS = 3;
  private static final int BACKLOG = Size.of(500, 2_000);
  private static final int HOT = Size.of(500, 2_000);
  private static final int FRESH = Size.of(200, 500);

  /** Handler and message → how often it was invoked. */
  private final Map<String, AtomicInteger> invocations = new ConcurrentHashMap<>();

  private final CountDownLatch busy = new CountDownLatch(2);
  private final CountDownLatch gate = new CountDownLatch(1);
  private final AtomicInteger lastHot = new AtomicInteger(-1);
  private final AtomicInteger inversions = new AtomicInteger();

  static List<DatabaseKind> databases() {
    return Size.databases(DatabaseKind.POSTGRES);
  }

  @ParameterizedTest
  @MethodSource("databases")
  void whatCanWaitKeepsNobody(DatabaseKind kind) {
    try (TestDatabase database = TestDatabases.open(kind)) {
      Schema.migrate(database.dataSource());
      Inbox inbox = inbox(database.pool(8));
      inbox.start().close(); // now the database knows the handlers
      long began = System.nanoTime();
      Crowd crowd = new Crowd(database);
      inbox.admin().pause("paused", "it must wait");
      accept(inbox, "saturated", BACKLOG, false);
      accept(inbox, "hot", HOT, true);
      long filled = System.nanoTime();
      try (RunningInbox running = inbox.start()) {
        Eventually.until("two busy slots", PATIENCE, () -> busy.getCount() == 0);
        Eventually.until("a busy key", PATIENCE, () -> count("hot m-0") == 1);

        // Through an inbox that is not started, so nothing is handed over: it must be read.
        accept(inbox(database.pool(5)), "healthy", FRESH, false);
        accept(inbox(database.pool(5)), "ordered", FRESH, true);
        Eventually.until(
            "all fresh deliveries",
            PATIENCE,
            () -> crowd.receipts("healthy", "ordered") == FRESH * 2L);
        System.out.printf(
            "%s: %d fresh deliveries done in %d ms, %d s after %d rows were put before them%n",
            kind,
            FRESH * 2,
            Duration.ofNanos(System.nanoTime() - filled).toMillis(),
            Duration.ofNanos(filled - began).toSeconds(),
            2 * WAITING + KEYS * (1 + FOLLOWERS) + BACKLOG + HOT);

        assertThat(crowd.rows("delivery", "paused")).as("paused").isEqualTo(WAITING);
        assertThat(crowd.rows("later", "tomorrow")).as("due tomorrow").isEqualTo(WAITING);
        assertThat(crowd.rows("poison", "blocked")).as("poisoned heads").isEqualTo(KEYS);
        assertThat(crowd.rows("later", "blocked")).as("blocked").isEqualTo(KEYS * FOLLOWERS);
        assertThat(crowd.rows("delivery", "saturated")).as("saturated").isEqualTo(BACKLOG);
        assertThat(crowd.rows("delivery", "hot")).as("behind a busy head").isEqualTo(HOT);
        assertThat(invocations.keySet())
            .as("begun by those that wait")
            .noneMatch(each -> each.matches("(paused|tomorrow|blocked) .*"))
            .filteredOn(each -> each.startsWith("hot ") || each.startsWith("saturated "))
            .hasSize(3);
        for (String handler : List.of("healthy", "ordered")) {
          for (int number = 0; number < FRESH; number++) {
            assertThat(count(handler + " m-" + number))
                .as("%s m-%d", handler, number)
                .isEqualTo(failsOnce(number) ? 2 : 1);
          }
        }

        gate.countDown();
        Eventually.until(
            "those that were kept by others",
            PATIENCE,
            () -> crowd.receipts("saturated", "hot") == BACKLOG + HOT);
        for (int number = 0; number < HOT; number++) {
          assertThat(count("hot m-" + number)).as("hot m-%d", number).isEqualTo(1);
        }
        assertThat(DuplicateRows.in(database)).as("standing twice").isEmpty();
        assertThat(inversions).as("out of order").hasValue(0);
      }
    }
  }

  // ---- the inbox

  private Inbox inbox(DataSource dataSource) {
    return Inbox.on(JdbcStore.of(dataSource))
        .named("starvation")
        .channel(channel("paused", this::told))
        .channel(channel("tomorrow", this::told))
        .channel(channel("blocked", this::told))
        .channel(
            Channel.named("saturated")
                .on(String.class)
                .handleMessage("saturated", this::waiting, atMost(2))
                .build())
        .channel(channel("hot", this::inOrder))
        .channel(channel("healthy", this::failingOnce))
        .channel(channel("ordered", this::failingOnce))
        .retry(RetryPolicy.fixed(Duration.ofMillis(100)))
        .build();
  }

  private static Channel channel(String name, MessageHandler<String> handler) {
    return Channel.named(name).on(String.class).handleMessage(name, handler).build();
  }

  /** Returns how often this was invoked. */
  private int told(Received<String> received) {
    return invocations
        .computeIfAbsent(
            received.handler() + " " + received.message().id(), none -> new AtomicInteger())
        .incrementAndGet();
  }

  private int count(String invocation) {
    AtomicInteger times = invocations.get(invocation);
    return times == null ? 0 : times.get();
  }

  private void waiting(Received<String> received) throws InterruptedException {
    told(received);
    busy.countDown();
    gate.await();
  }

  private void inOrder(Received<String> received) throws InterruptedException {
    told(received);
    gate.await();
    int number = number(received);
    if (lastHot.getAndSet(number) != number - 1) {
      inversions.incrementAndGet();
    }
  }

  private void failingOnce(Received<String> received) {
    // Not by the attempt: one that fails while its node does not beat is not counted.
    if (told(received) == 1 && failsOnce(number(received))) {
      throw new IllegalStateException("first invocation");
    }
  }

  private static int number(Received<String> received) {
    return Integer.parseInt(received.message().id().substring(2));
  }

  /** One of twenty: they come back by their due time. */
  private static boolean failsOnce(int number) {
    return number % 20 == 7;
  }

  private static void accept(Inbox inbox, String channel, int messages, boolean ordered) {
    for (int first = 0; first < messages; first += FRESH) {
      List<Message> batch = new ArrayList<>();
      IntStream.range(first, Math.min(first + FRESH, messages))
          .forEach(
              number -> {
                Message message = Message.of("m-" + number, "hello");
                String key = channel.equals("hot") ? "one" : "k-" + number % 50;
                batch.add(ordered ? message.orderedBy(key) : message);
              });
      inbox.accept(channel, batch);
    }
  }

  // ---- those that wait

  /**
   * Rows by the million, put there past the library. They have no messages: whoever began one of
   * them would have to poison it.
   */
  private static final class Crowd {
    private static final int LANES = 64;

    private final TestDatabase database;
    private final boolean postgres;

    Crowd(TestDatabase database) {
      this.database = database;
      this.postgres = database.kind() == DatabaseKind.POSTGRES;
      rows("delivery", "", "", "paused", WAITING, 1, FIRST);
      rows(
          "later",
          ", due_at, reason",
          ", " + tomorrow() + ", 'retry'",
          "tomorrow",
          WAITING,
          1,
          FIRST + WAITING);
      long heads = FIRST + 2L * WAITING;
      rows(
          "poison",
          ", poisoned_at, failed_at, version, failures, crashes, releases, error_code, error_type,"
              + " error_text, fingerprint, stack",
          ", %1$s, %1$s, 1, 5, 0, 0, 'PH-HND-01', 'x', 'x', 'x', 'x'".formatted(now()),
          "blocked",
          KEYS,
          KEYS,
          heads);
      rows(
          "later",
          ", due_at, reason",
          ", NULL, 'blocked'",
          "blocked",
          KEYS * FOLLOWERS,
          KEYS,
          heads + KEYS);
      // What is accepted from now on stands behind everything else.
      database.execute(
          "ALTER SEQUENCE " + Tables.name(database, "message_seq") + " RESTART WITH 100000000");
    }

    /** Rows of one handler in all lanes, with as many different keys. */
    private void rows(
        String table,
        String columns,
        String values,
        String handler,
        int count,
        int keys,
        long from) {
      String numbers =
          postgres
              ? "generate_series(0, %d) AS n(n)".formatted(count - 1)
              : "(SELECT seq AS n FROM seq_0_to_%d) AS n".formatted(count - 1);
      // A key lies in one lane, and is no key at all where there is only one.
      String key = keys == 1 ? "NULL" : "1 + MOD(n, %d)".formatted(keys);
      String lane = keys == 1 ? "n" : "MOD(n, %d)".formatted(keys);
      database.execute(
          "INSERT INTO %s (lane, handler, seq, key_id, key_hash%s) SELECT MOD(%s, %d), %d, %d + n, %d, %s%s FROM %s"
              .formatted(
                  Tables.name(database, table),
                  columns,
                  lane,
                  LANES,
                  number("family", handler),
                  from,
                  number("key_id", handler),
                  key,
                  values,
                  numbers));
    }

    private String now() {
      return postgres ? "now()" : "UTC_TIMESTAMP(6)";
    }

    private String tomorrow() {
      return postgres ? "now() + interval '1 day'" : "UTC_TIMESTAMP(6) + INTERVAL 1 DAY";
    }

    private long number(String column, String handler) {
      return database.count(
          "SELECT %s FROM %s WHERE handler_key = '%s'"
              .formatted(column, Tables.name(database, "handler"), handler));
    }

    long rows(String table, String handler) {
      return database.count(
          "SELECT COUNT(*) FROM %s WHERE handler = %d"
              .formatted(Tables.name(database, table), number("family", handler)));
    }

    long receipts(String one, String other) {
      return rows("receipt", one) + rows("receipt", other);
    }
  }
}
