package dev.pigeonhole.micrometer;

import static dev.pigeonhole.HandlerOption.atMost;
import static dev.pigeonhole.HandlerOption.pausingAfter;
import static dev.pigeonhole.HandlerOption.retrying;
import static java.time.Duration.ZERO;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.pigeonhole.Channel;
import dev.pigeonhole.Handler;
import dev.pigeonhole.HandlerKey;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.OnConflict;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import dev.pigeonhole.testkit.MemoryStore;
import dev.pigeonhole.testkit.TestClock;
import dev.pigeonhole.testkit.TestInbox;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.slf4j.LoggerFactory;
import org.slf4j.MDC;

/** What the log says of attempts beside its text. */
class LogContextTest {
  private static final Duration LONG = Duration.ofMinutes(2);
  private static final int LANES = 4;
  private static final Pattern ROW =
      Pattern.compile("(?m)^\\| `([a-z-]+)` \\| (WARN|INFO)[^|]* \\| (.*) \\|$");
  private static final Pattern KEY = Pattern.compile("`(pigeonhole\\.[a-z.]+)`");

  private final List<Map<String, String>> seen = new ArrayList<>();

  @AfterEach
  void clear() {
    MDC.clear();
  }

  @Test
  void whatAHandlerLogsSaysForWhichAttempt() {
    MDC.put("pigeonhole.attempt", "mine");
    MDC.put("user", "alice");
    TestInbox inbox =
        TestInbox.of(
            Channel.named("c")
                .on(String.class)
                .handle("h", text -> seen.add(MDC.getCopyOfContextMap()))
                .build());
    inbox.receive("m", "x");
    inbox.drain();

    assertThat(seen)
        .containsExactly(
            Map.of(
                "pigeonhole.message.id", "m",
                "pigeonhole.handler.key", "h",
                "pigeonhole.attempt", "1",
                "user", "alice"));
    assertThat(MDC.getCopyOfContextMap())
        .isEqualTo(Map.of("pigeonhole.attempt", "mine", "user", "alice"));
  }

  @Test
  void aBatchHasItsHandlerInCommon() {
    TestInbox inbox =
        TestInbox.of(
            Channel.named("c")
                .on(String.class)
                .handleBatch("h", 10, batch -> seen.add(MDC.getCopyOfContextMap()))
                .build());
    inbox.receive("m", "x");
    inbox.receive("n", "x");
    inbox.drain();

    assertThat(seen).containsExactly(Map.of("pigeonhole.handler.key", "h"));
  }

  // ---- lines that programs read

  /** What this leaves in the log that has key-value pairs. */
  private static List<ILoggingEvent> lines(Runnable work) {
    Logger engine = (Logger) LoggerFactory.getLogger("dev.pigeonhole");
    ListAppender<ILoggingEvent> log = new ListAppender<>();
    log.start();
    Level before = engine.getLevel();
    engine.setLevel(Level.INFO);
    engine.addAppender(log);
    try {
      work.run();
    } finally {
      engine.detachAppender(log);
      engine.setLevel(before);
    }
    return log.list.stream().filter(line -> line.getKeyValuePairs() != null).toList();
  }

  private static Map<String, String> pairs(ILoggingEvent line) {
    return line.getKeyValuePairs().stream()
        .collect(Collectors.toMap(pair -> pair.key, pair -> pair.value.toString()));
  }

  private static Map<String, String> ofAttempt(String event, int attempt, String code) {
    return Map.of(
        "pigeonhole.event",
        event,
        "pigeonhole.inbox",
        "inbox",
        "pigeonhole.handler.key",
        "h",
        "pigeonhole.message.id",
        "m",
        "pigeonhole.attempt",
        "" + attempt,
        "pigeonhole.code",
        code);
  }

  private static Map<String, String> ofNode(String event, String node) {
    return Map.of("pigeonhole.event", event, "pigeonhole.inbox", "inbox", "pigeonhole.node", node);
  }

  private static TestInbox inbox(Handler<String> handler, HandlerOption... options) {
    return TestInbox.of(Channel.named("c").on(String.class).handle("h", handler, options).build());
  }

  private static void poison() {
    TestInbox inbox =
        inbox(
            text -> {
              throw new PoisonException("never");
            });
    inbox.receive("m", "x");
    inbox.drain();
  }

  @Test
  void aPoisonedDeliveryIsALineThatProgramsCanRead() {
    List<ILoggingEvent> log = lines(LogContextTest::poison);

    assertThat(log).hasSize(1);
    assertThat(log.get(0).getFormattedMessage()).contains("is poisoned after attempt 1");
    assertThat(pairs(log.get(0))).isEqualTo(ofAttempt("poisoned", 1, "PH-HND-04"));
  }

  /** Messages wait for a handler that has gone, and whose key it had before. */
  private static void forgetHandler() {
    MemoryStore store = MemoryStore.create();
    HandlerKey gone = HandlerKey.of("gone").formerly("once");
    TestInbox before =
        TestInbox.on(
            store,
            new TestClock(),
            Channel.named("c").on(String.class).handle(gone, text -> {}).build());
    before.receive("m", "x");
    before.receive("n", "x");
    TestInbox.on(
            store,
            new TestClock(),
            Channel.named("c").on(String.class).handle("h", text -> {}).build())
        .with(it -> it.holdUnknownKeys(ZERO))
        .drain();
  }

  @Test
  void deliveriesWhoseHandlerNobodyKnowsAreALineThatProgramsCanRead() {
    List<ILoggingEvent> log = lines(LogContextTest::forgetHandler);

    assertThat(log)
        .extracting(LogContextTest::pairs)
        .containsExactly(
            Map.of(
                "pigeonhole.event", "poisoned-unknown",
                "pigeonhole.inbox", "inbox",
                "pigeonhole.handler.key", "gone, once",
                "pigeonhole.deliveries", "2",
                "pigeonhole.code", "PH-KEY-06"));
  }

  /** Fails twice, and is paused. */
  private static void pause() {
    CountDownLatch paused = new CountDownLatch(1);
    try (TestInbox inbox =
        inbox(
            text -> {
              throw new IllegalStateException("down");
            },
            retrying(RetryPolicy.fixed(ofMillis(1))),
            pausingAfter(2))) {
      inbox
          .with(
              it ->
                  it.listener(
                      event -> {
                        if (event instanceof InboxEvent.HandlerPaused) {
                          paused.countDown();
                        }
                      }))
          .start();
      inbox.receive("m", "x");
      Eventually.until(
          "the first failure", LONG, () -> inbox.find("m", "h").orElseThrow().failures() == 1);
      inbox.advance(ofSeconds(1));
      paused.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void aHandlerThatKeepsFailingIsALineForEachFailureAndOneForItsPause() {
    List<ILoggingEvent> log = lines(LogContextTest::pause);

    assertThat(log)
        .extracting(LogContextTest::pairs)
        .containsExactlyInAnyOrder(
            ofAttempt("attempt-failed", 1, "PH-HND-01"),
            ofAttempt("handler-paused", 2, "PH-HND-01"),
            ofAttempt("attempt-failed", 2, "PH-HND-01"));
  }

  private static TestInbox inbox(OnConflict onConflict) {
    return TestInbox.of(
        Channel.named("c").onConflict(onConflict).on(String.class).handle("h", text -> {}).build());
  }

  private static void conflict(OnConflict onConflict) {
    TestInbox inbox = inbox(onConflict);
    inbox.receive("m", "x");
    inbox.receive("m", "x");
    inbox.receive("m", "y");
  }

  @ParameterizedTest
  @CsvSource({"KEEP, kept until an operator decides", "REJECT, 'rejected, and not kept'"})
  void otherContentUnderAKnownIdIsALineThatProgramsCanRead(OnConflict onConflict, String said) {
    List<ILoggingEvent> log = lines(() -> conflict(onConflict));

    assertThat(log).hasSize(1);
    assertThat(log.get(0).getFormattedMessage()).contains("c/m").contains(said);
    assertThat(pairs(log.get(0)))
        .isEqualTo(
            Map.of(
                "pigeonhole.event", "conflict",
                "pigeonhole.inbox", "inbox",
                "pigeonhole.channel", "c",
                "pigeonhole.message.id", "m",
                "pigeonhole.code", "PH-ID-08"));
  }

  @Test
  void aSenderThatUsesAllItsIdsAgainDoesNotFloodTheLog() {
    TestInbox inbox = inbox(OnConflict.REJECT);
    inbox.receive("m", "x");
    long began = System.nanoTime();
    List<ILoggingEvent> log =
        lines(
            () -> {
              for (int i = 0; i < 2_000; i++) {
                inbox.receive("m", "y");
              }
            });
    long seconds = Duration.ofNanos(System.nanoTime() - began).toSeconds();

    assertThat(log).as("20 a second").hasSizeBetween(20, (int) (20 * (seconds + 1)));
  }

  /**
   * A node is silent, another takes over its lanes, and is thought to be dead in turn.
   *
   * @return the other's name
   */
  private static String die() {
    MemoryStore store = MemoryStore.create();
    AtomicInteger lanes = new AtomicInteger();
    try (TestInbox inbox =
        TestInbox.on(
            store,
            new TestClock(),
            Channel.named("c").on(String.class).handle("h", text -> {}).build())) {
      inbox.with(
          it ->
              it.lanes(LANES)
                  .beat(ofSeconds(1))
                  .deadAfter(ofSeconds(5)) // longer than a busy machine stands still
                  .listener(
                      event -> {
                        if (event instanceof InboxEvent.LanesMoved moved
                            && moved.move() == InboxEvent.Move.RESCUED) {
                          lanes.addAndGet(moved.lanes());
                        }
                      }));
      inbox.inbox();
      Deaths.ofOneThatHasAllLanes(store);
      inbox.start();
      Eventually.until("a takeover", LONG, () -> lanes.get() == LANES);
      String name = Deaths.living(store).name();
      Deaths.ofTheLiving(store);
      Eventually.until("another", LONG, () -> lanes.get() == 2 * LANES);
      return name;
    }
  }

  @Test
  void deathsOfNodesAreLinesThatProgramsCanRead() {
    AtomicReference<String> name = new AtomicReference<>();
    List<ILoggingEvent> log = lines(() -> name.set(die()));

    int lanes = 0;
    Set<Map<String, String>> told = new LinkedHashSet<>();
    for (ILoggingEvent line : log) {
      Map<String, String> pairs = new HashMap<>(pairs(line));
      String taken = pairs.remove("pigeonhole.lanes");
      lanes += taken == null ? 0 : Integer.parseInt(taken);
      assertThat(taken != null).isEqualTo(pairs.containsValue("takeover"));
      told.add(pairs);
    }
    assertThat(lanes).isEqualTo(2 * LANES); // perhaps not all of them at once
    assertThat(told)
        .containsExactly(
            ofNode("node-died", Deaths.GHOST),
            ofNode("takeover", name.get()),
            ofNode("declared-dead", name.get()));
  }

  /** More waits than the sources may bring. */
  private static void fillUp() {
    CompletableFuture<Void> gate = new CompletableFuture<>();
    CountDownLatch paused = new CountDownLatch(1);
    try (TestInbox inbox = inbox(text -> gate.get(), atMost(1))) {
      inbox.with(
          it ->
              it.maxBacklog(1)
                  .beat(ofMillis(200))
                  .deadAfter(ofSeconds(60))
                  .stopGrace(ZERO)
                  .listener(
                      event -> {
                        if (event instanceof InboxEvent.SourcesPaused) {
                          paused.countDown();
                        }
                      }));
      for (int i = 0; i < 5; i++) {
        inbox.receive("m" + i, "x");
      }
      inbox.start();
      paused.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void sourcesThatPauseAreALineThatProgramsCanRead() {
    List<ILoggingEvent> log = lines(LogContextTest::fillUp);

    assertThat(log)
        .extracting(LogContextTest::pairs)
        .containsExactly(Map.of("pigeonhole.event", "sources-paused", "pigeonhole.inbox", "inbox"));
  }

  /** The server ends the session of the first attempt. */
  private static void loseConnection() {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES)) {
      CountDownLatch completed = new CountDownLatch(1);
      AtomicBoolean lost = new AtomicBoolean();
      Channel orders =
          Channel.named("c")
              .on(OrderPlaced.class)
              .handleInTransaction(
                  "h",
                  (order, tx) -> {
                    if (lost.compareAndSet(false, true)) {
                      tx.connection()
                          .prepareStatement("SELECT pg_terminate_backend(pg_backend_pid())")
                          .execute();
                    }
                    completed.countDown();
                  })
              .build();
      Inbox inbox =
          Inbox.on(Shop.in(database).store)
              .named("inbox")
              .codec(Shop.CODEC)
              .channel(orders)
              .build();
      inbox.accept("c", Message.of("m", new OrderPlaced("m")));
      try (RunningInbox running = inbox.start()) {
        completed.await();
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void anAttemptThatDoesNotCountIsALineThatProgramsCanRead() {
    List<ILoggingEvent> log = lines(LogContextTest::loseConnection);

    assertThat(log)
        .extracting(LogContextTest::pairs)
        .containsExactly(ofAttempt("attempt-uncounted", 1, "PH-DB-18"));
  }

  @Test
  void thePageListsEveryLineWithItsLevelAndItsPairs() throws IOException {
    Map<String, Set<String>> written = new TreeMap<>();
    lines(
            () -> {
              poison();
              forgetHandler();
              pause();
              conflict(OnConflict.KEEP);
              die();
              fillUp();
              loseConnection();
            })
        .forEach(
            line -> {
              Set<String> keys = new TreeSet<>(pairs(line).keySet());
              keys.remove("pigeonhole.event");
              written.put(line.getLevel() + " " + pairs(line).get("pigeonhole.event"), keys);
            });
    Map<String, Set<String>> listed = new TreeMap<>();
    ROW.matcher(Files.readString(MetersPage.FILE))
        .results()
        .forEach(row -> listed.put(row.group(2) + " " + row.group(1), keys(row.group(3), listed)));
    assertThat(listed).isEqualTo(written);
  }

  /** What a cell of the table lists, or another row that it points to. */
  private static Set<String> keys(String cell, Map<String, Set<String>> listed) {
    if (cell.startsWith("the same as `poisoned`")) {
      return listed.get("WARN poisoned");
    }
    return KEY.matcher(cell)
        .results()
        .map(key -> key.group(1))
        .collect(Collectors.toCollection(TreeSet::new));
  }
}
