package dev.pigeonhole.jdbc;

import static dev.pigeonhole.HandlerOption.perSecond;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.event.EventCounts;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What two nodes, each with a store of its own, must agree on by the tables alone. */
class TwoNodesTest {
  private static final Duration PATIENCE = Duration.ofMinutes(3);

  /** One of the two nodes. */
  private static final class Node {
    final List<Long> starts = new CopyOnWriteArrayList<>();
    final EventCounts counts = EventCounts.create();
    final Inbox inbox;

    Node(TestDatabase database, HandlerOption... options) {
      this.inbox =
          Inbox.on(JdbcStore.of(database.pool(6)))
              .channel(
                  Channel.named("c")
                      .on(String.class)
                      .handle("limited", text -> starts.add(System.nanoTime()), options)
                      .handle("other", text -> {})
                      .build())
              .listener(counts)
              .beat(Duration.ofMillis(200))
              .deadAfter(Duration.ofSeconds(30))
              .build();
    }
  }

  private static List<Message> messages(String prefix, int count) {
    return IntStream.range(0, count).mapToObj(i -> Message.of(prefix + i, "hello")).toList();
  }

  private static long cellsOfThePoorer(TestDatabase database) {
    List<?> owners =
        database.rows("SELECT owner FROM pigeonhole_lane WHERE owner <> 0 GROUP BY owner");
    return owners.size() < 2
        ? 0
        : database.count(
            "SELECT MIN(cells) FROM (SELECT COUNT(*) AS cells FROM pigeonhole_lane l"
                + " JOIN pigeonhole_handler h ON h.family = l.handler"
                + " WHERE h.handler_key = 'limited' GROUP BY l.owner) x");
  }

  /** A node that took the whole limit for itself would make two of them twice as fast. */
  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void twoNodesShareALimitPerSecond(DatabaseKind kind) {
    int limit = 40;
    int messages = 160;
    long accepted;
    try (TestDatabase database = TestDatabases.open(kind)) {
      InboxTables.in(database);
      Node one = new Node(database, perSecond(limit));
      Node two = new Node(database, perSecond(limit));
      try (RunningInbox first = one.inbox.start();
          RunningInbox second = two.inbox.start()) {
        Eventually.until("both own cells", PATIENCE, () -> cellsOfThePoorer(database) >= 24);
        accepted = System.nanoTime();
        one.inbox.accept("c", messages("m-", messages));
        Eventually.until(
            "all have run", PATIENCE, () -> one.starts.size() + two.starts.size() == messages);
      }
      assertThat(one.starts).as("runs of one node").isNotEmpty();
      assertThat(two.starts).as("runs of the other node").isNotEmpty();
      long last =
          Stream.of(one.starts, two.starts)
              .flatMap(List::stream)
              .mapToLong(Long::longValue)
              .max()
              .orElseThrow();
      // Each may have saved up a tenth of a second.
      double least = (messages - 1 - 2 * (1 + limit / 10)) / (double) limit;
      assertThat((last - accepted) / 1e9).as("seconds").isGreaterThan(0.9 * least);
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void aPauseIsSeenByANodeWithAnotherStore(DatabaseKind kind) {
    try (TestDatabase database = TestDatabases.open(kind)) {
      InboxTables.in(database);
      Node operators = new Node(database);
      Node running = new Node(database);
      try (RunningInbox node = running.inbox.start()) {
        assertThat(operators.inbox.admin().as("ada").pause("limited", "mail is down")).isTrue();
        Eventually.until(
            "the node has seen it",
            PATIENCE,
            () -> running.counts.of(InboxEvent.HandlerPaused.class) == 1);

        operators.inbox.accept("c", messages("m-", 20));
        Eventually.until(
            "the other handler has done all",
            PATIENCE,
            () -> database.count("SELECT COUNT(*) FROM pigeonhole_receipt") == 20);
        assertThat(running.starts).isEmpty();

        assertThat(operators.inbox.admin().as("ada").resume("limited", "mail is back")).isTrue();
        Eventually.until("all have run", PATIENCE, () -> running.starts.size() == 20);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void lanesWithLongAttemptsAreWorkedOnWhileAnotherNodeComesAndGoes(DatabaseKind kind) {
    CountDownLatch end = new CountDownLatch(1);
    AtomicInteger longs = new AtomicInteger();
    AtomicInteger shorts = new AtomicInteger();
    Channel channel =
        Channel.named("c")
            .on(String.class)
            .handleMessage(
                "h",
                received -> {
                  if (received.message().id().startsWith("long")) {
                    longs.incrementAndGet();
                    end.await();
                  } else {
                    shorts.incrementAndGet();
                  }
                })
            .build();
    try (TestDatabase database = TestDatabases.open(kind)) {
      InboxTables.in(database);
      Inbox one = withFewLanes(database, channel);
      try (RunningInbox first = one.start()) {
        one.accept("c", messages("long-", 60)); // so that probably no lane is without one
        Eventually.until("all long ones run", PATIENCE, () -> longs.get() == 60);
        try (RunningInbox second = withFewLanes(database, channel).start()) {
          Eventually.until(
              "both have beaten for a while",
              PATIENCE,
              () -> database.count("SELECT MIN(beat) FROM pigeonhole_node") >= 10);
          one.accept("c", messages("short-", 200));
          Eventually.until("the short ones have run", PATIENCE, () -> shorts.get() == 200);
        }
        one.accept("c", messages("last-", 200));
        Eventually.until("the last ones have run", PATIENCE, () -> shorts.get() == 400);
        end.countDown();
        Eventually.until(
            "all are completed",
            PATIENCE,
            () -> database.count("SELECT COUNT(*) FROM pigeonhole_receipt") == 460);
      } finally {
        end.countDown();
      }
      assertThat(longs).hasValue(60);
      assertThat(shorts).hasValue(400);
    }
  }

  private static Inbox withFewLanes(TestDatabase database, Channel channel) {
    return Inbox.on(JdbcStore.of(database.pool(6)))
        .channel(channel)
        .lanes(8)
        .concurrency(100)
        .beat(Duration.ofMillis(200))
        .deadAfter(Duration.ofSeconds(30))
        .build();
  }
}
