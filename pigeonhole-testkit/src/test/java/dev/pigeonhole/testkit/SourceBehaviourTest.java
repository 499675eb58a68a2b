package dev.pigeonhole.testkit;

import static dev.pigeonhole.HandlerOption.atMost;
import static dev.pigeonhole.HandlerOption.retrying;
import static java.time.Duration.ofDays;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.Channel;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxBuilder;
import dev.pigeonhole.Message;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.admin.HandlerCounts;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.store.NodeRow;
import dev.pigeonhole.transport.Acceptor;
import dev.pigeonhole.transport.Disposition;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.MessageSource;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Sources are started, paused, resumed and stopped by the inbox that they feed. */
@Timeout(600)
class SourceBehaviourTest {
  private static final Duration PATIENCE = ofMinutes(3);

  /** A source that delivers when the test says so, and remembers what it was told. */
  private static final class Tap implements MessageSource {
    final List<String> told = new CopyOnWriteArrayList<>();
    volatile @Nullable Acceptor acceptor;
    volatile @Nullable Duration patience;
    volatile boolean broken;
    volatile Runnable stopping = () -> {};

    @Override
    public String name() {
      return "tap";
    }

    @Override
    public void start(Acceptor acceptor) {
      told.add("start");
      if (broken) {
        throw new IllegalStateException("no water");
      }
      this.acceptor = acceptor;
    }

    @Override
    public void pause(String reason) {
      told.add("pause");
      if (broken) {
        throw new IllegalStateException("stuck");
      }
    }

    @Override
    public void resume() {
      told.add("resume");
    }

    @Override
    public void stop(Duration patience) {
      told.add("stop");
      this.patience = patience;
      stopping.run();
    }

    List<Disposition> pour(String prefix, int count) {
      List<Envelope> envelopes = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        envelopes.add(envelope(prefix + i));
      }
      return pour(envelopes);
    }

    static Envelope envelope(String id) {
      return Envelope.of("tap", "kitchen")
          .id(id)
          .type("String")
          .contentType("text/plain;charset=utf-8")
          .body("x".getBytes(StandardCharsets.UTF_8))
          .build();
    }

    List<Disposition> pour(List<Envelope> envelopes) {
      Acceptor open = acceptor;
      if (open == null) {
        throw new IllegalStateException("not started");
      }
      return open.accept(envelopes);
    }
  }

  private final Recorder events = new Recorder();
  private final MemoryStore store = MemoryStore.create();
  private final Gate gate = new Gate();
  private final Tap tap = new Tap();
  private @Nullable RunningInbox running;

  @AfterEach
  void stop() {
    gate.open();
    if (running != null) {
      running.close();
    }
  }

  private InboxBuilder builder(Channel channel, MessageSource... sources) {
    return builder(store, channel, sources);
  }

  private InboxBuilder builder(InboxStore store, Channel channel, MessageSource... sources) {
    return Inbox.on(store)
        .channel(channel, sources)
        .listener(events)
        .beat(ofMillis(20))
        .deadAfter(ofSeconds(60))
        .stopGrace(ofSeconds(5));
  }

  private Inbox start(InboxBuilder builder) {
    Inbox inbox = builder.build();
    running = inbox.start();
    return inbox;
  }

  private void await(String what, BooleanSupplier condition) {
    Patience.await(PATIENCE, what, condition, () -> "Told: " + events.of(InboxEvent.class));
  }

  private static HandlerCounts counts(Inbox inbox, String handler) {
    return inbox.admin().counts().stream()
        .filter(each -> each.handler().equals(handler))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void aSourceFeedsItsChannelUntilTheInboxStops() throws Exception {
    AtomicInteger handled = new AtomicInteger();
    Channel channel =
        Channel.named("c").on(String.class).handle("h", text -> handled.incrementAndGet()).build();
    Inbox inbox = start(builder(channel, tap));

    assertThat(tap.pour("m", 3)).hasOnlyElementsOfType(Disposition.Done.class);
    assertThat(tap.pour("m", 3)).hasOnlyElementsOfType(Disposition.Done.class);
    assertThat(events.of(InboxEvent.Repeated.class)).hasSize(3);
    await("3 completed by h", () -> counts(inbox, "h").completed().value() == 3);
    assertThat(handled).hasValue(3);

    running.close();
    assertThat(tap.told).containsExactly("start", "stop");
    assertThat(tap.patience).isEqualTo(ofSeconds(5)); // the inbox's stopGrace
    running = inbox.start();
    assertThat(tap.told).containsExactly("start", "stop", "start");
  }

  @Test
  void aSourceThatHangsWhileItStopsLeavesTheOthersTheWholeGrace() throws Exception {
    CountDownLatch accepting = new CountDownLatch(1);
    CountDownLatch end = new CountDownLatch(1);
    HookedStore hanging =
        new HookedStore(store)
            .around(
                "acceptTogether",
                step -> {
                  accepting.countDown();
                  end.await();
                  return step.proceed();
                });
    MemoryQueue queue = MemoryQueue.named("hanging");
    Tap last = new Tap();
    Channel channel = Channel.named("c").on(String.class).handle("h", text -> {}).build();
    try {
      start(builder(hanging, channel, tap, queue.source(), last));
      queue.send(Tap.envelope("m"));
      assertThat(accepting.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();

      running.close();
    } finally {
      end.countDown();
    }
    assertThat(tap.patience).isEqualTo(ofSeconds(5));
    assertThat(last.patience).as("grace of the source behind").isEqualTo(ofSeconds(5));
  }

  @Test
  void anInterruptedStopInterruptsEverySourceThatStops() throws Exception {
    CountDownLatch stopping = new CountDownLatch(2);
    CountDownLatch never = new CountDownLatch(1);
    AtomicInteger interrupted = new AtomicInteger();
    Channel channel = Channel.named("c").on(String.class).handle("h", text -> {}).build();
    Runnable wait =
        () -> {
          stopping.countDown();
          try {
            never.await();
          } catch (InterruptedException e) {
            interrupted.incrementAndGet();
            Thread.currentThread().interrupt();
          }
        };
    tap.stopping = wait;
    Tap other = new Tap();
    other.stopping = wait;
    start(builder(channel, tap, other));
    Thread closing = new Thread(running::close);
    closing.start();
    try {
      assertThat(stopping.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
      closing.interrupt();
      closing.join(PATIENCE.toMillis());
      assertThat(interrupted).hasValue(2);
    } finally {
      never.countDown();
    }
  }

  @Test
  void sourcesStopBeforeAttemptsAreEnded() throws Exception {
    AtomicBoolean stoppedFirst = new AtomicBoolean();
    Channel channel =
        Channel.named("c")
            .on(String.class)
            .handle(
                "h",
                text -> {
                  gate.pass();
                  stoppedFirst.set(tap.told.contains("stop"));
                })
            .build();
    Inbox inbox = start(builder(channel, tap));
    tap.pour("m", 1);
    gate.awaitSomebody();
    Thread closing = new Thread(running::close);
    closing.start();
    await("the source to stop", () -> tap.told.contains("stop"));
    gate.open();
    closing.join();

    assertThat(stoppedFirst).isTrue();
    assertThat(counts(inbox, "h").completed().value()).isEqualTo(1);
  }

  @Test
  void clm24_sourcesPauseWhileTooMuchWaitsAndGoOnAtHalf() throws Exception {
    Channel channel =
        Channel.named("c")
            .on(String.class)
            .handle("h", text -> gate.pass(), atMost(1))
            .handle("i", text -> gate.pass(), atMost(1))
            .build();
    Inbox inbox = start(builder(channel, tap).maxBacklog(100));
    tap.pour("few", 40);
    tap.pour("many", 40);
    await("news of a pause", () -> events.heard(InboxEvent.SourcesPaused.class));
    assertThat(tap.told).contains("pause");
    assertThat(events.of(InboxEvent.SourcesPaused.class))
        .singleElement()
        .satisfies(it -> assertThat(it.reason()).contains("maxBacklog 100"));
    assertThat(events.heard(InboxEvent.HandlerBehind.class)).isFalse();

    gate.open();
    await("news that sources go on", () -> events.heard(InboxEvent.SourcesResumed.class));
    await(
        "80 completed by h and by i",
        () ->
            counts(inbox, "h").completed().value() == 80
                && counts(inbox, "i").completed().value() == 80);
    assertThat(tap.told).containsExactly("start", "pause", "resume");
    assertThat(events.of(InboxEvent.SourcesResumed.class)).hasSize(1);
  }

  @Test
  void sourcesPauseAlsoWhileAPruneListenerHangs() throws Exception {
    CountDownLatch hangs = new CountDownLatch(1);
    CountDownLatch end = new CountDownLatch(1);
    // A database holds only the rows for the listener, this store itself; so the step hangs here.
    HookedStore pruned =
        new HookedStore(store)
            .around(
                "prune",
                step -> {
                  hangs.countDown();
                  end.await();
                  return step.proceed();
                });
    Channel channel =
        Channel.named("c").on(String.class).handle("h", text -> gate.pass(), atMost(1)).build();
    try {
      start(builder(pruned, channel, tap).keepReceipts(ofDays(1)).maxBacklog(100));
      assertThat(hangs.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
      tap.pour("m", 200);
      await("news of a pause", () -> events.heard(InboxEvent.SourcesPaused.class));
      gate.open();
      await("news that sources go on", () -> events.heard(InboxEvent.SourcesResumed.class));
    } finally {
      end.countDown();
    }
  }

  @Test
  void aStopInterruptsNobodyInAStoreThatCannotBearIt() throws Exception {
    CountDownLatch prunes = new CountDownLatch(1);
    CountDownLatch closed = new CountDownLatch(1);
    CountDownLatch pruned = new CountDownLatch(1);
    AtomicReference<Throwable> harm = new AtomicReference<>();
    HookedStore fragile =
        new HookedStore(store)
            .uninterruptible()
            .around(
                "prune",
                step -> {
                  prunes.countDown();
                  try {
                    closed.await(); // the stop comes meanwhile, and gives up its wait
                  } catch (InterruptedException e) {
                    harm.set(e);
                  } finally {
                    pruned.countDown();
                  }
                  return step.proceed();
                });
    Channel channel = Channel.named("c").on(String.class).handle("h", text -> {}).build();
    Inbox inbox =
        builder(fragile, channel, tap).stopGrace(ofMillis(100)).keepReceipts(ofDays(1)).build();
    try (RunningInbox node = inbox.start()) {
      assertThat(prunes.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
    } finally {
      closed.countDown();
    }
    assertThat(pruned.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
    assertThat(harm).hasValue(null);
  }

  @Test
  void oneHandlerThatIsBehindDoesNotStopTheSourceForItsSiblings() throws Exception {
    Channel channel =
        Channel.named("c")
            .on(String.class)
            .handle("stuck", text -> gate.pass(), atMost(1))
            .handle("quick", text -> {})
            .build();
    Inbox inbox = start(builder(channel, tap).maxBacklog(100).maxHandlerBacklog(50));
    tap.pour("m", 200);
    await("news of a handler that is behind", () -> events.heard(InboxEvent.HandlerBehind.class));
    await("200 completed by quick", () -> counts(inbox, "quick").completed().value() == 200);
    tap.pour("n", 200);
    await("400 completed by quick", () -> counts(inbox, "quick").completed().value() == 400);

    assertThat(events.of(InboxEvent.HandlerBehind.class))
        .extracting(InboxEvent.HandlerBehind::handler)
        .contains("stuck");
    assertThat(counts(inbox, "stuck").completed().value()).isZero();
    gate.open();
    await(
        "news that it has caught up",
        () ->
            events.of(InboxEvent.HandlerCaughtUp.class).stream()
                .anyMatch(it -> it.handler().equals("stuck")));
    await("400 completed by stuck", () -> counts(inbox, "stuck").completed().value() == 400);
  }

  @Test
  void aHandlerThatFailsEverythingDoesNotStopTheSourceForItsSiblings() throws Exception {
    Channel channel =
        Channel.named("c")
            .on(String.class)
            .handle(
                "failing",
                text -> {
                  throw new IllegalStateException("down");
                },
                retrying(RetryPolicy.fixed(ofSeconds(3_600))))
            .handle("quick", text -> {})
            .build();
    Inbox inbox = start(builder(channel, tap).maxBacklog(100).maxHandlerBacklog(50));
    for (int i = 1; i <= 20; i++) {
      tap.pour("m" + i + "-", 20);
      int all = 20 * i;
      await(
          "all that was poured",
          () ->
              counts(inbox, "quick").completed().value() == all
                  && counts(inbox, "failing").scheduled().value() == all);
    }

    assertThat(tap.told).containsExactly("start");
    assertThat(events.heard(InboxEvent.HandlerBehind.class)).isFalse();
    assertThat(counts(inbox, "failing").completed().value()).isZero();
  }

  @Test
  void sourcesPauseWhenEveryHandlerIsBehind() throws Exception {
    Channel channel =
        Channel.named("c").on(String.class).handle("h", text -> gate.pass(), atMost(1)).build();
    start(builder(channel, tap).maxHandlerBacklog(10));
    tap.pour("m", 30);
    await("news of a pause", () -> events.heard(InboxEvent.SourcesPaused.class));
    assertThat(tap.told).contains("pause");
    assertThat(events.of(InboxEvent.SourcesPaused.class))
        .singleElement()
        .satisfies(it -> assertThat(it.reason()).contains("every handler"));
    gate.open();
    await("the source to go on", () -> tap.told.contains("resume"));
  }

  @Test
  void workThatWaitsForATimeIsNoPressure() throws Exception {
    Channel channel =
        Channel.named("c")
            .on(String.class)
            .handle(
                "failing",
                text -> {
                  throw new IllegalStateException("down");
                })
            .build();
    HookedStore counting = new HookedStore(store);
    Inbox inbox =
        Inbox.on(counting)
            .channel(channel, tap)
            .listener(events)
            .beat(ofMillis(20))
            .deadAfter(ofSeconds(60))
            .maxHandlerBacklog(10)
            .build();
    List<Message> messages = new ArrayList<>();
    for (int i = 0; i < 50; i++) {
      messages.add(Message.of("m" + i, "x").notBefore(store.clock().instant().plus(ofDays(1))));
    }
    inbox.accept("c", messages);
    running = inbox.start();
    await("three looks at what waits", () -> counting.calls("waiting") > 2);

    assertThat(events.heard(InboxEvent.HandlerBehind.class)).isFalse();
    assertThat(tap.told).containsExactly("start");
  }

  @Test
  void workOfAPausedHandlerIsNoPressure() throws Exception {
    Channel channel =
        Channel.named("c")
            .on(String.class)
            .handle("paused", text -> {})
            .handle("other", text -> {})
            .build();
    HookedStore counting = new HookedStore(store);
    Inbox inbox =
        Inbox.on(counting)
            .channel(channel, tap)
            .listener(events)
            .beat(ofMillis(20))
            .deadAfter(ofSeconds(60))
            .maxBacklog(100)
            .build();
    inbox.admin().as("ada").pause("paused", "not now");
    running = inbox.start();
    for (int i = 1; i <= 6; i++) {
      long all = 50L * i;
      tap.pour("m" + i + "-", 50); // what waits for the other one stays below the limit
      await("those done by other", () -> counts(inbox, "other").completed().value() == all);
    }
    int looks = counting.calls("waiting");
    await("more looks at what waits", () -> counting.calls("waiting") > looks + 2);

    assertThat(tap.told).containsExactly("start");
    assertThat(events.heard(InboxEvent.SourcesPaused.class)).isFalse();
    assertThat(counts(inbox, "paused").open().value()).isEqualTo(300);
  }

  @Test
  void aSourceThatCannotPauseDoesNotKeepTheOthers() throws Exception {
    Tap stubborn = new Tap();
    Channel channel =
        Channel.named("c").on(String.class).handle("h", text -> gate.pass(), atMost(1)).build();
    start(builder(channel, stubborn, tap).maxHandlerBacklog(10));
    stubborn.broken = true;
    tap.pour("m", 30);
    await("the source to pause", () -> tap.told.contains("pause"));
    assertThat(stubborn.told).contains("pause");
  }

  @Test
  void aSourceThatCannotStartLetsNothingRun() {
    Tap broken = new Tap();
    broken.broken = true;
    Channel channel = Channel.named("c").on(String.class).handle("h", text -> {}).build();
    Inbox inbox = builder(channel, tap, broken).build();

    assertThatThrownBy(inbox::start).hasMessage("no water");
    assertThat(tap.told).containsExactly("start", "stop");

    broken.broken = false;
    running = inbox.start();
    assertThat(running.healthy()).isTrue();
  }

  @Test
  void anInboxStopsProperlyWhateverItsSourcesThrow() {
    MessageSource torn =
        new MessageSource() {
          @Override
          public String name() {
            return "torn";
          }

          @Override
          public void start(Acceptor acceptor) {}

          @Override
          public void pause(String reason) {}

          @Override
          public void resume() {}

          @Override
          public void stop(Duration patience) {
            throw new NoClassDefFoundError("gone already");
          }
        };
    Channel channel = Channel.named("c").on(String.class).handle("h", text -> {}).build();
    Inbox inbox = start(builder(channel, torn, tap));
    running.close();

    assertThat(tap.told).containsExactly("start", "stop");
    assertThat(store.nodes().nodes()).noneMatch(NodeRow::alive);
    assertThat(Thread.getAllStackTraces().keySet())
        .extracting(Thread::getName)
        .noneMatch(name -> name.startsWith("pigeonhole-" + inbox.name() + "-beat"));
  }

  @Test
  void theLimitsHaveARange() {
    Channel channel = Channel.named("c").on(String.class).handle("h", text -> {}).build();
    assertThatThrownBy(() -> builder(channel).maxBacklog(0).maxHandlerBacklog(2_000_000).build())
        .isInstanceOf(ConfigurationException.class)
        .hasMessageContaining("maxBacklog is 0")
        .hasMessageContaining("maxHandlerBacklog is 2000000");
  }

  @Test
  void d33_deliveriesOfAKeyThatNobodyKnowsAreCountedAsHeld() throws Exception {
    Channel old =
        Channel.named("c")
            .on(String.class)
            .handle("gone", text -> {})
            .handle("kept", text -> {})
            .build();
    builder(old).build().accept("c", Message.of("m", "x"));
    Channel present = Channel.named("c").on(String.class).handle("kept", text -> {}).build();
    Inbox inbox = start(builder(present));
    await("1 completed by kept", () -> counts(inbox, "kept").completed().value() == 1);

    assertThat(counts(inbox, "gone").held().value()).isEqualTo(1);
    assertThat(counts(inbox, "gone").pending().value()).isZero();
    assertThat(counts(inbox, "gone").open().value()).isEqualTo(1);
    assertThat(counts(inbox, "kept").held().value()).isZero();
  }
}
