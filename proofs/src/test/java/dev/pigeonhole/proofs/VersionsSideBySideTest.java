package dev.pigeonhole.proofs;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.HandlerKey;
import dev.pigeonhole.HandlerTransaction;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.TypeBuilder;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.event.InboxListener;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.DuplicateRows;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Two versions of an application share one inbox for a while, as in every rolling deployment. Each
 * node here is an inbox with its own store and pool.
 */
class VersionsSideBySideTest {
  private static final Duration GRACE = Duration.ofSeconds(Size.of(2, 10));
  private static final Duration PATIENCE = Duration.ofMinutes(3);
  private static final Duration GENEROUS = Duration.ofMinutes(5);

  /** Message and handler → how often it was handled. */
  private final Map<String, AtomicInteger> handled = new ConcurrentHashMap<>();

  private final Queue<Long> lags = new ConcurrentLinkedQueue<>();

  /**
   * For three grace periods, each version has one handler that the other does not know. If a node
   * took "unknown to me" for "unknown to all", it would poison the other's work after the first.
   */
  static List<DatabaseKind> databases() {
    return Size.databases(DatabaseKind.MARIADB);
  }

  @ParameterizedTest
  @MethodSource("databases")
  void neitherVersionPoisonsWhatOnlyTheOtherKnows(DatabaseKind kind) throws Exception {
    int messages = Size.of(200, 1_500);
    Duration load = GRACE.multipliedBy(3).plus(GRACE);
    try (TestDatabase database = TestDatabases.open(kind)) {
      Schema.migrate(database.dataSource());
      Inbox v1 = node(database, type -> handlers(type, "common", "old"));
      Inbox v2 = node(database, type -> handlers(type, "common", "new"));
      try (RunningInbox one = v1.start();
          RunningInbox other = v2.start()) {
        for (int i = 0; i < messages; i++) {
          (i % 2 == 0 ? v1 : v2).accept("versions", Message.of("m-" + i, "hello"));
          TimeUnit.NANOSECONDS.sleep(load.toNanos() / messages);
        }
        Eventually.until("no open delivery", PATIENCE, () -> Tables.openCount(database) == 0);
      }
      assertThat(DuplicateRows.in(database)).as("standing twice").isEmpty();
      assertThat(Tables.count(database, "poison")).as("poisoned").isZero();
      for (int i = 0; i < messages; i++) {
        String id = "m-" + i;
        assertThat(times(id, "common")).as(id).isEqualTo(1);
        assertThat(times(id, i % 2 == 0 ? "old" : "new")).as(id).isEqualTo(1);
      }
      assertThat(handled).hasSize(2 * messages);
      report(kind + ": two versions, " + messages + " messages");
    }
  }

  /** Cells of a handler are shared out among those who know it, be it one of three. */
  @ParameterizedTest
  @MethodSource("databases")
  void aHandlerThatOneOfThreeNodesKnowsCompletes(DatabaseKind kind) {
    int messages = Size.of(200, 500);
    try (TestDatabase database = TestDatabases.open(kind)) {
      Schema.migrate(database.dataSource());
      Inbox first = node(database, type -> handlers(type, "common"));
      Inbox second = node(database, type -> handlers(type, "common"));
      Inbox knowing = node(database, type -> handlers(type, "common", "rare"));
      try (RunningInbox one = first.start();
          RunningInbox two = second.start();
          RunningInbox three = knowing.start()) {
        List<Message> batch = new ArrayList<>();
        for (int i = 0; i < messages; i++) {
          batch.add(Message.of("m-" + i, "hello"));
        }
        knowing.accept("versions", batch);
        Eventually.until("no open delivery", PATIENCE, () -> Tables.openCount(database) == 0);
      }
      assertThat(DuplicateRows.in(database)).as("standing twice").isEmpty();
      assertThat(Tables.count(database, "poison")).as("poisoned").isZero();
      for (int i = 0; i < messages; i++) {
        assertThat(times("m-" + i, "common")).isEqualTo(1);
        assertThat(times("m-" + i, "rare")).isEqualTo(1);
      }
      report(kind + ": one of three nodes, " + messages + " messages");
    }
  }

  /**
   * The handler {@code ship} becomes {@code dispatch}, and both versions accept and handle the same
   * messages at once, in different orders. If the two keys were two handlers to the gate, each
   * message would be handled under both names.
   */
  @ParameterizedTest
  @MethodSource("databases")
  void aRenamedHandlerHandlesEachMessageOnce(DatabaseKind kind) throws Exception {
    long seed = Size.seed("rename on " + kind);
    int messages = Size.of(150, 1_250);
    try (TestDatabase database = TestDatabases.open(kind)) {
      Schema.migrate(database.dataSource());
      Tables.createEffects(database);
      Inbox v1 = node(database, type -> renamed(type, HandlerKey.of("ship")));
      Inbox v2 = node(database, type -> renamed(type, HandlerKey.of("dispatch").formerly("ship")));
      AtomicInteger accepted = new AtomicInteger();
      try (RunningInbox one = v1.start();
          RunningInbox other = v2.start()) {
        CyclicBarrier together = new CyclicBarrier(4);
        List<Thread> senders = new ArrayList<>();
        for (Inbox version : List.of(v1, v2, v1, v2)) {
          List<Integer> numbers = new ArrayList<>();
          for (int i = 0; i < messages; i++) {
            numbers.add(i);
          }
          // Nearly the same order, so that the same ids meet at the same time.
          for (int i = 0; i < messages; i += 10) {
            Collections.shuffle(numbers.subList(i, i + 10), new Random(seed + senders.size() + i));
          }
          Thread sender =
              new Thread(
                  () -> {
                    for (int i = 0; i < messages; i += 10) {
                      await(together);
                      for (int number : numbers.subList(i, i + 10)) {
                        Acceptance answer =
                            version.accept("versions", Message.of("m-" + number, "hello"));
                        if (answer instanceof Acceptance.Accepted) {
                          accepted.incrementAndGet();
                        }
                      }
                    }
                  });
          senders.add(sender);
          sender.start();
        }
        for (Thread sender : senders) {
          sender.join();
        }
        Eventually.until("no open delivery", PATIENCE, () -> Tables.openCount(database) == 0);
      }
      List<Map<String, Object>> doubled =
          database.rows(
              "SELECT message, COUNT(*) AS times FROM effect GROUP BY message HAVING COUNT(*) > 1");
      long byOld = database.count("SELECT COUNT(*) FROM effect WHERE handler = 'ship'");
      long byNew = database.count("SELECT COUNT(*) FROM effect WHERE handler = 'dispatch'");
      System.out.printf(
          "%s: %d messages sent four times, %d effects under the old name, %d under the new%n",
          kind, messages, byOld, byNew);
      assertThat(doubled).as("handled twice").isEmpty();
      assertThat(byOld + byNew).as("effects").isEqualTo(messages);
      assertThat(accepted).as("accepted as new").hasValue(messages);
      assertThat(byOld).as("both versions must have accepted something").isPositive();
      assertThat(byNew).as("both versions must have accepted something").isPositive();
      assertThat(DuplicateRows.in(database)).as("standing twice").isEmpty();
      assertThat(Tables.count(database, "poison")).as("poisoned").isZero();
    }
  }

  private static void await(CyclicBarrier together) {
    try {
      together.await();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private int times(String id, String handler) {
    AtomicInteger times = handled.get(id + " " + handler);
    return times == null ? 0 : times.get();
  }

  /** A pool is closed together with the database. */
  private Inbox node(TestDatabase database, java.util.function.Consumer<TypeBuilder<String>> type) {
    HikariDataSource pool = database.pool(10);
    TypeBuilder<String> handlers = Channel.named("versions").on(String.class);
    type.accept(handlers);
    return Inbox.on(JdbcStore.of(pool))
        .named("versions")
        .channel(handlers.build())
        .lanes(16)
        .concurrency(4)
        .beat(Duration.ofMillis(500))
        .deadAfter(GENEROUS) // nobody dies here, however slow the machine
        .holdUnknownKeys(GRACE)
        .listener(
            InboxListener.create()
                .with(InboxEvent.Completed.class, event -> lags.add(event.lag().toMillis())))
        .build();
  }

  private void handlers(TypeBuilder<String> type, String... keys) {
    for (String key : keys) {
      type.handleMessage(
          key,
          received ->
              handled
                  .computeIfAbsent(
                      received.message().id() + " " + received.handler(),
                      none -> new AtomicInteger())
                  .incrementAndGet());
    }
  }

  private static void renamed(TypeBuilder<String> type, HandlerKey key) {
    type.handleInTransaction(key, VersionsSideBySideTest::effect);
  }

  private static void effect(String payload, HandlerTransaction<String> tx) throws SQLException {
    try (PreparedStatement insert =
        tx.connection().prepareStatement("INSERT INTO effect (handler, message) VALUES (?, ?)")) {
      insert.setString(1, tx.delivery().handler());
      insert.setString(2, tx.delivery().message().id());
      insert.executeUpdate();
    }
  }

  private void report(String what) {
    List<Long> sorted = lags.stream().sorted().toList();
    long median = sorted.get(sorted.size() / 2);
    long longest = sorted.get(sorted.size() - 1);
    System.out.printf("%s: waits %d ms in the median, %d ms at most%n", what, median, longest);
    assertThat(Duration.ofMillis(longest)).as("longest wait").isLessThan(GENEROUS);
  }
}
