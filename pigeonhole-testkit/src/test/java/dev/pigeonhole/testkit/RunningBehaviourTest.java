package dev.pigeonhole.testkit;

import static dev.pigeonhole.HandlerOption.atMost;
import static dev.pigeonhole.HandlerOption.perSecond;
import static dev.pigeonhole.HandlerOption.retrying;
import static dev.pigeonhole.HandlerOption.within;
import static dev.pigeonhole.testkit.TestInboxAssertions.assertThat;
import static java.time.Duration.ZERO;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.parallel.ExecutionMode.CONCURRENT;

import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Handler;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.MessageHandler;
import dev.pigeonhole.Received;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.event.InboxEvent;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;

/** An inbox with its threads: concurrency, timeouts, stopping. */
@Execution(CONCURRENT)
@Timeout(600)
class RunningBehaviourTest {
  private static final RetryPolicy AT_ONCE = RetryPolicy.fixed(ofMillis(1));

  private final Recorder events = new Recorder();
  private final MemoryStore store = MemoryStore.create();
  private final List<TestInbox> started = new ArrayList<>();
  private final List<Gate> gates = new ArrayList<>();

  @AfterEach
  void stop() {
    gates.forEach(Gate::open);
    started.forEach(TestInbox::close);
  }

  private Gate gate() {
    Gate gate = new Gate();
    gates.add(gate);
    return gate;
  }

  private TestInbox inbox(Channel channel) {
    TestInbox inbox =
        TestInbox.on(store, new TestClock(), channel)
            .with(it -> it.listener(events).stopGrace(ofSeconds(5)))
            .patience(ofMinutes(3)); // thousands of messages, beside many other tests
    started.add(inbox);
    return inbox;
  }

  /** With one handler, {@code h}. */
  private TestInbox inbox(Handler<String> handler, HandlerOption... options) {
    return inbox(Channel.named("c").on(String.class).handle("h", handler, options).build());
  }

  /** With one handler, {@code h}, that sees the whole message. */
  private TestInbox inboxOfMessages(MessageHandler<String> handler, HandlerOption... options) {
    return inbox(Channel.named("c").on(String.class).handleMessage("h", handler, options).build());
  }

  /** Accepts {@code m0}, {@code m1} and so on. */
  private static void receive(int messages, TestInbox inbox) {
    for (int i = 0; i < messages; i++) {
      inbox.receive("m" + i, "x");
    }
  }

  /** How many are inside, and how many there ever were at once. */
  private static final class Crowd {
    private final AtomicInteger inside = new AtomicInteger();
    private final AtomicInteger most = new AtomicInteger();

    void enter() {
      most.accumulateAndGet(inside.incrementAndGet(), Math::max);
    }

    void leave() {
      inside.decrementAndGet();
    }

    void pass() {
      enter();
      Thread.yield();
      leave();
    }
  }

  // ---- isolation

  @Test
  void b34_aStuckHandlerKeepsNobodyElse() {
    Gate gate = gate();
    TestInbox inbox =
        inbox(
                Channel.named("c")
                    .on(String.class)
                    .handle("stuck", text -> gate.pass(), atMost(2))
                    .handle("free", text -> {})
                    .build())
            .with(it -> it.batchSize(10));
    inbox.start();
    receive(200, inbox);
    for (int i = 0; i < 200; i++) {
      inbox.await("m" + i, "free", DeliveryState.COMPLETED);
    }
    assertThat(inbox.inbox().admin().counts().get(0).completed().value()).isZero();
    gate.open();
    inbox.awaitDrained();
  }

  @Test
  void atMostLimitsItsHandlerAlone() throws Exception {
    Crowd two = new Crowd();
    CountDownLatch manyAtOnce = new CountDownLatch(5);
    TestInbox inbox =
        inbox(
                Channel.named("c")
                    .on(String.class)
                    .handle("two", text -> two.pass(), atMost(2))
                    .handle(
                        "five",
                        text -> {
                          manyAtOnce.countDown();
                          manyAtOnce.await(300, TimeUnit.SECONDS);
                        })
                    .build())
            .with(it -> it.concurrency(5));
    inbox.start();
    receive(100, inbox);
    inbox.awaitDrained();
    assertThat(two.most).hasValueLessThanOrEqualTo(2);
    assertThat(manyAtOnce.getCount()).isZero();
  }

  /** Whoever gives an executor may give one that has fewer threads than there are slots. */
  @Test
  void handlersShareTheThreadsOfASmallExecutor() {
    BlockingQueue<Runnable> line = new LinkedBlockingQueue<>();
    ExecutorService one = new ThreadPoolExecutor(1, 1, 0, TimeUnit.SECONDS, line);
    List<String> ran = new CopyOnWriteArrayList<>();
    CountDownLatch allQueued = new CountDownLatch(1);
    try {
      TestInbox inbox =
          inbox(
                  Channel.named("c")
                      .on(String.class)
                      .handle("a", text -> runWhen(allQueued, ran, "a"))
                      .handle("b", text -> runWhen(allQueued, ran, "b"))
                      .build())
              .with(it -> it.executor(one).concurrency(2));
      inbox.start();
      receive(300, inbox);
      // The only thread waits with the first: both handlers stand in line with all their slots.
      inbox.await("the other three slots", () -> line.size() == 3);
      allQueued.countDown();
      inbox.awaitDrained();
      assertThat(ran).hasSize(600);
      // A slot that has run sixteen queues up again, and there are four of them.
      assertThat(ran.subList(0, 64)).as("shared from the start").contains("a", "b");
      inbox.close();
    } finally {
      one.shutdownNow();
    }
  }

  private static void runWhen(CountDownLatch latch, List<String> ran, String handler)
      throws InterruptedException {
    latch.await();
    ran.add(handler);
  }

  @Test
  void b35_anInterruptThatAHandlerLeavesBehindDoesNotReachTheNext() {
    ExecutorService one = Executors.newSingleThreadExecutor();
    AtomicBoolean inherited = new AtomicBoolean();
    try {
      TestInbox inbox =
          inbox(
                  text -> {
                    inherited.compareAndSet(false, Thread.currentThread().isInterrupted());
                    Thread.currentThread().interrupt();
                  })
              .with(it -> it.executor(one).concurrency(1));
      receive(5, inbox);
      inbox.start().awaitDrained();
      assertThat(inherited).isFalse();
      inbox.close();
      assertThat(one.isShutdown()).isFalse();
    } finally {
      one.shutdownNow();
    }
  }

  // ---- time

  @Test
  void b47_whatIsDueRunsWithoutAPoll() {
    AtomicReference<Instant> ran = new AtomicReference<>();
    TestInbox inbox =
        inbox(text -> ran.set(Instant.now())).with(it -> it.polling(ofHours(1), ofHours(1)));
    inbox.start();
    inbox.receive("first", "x");
    inbox.await("first", "h", DeliveryState.COMPLETED);
    Instant due = Instant.now().plusMillis(300);
    inbox.receive("c", Message.of("m", "x").notBefore(due));
    inbox.await("m", "h", DeliveryState.COMPLETED);
    assertThat(ran.get()).isAfterOrEqualTo(due);
  }

  @Test
  void b47_whatFailedRunsAgainWithoutAPoll() {
    AtomicInteger calls = new AtomicInteger();
    TestInbox inbox =
        inbox(
                text -> {
                  if (calls.incrementAndGet() < 4) {
                    throw new IllegalStateException("again");
                  }
                },
                retrying(RetryPolicy.fixed(ofMillis(20))))
            .with(it -> it.polling(ofHours(1), ofHours(1)));
    inbox.start().receive("m", "x");
    inbox.await("m", "h", DeliveryState.COMPLETED);
    assertThat(calls).hasValue(4);
  }

  @Test
  void b47_aHandlerThatWasFullGetsItsRetriesWithoutAPoll() {
    Set<String> failed = ConcurrentHashMap.newKeySet();
    TestInbox inbox =
        inboxOfMessages(
                received -> {
                  if (failed.add(received.message().id())) {
                    throw new IllegalStateException("first");
                  }
                },
                retrying(RetryPolicy.fixed(ofMillis(200))))
            .with(it -> it.polling(ofHours(1), ofHours(1)).lanes(1).batchSize(1).concurrency(1));
    inbox.start();
    for (int i = 0; i < 60; i++) {
      inbox.receive("m" + i, "x");
      inbox.inbox().wake();
    }
    inbox.awaitDrained();
    assertThat(failed).hasSize(60);
  }

  // ---- rate

  @Test
  void aLimitedHandlerKeepsItsRateAndNobodyElseWaits() {
    List<Long> began = new CopyOnWriteArrayList<>();
    TestInbox inbox =
        inbox(
            Channel.named("c")
                .on(String.class)
                .handle("limited", text -> began.add(System.nanoTime()), perSecond(20))
                .handle("free", text -> {})
                .build());
    inbox.start();
    long first = System.nanoTime(); // not that of the first attempt: its thread may come late
    receive(30, inbox);
    for (int i = 0; i < 30; i++) {
      inbox.await("m" + i, "free", DeliveryState.COMPLETED);
    }
    inbox.awaitDrained();

    // 30 at 20 a second, of which 3 may have been saved up; slower is always allowed
    assertThat(began).hasSize(30);
    assertThat(Collections.max(began) - first).isGreaterThan(ofMillis(1_300).toNanos());
  }

  @Test
  void aMessageThatWaitsForItsTimeUsesUpNoRate() {
    TestInbox inbox = inbox(text -> {}, perSecond(0.001));
    inbox.start();
    Instant later = store.clock().instant().plus(ofHours(1));
    inbox.receive("c", Message.of("later", "x").notBefore(later));
    inbox.receive("now", "x");

    inbox.await("now", "h", DeliveryState.COMPLETED);
  }

  @Test
  void drivenByHandALimitedHandlerDoesNotWait() {
    AtomicInteger ran = new AtomicInteger();
    TestInbox inbox = inbox(text -> ran.incrementAndGet(), perSecond(0.001));
    receive(30, inbox);
    inbox.drain();

    assertThat(ran).hasValue(30);
  }

  // ---- timeouts

  @Test
  void b53_aTimeoutIsAFailureAndSeveralPoison() {
    AtomicInteger interrupted = new AtomicInteger();
    AtomicReference<Received<String>> last = new AtomicReference<>();
    Gate never = gate();
    TestInbox inbox =
        inboxOfMessages(
            received -> {
              last.set(received);
              try {
                never.pass();
              } catch (InterruptedException e) {
                interrupted.incrementAndGet();
              }
            },
            within(ofMillis(30)),
            retrying(AT_ONCE.maxAttempts(3)));
    inbox.start().receive("m", "x");
    inbox.await("m", "h", DeliveryState.POISONED);
    inbox.await("three interrupts", () -> interrupted.get() == 3);
    assertThat(inbox)
        .delivery("m", "h")
        .isPoisonedWith(ErrorCode.HANDLER_TIMED_OUT)
        .hasFailedTimes(3)
        .failedWithMessage("PT0.03S");
    assertThat(last.get().stopRequested()).isTrue();
    assertThat(last.get().timeLeft()).hasValue(ZERO);
    assertThat(events.of(InboxEvent.Failed.class)).hasSize(2);
    assertThat(events.of(InboxEvent.Stuck.class)).hasSize(3);
  }

  @Test
  void hd01_d119_aHandlerDeafToItsTimeoutIsReplacedUpToACapAndItsResultRefused() {
    Gate gate = gate();
    Crowd crowd = new Crowd();
    AtomicInteger returned = new AtomicInteger();
    TestInbox inbox =
        inbox(
            Channel.named("c")
                .on(String.class)
                .handle(
                    "h",
                    text -> {
                      crowd.enter();
                      gate.passStubbornly();
                      crowd.leave();
                      returned.incrementAndGet();
                    },
                    atMost(2),
                    within(ofMillis(500)),
                    retrying(AT_ONCE.maxAttempts(1)))
                .handle("free", text -> {})
                .build());
    inbox.start();
    receive(10, inbox);
    for (int i = 0; i < 10; i++) {
      inbox.await("m" + i, "free", DeliveryState.COMPLETED);
    }
    inbox.await("four to be given up", () -> events.of(InboxEvent.Poisoned.class).size() == 4);
    List<String> givenUp = poisoned(inbox);
    assertThat(givenUp).hasSize(4);
    // Two slots and a spare for each; a thread may come in after its time is up.
    inbox.await("four inside", () -> crowd.most.get() == 4);
    assertThat(events.of(InboxEvent.Stuck.class))
        .extracting(InboxEvent.Stuck::stuckNow)
        .contains(1, 2);

    gate.open();
    inbox.await("all to end", () -> returned.get() == 10);
    inbox.awaitDrained();
    assertThat(crowd.most).hasValue(4);
    assertThat(poisoned(inbox)).containsAll(givenUp);
    // One of the other six may have been too slow, on a machine that stood still.
    assertThat(poisoned(inbox)).hasSameSizeAs(events.of(InboxEvent.Stuck.class));
  }

  private static List<String> poisoned(TestInbox inbox) {
    return inbox.deliveries().stream()
        .filter(each -> each.state() == DeliveryState.POISONED)
        .map(each -> each.message().id())
        .toList();
  }

  @Test
  void hd01_slotsThatComeBackAreUsedAgainAndSparesAreGivenUp() {
    Gate gate = gate();
    Crowd crowd = new Crowd();
    TestInbox inbox =
        inbox(
            text -> {
              if (text.equals("stuck")) {
                gate.passStubbornly();
              } else {
                crowd.pass();
              }
            },
            atMost(1),
            within(ofSeconds(10)), // the quick ones must not be taken for stuck
            retrying(AT_ONCE.maxAttempts(1)));
    inbox.start();
    inbox.receive("s1", "stuck");
    inbox.await("s1", "h", DeliveryState.POISONED);
    inbox.receive("s2", "stuck");
    inbox.await("s2", "h", DeliveryState.POISONED);
    gate.open();
    receive(200, inbox);
    inbox.awaitDrained();
    assertThat(inbox).has(200, DeliveryState.COMPLETED);
    assertThat(crowd.most).hasValue(1);
  }

  @Test
  void hd01_theInterruptOfATimeoutHitsNobodyElse() {
    ExecutorService one = Executors.newSingleThreadExecutor();
    Gate first = gate();
    Gate second = gate();
    Gate strike = gate();
    try {
      TestInbox inbox =
          TestInbox.on(
                  store,
                  new TestClock(),
                  Channel.named("slow")
                      .on(String.class)
                      .handle(
                          "slow",
                          text -> first.pass(),
                          within(ofMillis(20)),
                          retrying(AT_ONCE.maxAttempts(1)))
                      .build(),
                  Channel.named("innocent")
                      .on(String.class)
                      .handle("innocent", text -> second.pass(), retrying(AT_ONCE))
                      .build())
              .with(
                  it ->
                      it.executor(one)
                          .listener(
                              event -> {
                                // Between "time is up" and the interrupt, on the timer's thread.
                                if (event instanceof InboxEvent.Stuck) {
                                  strike.passStubbornly();
                                }
                              }));
      started.add(inbox);
      inbox.start().receive("slow", Message.of("m", "x"));
      first.awaitSomebody();
      inbox.receive("innocent", Message.of("n", "x"));
      strike.awaitSomebody();
      first.open(); // the slow one returns just now, and its thread goes on
      second.awaitSomebody();
      strike.open();
      inbox.await("m", "slow", DeliveryState.POISONED);
      inbox.await("the timer to strike", () -> timerIsIdle());
      second.open();
      inbox.await("n", "innocent", DeliveryState.COMPLETED);
      assertThat(inbox).delivery("n", "innocent").hasFailedTimes(0);
    } finally {
      one.shutdownNow();
    }
  }

  private static boolean timerIsIdle() {
    return Thread.getAllStackTraces().entrySet().stream()
        .filter(each -> each.getKey().getName().startsWith("pigeonhole-inbox-timer"))
        .allMatch(each -> each.getKey().getState() == Thread.State.WAITING);
  }

  // ---- stopping

  @Test
  void b54_aShutdownIsNoFailure() {
    Gate gate = gate();
    AtomicInteger calls = new AtomicInteger();
    AtomicBoolean told = new AtomicBoolean();
    TestInbox inbox =
        inboxOfMessages(
                received -> {
                  if (calls.incrementAndGet() == 1) {
                    try {
                      gate.pass();
                    } finally {
                      told.set(received.stopRequested());
                    }
                  }
                })
            .with(it -> it.stopGrace(ofMinutes(5)));
    inbox.start().receive("m", "x");
    gate.awaitSomebody();
    Closing.cuttingAtOnce(inbox);

    inbox.await("the handler to end", told::get);
    assertThat(inbox).delivery("m", "h").isPending().hasFailedTimes(0).wasReleasedTimes(1);
    assertThat(events.of(InboxEvent.Released.class)).hasSize(1);
    inbox.start().await("m", "h", DeliveryState.COMPLETED);
    assertThat(inbox).delivery("m", "h").hasFailedTimes(0);
    assertThat(calls).hasValue(2);
  }

  @Test
  void b54_aHandlerThatGivesWayToAShutdownHasNotFailed() {
    CountDownLatch begun = new CountDownLatch(1);
    AtomicInteger calls = new AtomicInteger();
    TestInbox inbox =
        inboxOfMessages(
            received -> {
              if (calls.incrementAndGet() > 1) {
                return;
              }
              begun.countDown();
              while (!received.stopRequested()) {
                Thread.onSpinWait();
              }
              throw new IllegalStateException("half done");
            });
    inbox.start().receive("m", "x");
    inbox.await("the attempt to begin", () -> begun.getCount() == 0);
    inbox.close();

    assertThat(inbox).delivery("m", "h").isPending().hasFailedTimes(0).wasReleasedTimes(1);
    inbox.start().await("m", "h", DeliveryState.COMPLETED);
    assertThat(calls).hasValue(2);
  }

  @Test
  void b54_anAttemptThatEndsInTimeIsKept() {
    CountDownLatch begun = new CountDownLatch(1);
    TestInbox inbox =
        inboxOfMessages(
            received -> {
              begun.countDown();
              while (!received.stopRequested()) {
                Thread.onSpinWait();
              }
            });
    inbox.with(it -> it.stopGrace(ofMinutes(5)));
    inbox.start().receive("m", "x");
    inbox.await("the attempt to begin", () -> begun.getCount() == 0);
    inbox.close();
    assertThat(inbox).delivery("m", "h").isCompleted().wasReleasedTimes(0);
  }

  @Test
  void b55_whatIsNotStartedIsFreeForOthersAtOnce() throws Exception {
    Gate gate = gate();
    List<String> secondRan = new CopyOnWriteArrayList<>();
    TestInbox first =
        inbox(text -> gate.pass(), atMost(1))
            .with(
                it ->
                    it.lanes(8).beat(ofMillis(40)).deadAfter(ofMinutes(5)).stopGrace(ofMinutes(5)));
    first.start();
    receive(40, first);
    gate.awaitSomebody();
    TestInbox second =
        inbox(secondRan::add).with(it -> it.lanes(8).beat(ofMillis(40)).deadAfter(ofMinutes(5)));
    second.start();
    Thread closing = new Thread(first::close);
    closing.start();
    // All lanes but the one in which an attempt still runs.
    second.await("other lanes to be handled", () -> secondRan.size() > 25);
    assertThat(closing.isAlive()).isTrue();
    gate.open();
    closing.join();
    second.awaitDrained();
    assertThat(first).hasNoPoison();
    assertThat(first.deliveries()).allMatch(view -> view.releases() == 0);
    assertThat(secondRan).hasSize(39);
  }

  @Test
  void startingAndStoppingTwiceIsHarmlessOrRefused() throws Exception {
    TestInbox inbox = inbox(text -> {});
    RunningInbox running = inbox.inbox().start();
    inbox.await("a healthy node", running::healthy);
    refusedAsRunning(() -> inbox.inbox().start());
    refusedAsRunning(() -> inbox.inbox().drain());
    Thread closing = new Thread(running::close);
    closing.start();
    running.close();
    closing.join();
    running.close();
    running.awaitStopped();
    assertThat(running.healthy()).isFalse();

    inbox.receive("m", "x");
    assertThat(inbox.drain()).isEqualTo(1);
    inbox.start().receive("n", "x");
    inbox.await("n", "h", DeliveryState.COMPLETED);
  }

  private static void refusedAsRunning(Runnable call) {
    assertThatThrownBy(call::run)
        .isInstanceOfSatisfying(
            InboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.INBOX_RUNNING));
  }

  @Test
  void noThreadOutlivesTheInbox() {
    TestInbox inbox = inbox(text -> {}, within(ofSeconds(5))).with(it -> it.named("mortal"));
    inbox.start().receive("m", "x");
    inbox.await("m", "h", DeliveryState.COMPLETED);
    assertThat(threads("pigeonhole-mortal-"))
        .contains(
            "pigeonhole-mortal-reader", "pigeonhole-mortal-settler", "pigeonhole-mortal-beat");
    inbox.close();
    inbox.await("threads to end", () -> threads("pigeonhole-mortal-").isEmpty());
  }

  private static List<String> threads(String prefix) {
    return Thread.getAllStackTraces().keySet().stream()
        .map(Thread::getName)
        .filter(name -> name.startsWith(prefix))
        .toList();
  }

  @Test
  void d117_outOfMemoryStopsTheNodeAndLosesNothing() throws Exception {
    AtomicInteger calls = new AtomicInteger();
    TestInbox inbox =
        inbox(
            text -> {
              if (text.equals("big") && calls.incrementAndGet() == 1) {
                throw new OutOfMemoryError("test");
              }
            },
            retrying(AT_ONCE));
    RunningInbox running = inbox.inbox().start();
    inbox.receive("n", "big");
    running.awaitStopped();
    assertThat(running.healthy()).isFalse();
    receive(10, inbox);
    assertThat(inbox).delivery("n", "h").hasFailedTimes(1);
    inbox.start().awaitDrained();
    assertThat(inbox).hasNoPoison();
    assertThat(calls).hasValue(2);
  }

  @Test
  @SuppressWarnings("InfiniteRecursion")
  void d117_otherErrorsCountAsFailuresAndTheNodeGoesOn() {
    AtomicInteger calls = new AtomicInteger();
    TestInbox inbox =
        inbox(
            text -> {
              switch (calls.incrementAndGet()) {
                case 1 -> overflow(0);
                case 2 -> throw new NoClassDefFoundError("gone");
                case 3 -> throw new ThreadDeath();
                case 4 -> throw new InterruptedException("by nobody");
                default -> {}
              }
            },
            retrying(AT_ONCE));
    inbox.start().receive("m", "x");
    inbox.await("m", "h", DeliveryState.COMPLETED);
    assertThat(inbox).delivery("m", "h").hasFailedTimes(4);
    assertThat(events.heard(InboxEvent.Restarted.class)).isFalse();
  }

  @SuppressWarnings("InfiniteRecursion")
  private static int overflow(int depth) {
    return overflow(depth + 1) + 1;
  }

  @Test
  void hd09_aHandlerMayFeedItsOwnRunningInbox() {
    AtomicReference<TestInbox> self = new AtomicReference<>();
    TestInbox inbox =
        inbox(
                text -> {
                  int depth = Integer.parseInt(text);
                  if (depth < 20) {
                    self.get().receive("m" + (depth + 1), String.valueOf(depth + 1));
                  }
                },
                atMost(1))
            .with(it -> it.polling(ofHours(1), ofHours(1)));
    self.set(inbox);
    inbox.start().receive("m1", "1");
    inbox.await("the last to be accepted", () -> inbox.deliveries().size() == 20);
    inbox.awaitDrained();
  }

  @Test
  void manyThreadsAcceptWhileManyHandlersRunAndEachRunsOnce() throws Exception {
    Map<String, AtomicInteger> ran = new ConcurrentHashMap<>();
    Channel channel =
        Channel.named("c")
            .on(String.class)
            .handleMessage("a", received -> countId(ran, received))
            .handleMessage("b", received -> countId(ran, received))
            .build();
    TestInbox inbox = inbox(channel).with(it -> it.polling(ofMillis(1), ofMillis(5)));
    inbox.start();
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < 4; t++) {
      int thread = t;
      Thread accepting =
          new Thread(
              () -> {
                for (int i = 0; i < 500; i++) {
                  inbox.receive("m" + thread + "-" + i, "x");
                }
              });
      accepting.start();
      threads.add(accepting);
    }
    for (Thread thread : threads) {
      thread.join();
    }
    inbox.awaitDrained();
    assertThat(ran).hasSize(4000);
    assertThat(ran.values()).allMatch(count -> count.get() == 1);
    assertThat(events.heard(InboxEvent.Refused.class)).isFalse();
  }

  private static void countId(Map<String, AtomicInteger> ran, Received<String> received) {
    ran.computeIfAbsent(received.handler() + received.message().id(), none -> new AtomicInteger())
        .incrementAndGet();
  }

  @Test
  void clm23_aRetryWaitsForItsTimeAndNotForTheEndOfTheBacklog() {
    List<String> attempts = new CopyOnWriteArrayList<>();
    TestInbox inbox =
        inboxOfMessages(
                received -> {
                  attempts.add(received.message().id());
                  Thread.sleep(1);
                  if (received.message().id().equals("m0") && received.attempt() == 1) {
                    throw new IllegalStateException("not yet");
                  }
                },
                retrying(RetryPolicy.fixed(ofMillis(100))))
            .with(it -> it.batchSize(10).concurrency(1));
    receive(4_000, inbox);
    inbox.start();
    inbox.awaitDrained();

    assertThat(attempts).hasSize(4_001);
    // They take a millisecond each: three seconds, and not the tenth after which it may come.
    assertThat(attempts.lastIndexOf("m0")).as("its second attempt").isLessThan(3_000);
  }
}
