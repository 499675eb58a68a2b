package dev.pigeonhole.micrometer;

import static dev.pigeonhole.HandlerOption.within;
import static java.time.Duration.ZERO;
import static java.time.Duration.ofDays;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Guard;
import dev.pigeonhole.GuardBuilder;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.MissingKeyException;
import dev.pigeonhole.OnMissingKey;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.Unhandled;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.outbox.Outbox;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import dev.pigeonhole.testkit.MemoryQueue;
import dev.pigeonhole.testkit.MemoryStore;
import dev.pigeonhole.testkit.TestClock;
import dev.pigeonhole.testkit.TestInbox;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.LongTaskTimer;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.MockClock;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleConfig;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Every word that the page lists as an outcome or a state is brought about, and counted under this
 * word: alerts choose by it.
 */
class OutcomesTest {
  private static final Duration LONG = Duration.ofMinutes(2);
  private static final int LANES = 4;
  private static final String ACCEPT = "pigeonhole.inbox.accept";
  private static final String PROCESS = "pigeonhole.inbox.process";
  private static final String LEASE = "pigeonhole.inbox.lease";
  private static final String GUARD = "pigeonhole.guard";
  private static final String PUBLISH = "pigeonhole.outbox.publish";
  private static final String RELAY = "pigeonhole.outbox.relay";

  private final MockClock clock = new MockClock();
  private final MeterRegistry meters = new SimpleMeterRegistry(SimpleConfig.DEFAULT, clock);
  private final InboxMetrics metrics = InboxMetrics.to(meters);
  private final MetersPage page = new MetersPage();
  private final CompletableFuture<Void> gate = new CompletableFuture<>();
  private final CompletableFuture<Void> stubbornly = new CompletableFuture<>();

  @AfterEach
  void open() {
    gate.complete(null);
    stubbornly.complete(null);
  }

  private interface Work {
    void run() throws Exception;
  }

  /** The outcomes under which the meter has counted more after this. */
  private Set<String> counted(String meter, Work work) throws Exception {
    Map<String, Double> before = counts(meter);
    work.run();
    Set<String> more = new TreeSet<>();
    Eventually.until(
        meter + " to count",
        LONG,
        () -> {
          counts(meter)
              .forEach(
                  (outcome, count) -> {
                    if (count > before.getOrDefault(outcome, 0.0)) {
                      more.add(outcome);
                    }
                  });
          return !more.isEmpty();
        });
    return more;
  }

  private Map<String, Double> counts(String name) {
    Map<String, Double> counts = new TreeMap<>();
    for (Meter meter : meters.find(name).meters()) {
      double count =
          meter instanceof Timer timer ? (double) timer.count() : ((Counter) meter).count();
      counts.merge(String.valueOf(meter.getId().getTag("outcome")), count, Double::sum);
    }
    counts.values().removeIf(count -> count == 0);
    return counts;
  }

  /** By state, over all handlers, as the store says now. */
  private Map<String, Double> states(String name) {
    clock.add(GaugeOptions.defaults().interval());
    Map<String, Double> states = new TreeMap<>();
    for (Gauge gauge : meters.get(name).gauges()) {
      states.merge(String.valueOf(gauge.getId().getTag("state")), gauge.value(), Double::sum);
    }
    return states;
  }

  private double gauge(String name, String... tags) {
    return meters.get(name).tags(tags).gauge().value();
  }

  private static Message order(String id) {
    return Message.of(id, new OrderPlaced(id));
  }

  private static Message strange(String id) {
    return Message.encoded(id, "strange", new byte[] {1}, "x/y");
  }

  // ---- handing in

  @Test
  void whatIsHandedInIsCountedByItsAnswer() throws Exception {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.H2)) {
      Inbox inbox =
          Inbox.on(Shop.in(database).store)
              .codec(Shop.CODEC)
              .lanes(LANES)
              .channel(
                  Channel.named("orders")
                      .on(OrderPlaced.class)
                      .handle("reserve-stock", order -> {})
                      .build())
              .channel(
                  Channel.named("cards")
                      .inline()
                      .unhandled(Unhandled.IGNORE)
                      .on(OrderPlaced.class)
                      .handle("charge-card", order -> fail("no money"))
                      .build())
              .listener(metrics)
              .build();

      assertThat(counted(ACCEPT, () -> inbox.accept("orders", order("m"))))
          .containsExactly("accepted");
      assertThat(counted(ACCEPT, () -> inbox.accept("orders", order("m"))))
          .containsExactly("repeat");
      Message other = Message.of("m", new OrderPlaced("other"));
      assertThat(counted(ACCEPT, () -> inbox.accept("orders", other))).containsExactly("conflict");
      assertThat(counted(ACCEPT, () -> inbox.accept("orders", order(""))))
          .containsExactly("rejected");
      assertThat(counted(ACCEPT, () -> inbox.accept("orders", strange("kept"))))
          .containsExactly("unhandled");
      assertThat(counted(ACCEPT, () -> inbox.accept("cards", strange("ignored"))))
          .containsExactly("unhandled");
      assertThat(counted(ACCEPT, () -> inbox.accept("cards", order("unfinished"))))
          .containsExactly("error");
      try (Connection inAutocommit = database.dataSource().getConnection()) {
        assertThat(
                counted(
                    ACCEPT,
                    () ->
                        assertThatThrownBy(() -> inbox.accept(inAutocommit, "orders", order("n")))
                            .isInstanceOf(StoreException.class)))
            .containsExactly("error");
      }
    }
    assertThat(counts(ACCEPT).keySet()).isEqualTo(page.words(ACCEPT));
  }

  private static void fail(String text) {
    throw new IllegalStateException(text);
  }

  // ---- attempts

  @Test
  void attemptsAreCountedByTheirEnd() throws Exception {
    CountDownLatch inside = new CountDownLatch(1);
    TestInbox inbox =
        TestInbox.of(
                Channel.named("c")
                    .on(String.class)
                    .handle(
                        "h",
                        text -> {
                          switch (text) {
                            case "bad" -> throw new PoisonException("never");
                            case "late" -> fail("not yet");
                            case "held" -> {
                              inside.countDown();
                              gate.get();
                            }
                            default -> {}
                          }
                        })
                    .build(),
                Channel.named("slow")
                    .on(byte[].class)
                    .handle("s", bytes -> stubbornly.join(), within(ofMillis(50)))
                    .build())
            .with(
                it ->
                    it.lanes(LANES)
                        .stopGrace(ZERO)
                        .listener(metrics)
                        .around(ProcessObservations.in(meters)));
    metrics.watch(inbox.inbox());
    assertThat(counted(PROCESS, () -> handle(inbox, "fine"))).containsExactly("completed");
    assertThat(counted(PROCESS, () -> handle(inbox, "late"))).containsExactly("retry");
    assertThat(counted(PROCESS, () -> handle(inbox, "bad"))).containsExactly("poisoned");

    inbox.start();
    try {
      assertThat(counted(PROCESS, () -> inbox.receive("slow", Message.of("m", new byte[1]))))
          .containsExactly("timeout");
      Eventually.until("a leak", LONG, () -> gauge("pigeonhole.inbox.leaked.slots") == 1);
      stubbornly.complete(null);
      Eventually.until("its end", LONG, () -> gauge("pigeonhole.inbox.leaked.slots") == 0);

      inbox.receive("c", Message.of("held", "held"));
      inside.await();
      assertThat(underWay(PROCESS)).isEqualTo(Map.of("none", 1));
      assertThat(page.words(PROCESS + ".active")).containsExactly("none");
      assertThat(counted(PROCESS, inbox::close)).containsExactly("released");
    } finally {
      inbox.close();
    }
    assertThat(counts(PROCESS).keySet()).isEqualTo(page.words(PROCESS));
  }

  private static void handle(TestInbox inbox, String text) {
    inbox.receive("c", Message.of(text, text));
    inbox.drain();
  }

  /** How many attempts, by their outcome. */
  private Map<String, Integer> underWay(String name) {
    return meters.get(name + ".active").longTaskTimers().stream()
        .collect(
            Collectors.toMap(
                timer -> String.valueOf(timer.getId().getTag("outcome")),
                LongTaskTimer::activeTasks,
                Integer::sum));
  }

  // ---- lanes

  @Test
  void lanesAreCountedByWhereTheyComeFromAndWhereTheyGo() throws Exception {
    MemoryStore store = MemoryStore.create();
    TestInbox inbox =
        TestInbox.on(
                store,
                new TestClock(),
                Channel.named("c").on(String.class).handle("h", text -> {}).build())
            .with(
                it ->
                    it.lanes(LANES)
                        .beat(ofMillis(400))
                        .deadAfter(ofMinutes(5)) // however long the machine stands still
                        .listener(metrics));
    metrics.watch(inbox.inbox());
    Deaths.declared(store, Deaths.ofOneThatHasAllLanes(store));
    String lanes = "pigeonhole.inbox.lanes";

    assertThat(counted(LEASE, inbox::start)).containsExactly("rescued");
    Eventually.until("all lanes", LONG, () -> counts(LEASE).equals(Map.of("rescued", 4.0)));
    assertThat(states(lanes)).isEqualTo(Map.of("owned", 4.0, "unowned", 0.0));

    Deaths.ofTheLiving(store);
    Eventually.until(
        "their loss, and them again",
        LONG,
        () -> counts(LEASE).equals(Map.of("rescued", 8.0, "lost", 4.0)));
    assertThat(counted(LEASE, inbox::close)).containsExactly("handed-over");
    assertThat(counts(LEASE)).containsEntry("handed-over", 4.0);
    assertThat(states(lanes)).isEqualTo(Map.of("owned", 0.0, "unowned", 4.0));

    assertThat(counted(LEASE, inbox::drain)).containsExactly("acquired", "handed-over");
    assertThat(counts(LEASE)).containsEntry("acquired", 4.0).containsEntry("handed-over", 8.0);
    assertThat(counts(LEASE).keySet()).isEqualTo(page.words(LEASE));
    assertThat(states(lanes).keySet()).isEqualTo(page.words(lanes));
  }

  /** The server ends the session of the first attempt, and the second one succeeds. */
  @Test
  void anAttemptThatADatabaseErrorEndsIsCountedAsUncounted() throws Exception {
    AtomicInteger attempts = new AtomicInteger();
    try (TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES)) {
      Inbox inbox =
          Inbox.on(Shop.in(database).store)
              .named("shop")
              .codec(Shop.CODEC)
              .lanes(LANES)
              .channel(
                  Channel.named("orders")
                      .on(OrderPlaced.class)
                      .handleInTransaction(
                          "charge-card",
                          (order, tx) -> {
                            if (attempts.incrementAndGet() == 1) {
                              endSession(tx.connection());
                            }
                          })
                      .build())
              .listener(metrics)
              .build();
      inbox.accept("orders", order("m"));
      try (RunningInbox running = inbox.start()) {
        Eventually.until(
            "the second attempt",
            LONG,
            () ->
                inbox.find("orders", "m", "charge-card").orElseThrow().state()
                    == DeliveryState.COMPLETED);
        Eventually.until("a healthy node", LONG, running::healthy);
      }
    }
    assertThat(attempts).hasValue(2);
    assertThat(
            meters
                .get("pigeonhole.inbox.uncounted")
                .tags("inbox", "shop", "handler", "charge-card")
                .counter()
                .count())
        .isEqualTo(1);
  }

  private static void endSession(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute("SELECT pg_terminate_backend(pg_backend_pid())");
    }
  }

  // ---- what waits, and what is forgotten

  @Test
  void deliveriesAreCountedByTheirState() {
    TestClock time = new TestClock();
    MemoryStore store = MemoryStore.create().clock(time);
    TestInbox former =
        TestInbox.on(
            store, time, Channel.named("old").on(String.class).handle("gone", text -> {}).build());
    for (int i = 0; i < 6; i++) {
      former.receive("old", Message.of("gone-" + i, "x"));
    }
    Channel work =
        Channel.named("c")
            .on(String.class)
            .handle(
                "work",
                text -> {
                  throw new PoisonException("never");
                })
            .build();
    Channel rest = Channel.named("r").on(String.class).handle("rest", text -> {}).build();
    TestInbox inbox = TestInbox.on(store, time, work, rest);
    for (int i = 0; i < 3; i++) { // of which the first one blocks the others
      inbox.receive("c", Message.of("keyed-" + i, "x").orderedBy("k"));
    }
    inbox.drain();
    for (int i = 0; i < 3; i++) {
      inbox.receive("c", Message.of("later-" + i, "x").after(ofHours(1)));
    }
    for (int i = 0; i < 4; i++) {
      inbox.receive("c", Message.of("now-" + i, "x"));
    }
    for (int i = 0; i < 5; i++) {
      inbox.receive("r", Message.of("paused-" + i, "x"));
    }
    inbox.inbox().admin().pause("rest", "enough");
    store.nodes().join("somebody", known(store, "work", "rest"));

    metrics.watch(inbox.inbox());
    OutboxMetrics.to(meters).watch("outbox", inbox.inbox().admin());
    Map<String, Double> expected =
        Map.of(
            "poisoned", 1.0,
            "blocked", 2.0,
            "scheduled", 3.0,
            "pending", 4.0,
            "paused", 5.0,
            "held", 6.0);
    for (String name : List.of("pigeonhole.inbox.deliveries", "pigeonhole.outbox.messages")) {
      assertThat(states(name)).isEqualTo(expected);
      assertThat(page.words(name)).isEqualTo(new TreeSet<>(expected.keySet()));
    }
  }

  private static Set<Integer> known(MemoryStore store, String... handlers) {
    return store.maintenance().handlers().stream()
        .filter(each -> List.of(handlers).contains(each.key()))
        .map(HandlerId::family)
        .collect(Collectors.toSet());
  }

  @Test
  void whatRetentionDeletesIsCounted() {
    TestInbox inbox =
        TestInbox.of(Channel.named("c").on(String.class).handle("h", text -> {}).build())
            .with(it -> it.keepReceipts(ofDays(1)).listener(metrics));
    handle(inbox, "m");
    inbox.advance(ofDays(2)).drain();

    assertThat(meters.get("pigeonhole.inbox.pruned").counter().count()).isEqualTo(1);
  }

  // ---- guards

  @Test
  void runsOfGuardsAreCountedByWhatCameOfThem() throws Exception {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.H2)) {
      Shop shop = Shop.in(database);
      GuardBuilder options = Guard.on(shop.store).lanes(LANES).listener(metrics);
      try (Guard guard = options.build();
          Guard lenient = options.missingKey(OnMissingKey.ACCEPT_EVERY_COPY).build()) {
        GuardKey key = key("k").request("one");
        assertThat(counted(GUARD, () -> guard.run(key, tx -> 1))).containsExactly("ran");
        assertThat(counted(GUARD, () -> guard.run(key, tx -> 1))).containsExactly("repeat");
        assertThat(counted(GUARD, () -> guard.run(key.request("two"), tx -> 1)))
            .containsExactly("conflict");
        assertThat(
                counted(
                    GUARD,
                    () ->
                        assertThatThrownBy(
                                () ->
                                    guard.run(
                                        key("f"),
                                        tx -> {
                                          throw new IllegalStateException("no money");
                                        }))
                            .isInstanceOf(IllegalStateException.class)))
            .containsExactly("failed");
        assertThat(
                counted(
                    GUARD,
                    () ->
                        assertThatThrownBy(() -> guard.run(key(null), tx -> 1))
                            .isInstanceOf(MissingKeyException.class)))
            .containsExactly("missing-key");
        assertThat(counted(GUARD, () -> lenient.run(key(null), tx -> 1)))
            .containsExactly("ran", "unguarded");
        shop.commit(
            first -> {
              guard.run(first, key("b"), tx -> 1);
              Guard hasty = guard.waitingAtMost(ofMillis(1));
              assertThat(counted(GUARD, () -> hasty.run(key("b"), tx -> 1)))
                  .containsExactly("busy");
            });
      }
    }
    assertThat(counts(GUARD).keySet()).isEqualTo(page.words(GUARD));
  }

  private static GuardKey key(@Nullable String id) {
    return GuardKey.of("charge-card", "charge", id);
  }

  // ---- sending

  private Outbox outbox(Shop shop, MemoryQueue queue, Duration sendTimeout) {
    RelayObservations relaying = RelayObservations.in(meters);
    return Outbox.on(shop.store)
        .codec(Shop.CODEC)
        .lanes(LANES)
        .route(OrderPlaced.class, queue.transport())
        .sendTimeout(sendTimeout)
        .stopGrace(ZERO)
        .around(relaying)
        .onSending(relaying)
        .listener(OutboxMetrics.to(meters))
        .build();
  }

  @Test
  void whatIsPublishedIsCountedByItsAnswer() throws Exception {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.H2)) {
      Shop shop = Shop.in(database);
      Outbox outbox = outbox(shop, MemoryQueue.named("orders"), LONG);

      assertThat(counted(PUBLISH, () -> shop.commit(tx -> outbox.publish(tx, order("m")))))
          .containsExactly("accepted");
      assertThat(counted(PUBLISH, () -> shop.commit(tx -> outbox.publish(tx, order("m")))))
          .containsExactly("repeat");
      Message other = Message.of("m", new OrderPlaced("other"));
      assertThat(counted(PUBLISH, () -> refused(shop, outbox, other))).containsExactly("conflict");
      assertThat(meters.get(PUBLISH).timers())
          .extracting(timer -> timer.getId().getTag("channel"))
          .containsOnly("OrderPlaced");
      assertThat(counted(PUBLISH, () -> refused(shop, outbox, strange("s"))))
          .containsExactly("rejected");
      try (Connection inAutocommit = database.dataSource().getConnection()) {
        assertThat(
                counted(
                    PUBLISH,
                    () ->
                        assertThatThrownBy(() -> outbox.publish(inAutocommit, order("n")))
                            .isInstanceOf(StoreException.class)))
            .containsExactly("error");
      }
      assertThat(meters.get(PUBLISH).tags("channel", "unknown").timers())
          .extracting(timer -> timer.getId().getTag("outcome"))
          .containsExactlyInAnyOrder("rejected", "error");
    }
    assertThat(counts(PUBLISH).keySet()).isEqualTo(page.words(PUBLISH));
  }

  private static void refused(Shop shop, Outbox outbox, Message message) {
    assertThatThrownBy(() -> shop.commit(tx -> outbox.publish(tx, message)))
        .isInstanceOf(InboxException.class);
  }

  /** But for a timeout, which comes ten seconds after a transport should have given up. */
  @Test
  void attemptsToSendAreCountedByTheirEnd() throws Exception {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.H2)) {
      Shop shop = Shop.in(database);
      MemoryQueue queue = MemoryQueue.named("orders");
      Outbox patient = outbox(shop, queue, LONG);
      assertThat(counted(RELAY, () -> send(shop, patient, "fine"))).containsExactly("completed");
      queue.stall();
      Outbox hasty = outbox(shop, queue, ofMillis(50));
      assertThat(counted(RELAY, () -> send(shop, hasty, "late"))).containsExactly("retry");

      try (RunningInbox running = patient.start()) {
        shop.commit(tx -> patient.publish(tx, order("held")));
        patient.wake();
        Eventually.until("a send", LONG, () -> underWay(RELAY).getOrDefault("none", 0) > 0);
        assertThat(page.words(RELAY + ".active")).containsExactly("none");
        assertThat(counted(RELAY, running::close)).containsExactly("released");
      }
      queue.resume();
      queue.delete();
      assertThat(counted(RELAY, () -> send(shop, patient, "bad"))).contains("poisoned");
    }
    Set<String> words = new TreeSet<>(counts(RELAY).keySet());
    words.add("timeout");
    assertThat(words).isEqualTo(page.words(RELAY));
  }

  private static void send(Shop shop, Outbox outbox, String id) {
    shop.commit(tx -> outbox.publish(tx, order(id)));
    outbox.drain();
  }
}
