package dev.pigeonhole.testkit;

import static dev.pigeonhole.HandlerOption.retrying;
import static dev.pigeonhole.testkit.TestInboxAssertions.assertThat;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Interceptor;
import dev.pigeonhole.Message;
import dev.pigeonhole.Received;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellRow;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.MarkResult;
import dev.pigeonhole.store.NodeRow;
import dev.pigeonhole.store.Range;
import dev.pigeonhole.store.StoreException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Behaviour 62: whatever breaks for a while, everything still completes. */
@Execution(ExecutionMode.CONCURRENT)
class FaultBehaviourTest {
  private static final int TIMES = 2;

  private final MemoryStore memory = MemoryStore.create();
  private final HookedStore store = new HookedStore(memory);
  private final Recorder events = new Recorder();
  private final Set<String> ran = ConcurrentHashMap.newKeySet();
  private final List<String> ordered = new CopyOnWriteArrayList<>();
  private final Channel channel =
      Channel.named("c")
          .on(String.class)
          .handleMessage("h", this::handle, retrying(RetryPolicy.fixed(ofMillis(1))))
          .handle("other", text -> {})
          .build();
  private final TestInbox inbox =
      TestInbox.on(store, new TestClock(), channel)
          .with(
              it ->
                  it.lanes(4)
                      .listener(events)
                      .restartDelay(ofMillis(1))
                      .polling(ofMillis(5), ofMillis(20))
                      .beat(ofMillis(20))
                      .deadAfter(ofSeconds(60)))
          .patience(ofMinutes(3));

  private void handle(Received<String> received) {
    ran.add(received.message().id());
    if (received.payload().equals("fails once") && received.attempt() == 1) {
      throw new IllegalStateException("once");
    }
    received.orderingKey().ifPresent(key -> ordered.add(key + received.message().id()));
  }

  @AfterEach
  void stop() {
    inbox.close();
  }

  enum Kind {
    BUG(() -> new IllegalStateException("bug")),
    TRANSIENT(() -> storeException(StoreException.Kind.TRANSIENT)),
    UNKNOWN(() -> storeException(StoreException.Kind.UNKNOWN)),
    ERROR(() -> new NoClassDefFoundError("gone"));

    final Supplier<Throwable> thrown;

    Kind(Supplier<Throwable> thrown) {
      this.thrown = thrown;
    }

    private static StoreException storeException(StoreException.Kind kind) {
      return new StoreException(kind, ErrorCode.DATABASE_TRANSIENT, "down", null);
    }
  }

  static Stream<Arguments> faults() {
    List<Arguments> faults = new ArrayList<>();
    for (String method :
        List.of(
            "fresh",
            "due",
            "ahead",
            "load",
            "lastFailures",
            "settle",
            "mark",
            "beat",
            "nodes",
            "cells",
            "take",
            "handlers")) {
      for (Kind kind : Kind.values()) {
        faults.add(Arguments.of(method, kind));
      }
    }
    return faults.stream();
  }

  @ParameterizedTest
  @MethodSource("faults")
  void b62_everythingCompletesAlthoughTheStoreFailsForAWhile(String method, Kind kind) {
    inbox.inbox();
    leaveSuspectsBehind();
    receive("early");
    // Every second fault strikes after the call has done its work.
    AtomicInteger calls = new AtomicInteger();
    inbox.start();
    store.around(
        method,
        call -> {
          int nth = calls.incrementAndGet();
          if (nth > 2 * TIMES) {
            return call.proceed();
          }
          if (nth % 2 == 0 && kind != Kind.TRANSIENT) {
            call.proceed();
          }
          throw kind.thrown.get();
        });
    receive("late");
    inbox.await("the fault to strike", () -> calls.get() > 2 * TIMES || cannotStrike(method));
    inbox.awaitDrained();

    assertThat(inbox).hasNoPoison();
    assertThat(inbox.deliveries()).hasSize(2 * ran.size());
    assertThat(ran).hasSize(3 + 2 * 12);
    assertThat(ordered.stream().distinct().toList()).isSorted();
  }

  /** What a node asks only after something happened, which the test does not force twice. */
  private static boolean cannotStrike(String method) {
    return Set.of("take", "mark", "lastFailures", "ahead").contains(method);
  }

  /** Messages that a node has marked before it died, in cells that it left uncleanly. */
  private void leaveSuspectsBehind() {
    for (int i = 0; i < 3; i++) {
      inbox.receive("suspect" + i, "x");
    }
    long ghost = ghost();
    List<Cell> cells = takeAll(ghost);
    List<Delivery> rows =
        memory.deliveries().fresh(cells.stream().map(cell -> Range.after(cell, 0, 9)).toList());
    memory.deliveries().mark(rows, ghost, false);
    memory.nodes().declareDead(ghost, 0);
  }

  @Test
  void aDrainRunsAllSuspectsHoweverLongOneTakes() {
    AtomicBoolean slow = new AtomicBoolean(true);
    inbox.with(
        it ->
            it.around(
                new Interceptor() {
                  @Override
                  public void around(Received<?> received, Next next) throws Exception {
                    if (slow.getAndSet(false)) {
                      Thread.sleep(2_100); // a node would have the others run after this
                    }
                    next.proceed();
                  }
                }));
    leaveSuspectsBehind();

    inbox.drain();

    assertThat(inbox).has(6, DeliveryState.COMPLETED);
  }

  private void receive(String when) {
    for (int i = 0; i < 4; i++) {
      inbox.receive(when + i, "x");
      inbox.receive(when + "-retried" + i, "fails once");
      Message message = Message.of(when + "-ordered" + i, i == 1 ? "fails once" : "x");
      inbox.receive("c", message.orderedBy("k"));
    }
  }

  @Test
  void aMarkThatFailedIsOwedAgain() {
    AtomicInteger calls = new AtomicInteger();
    AtomicInteger marked = new AtomicInteger();
    TestInbox single = single();
    try (single) {
      single.inbox();
      leaveUncleanly();
      store.around(
          "mark",
          call -> {
            if (calls.incrementAndGet() <= 5) {
              throw new IllegalStateException("not marked");
            }
            marked.incrementAndGet();
            return call.proceed();
          });
      for (int i = 0; i < 30; i++) {
        single.receive("m" + i, "x" + i);
      }
      single.start().awaitDrained();
    }
    assertThat(ran).hasSize(30);
    assertThat(marked).hasValue(10 * 1 + 4 * 1);
  }

  /** Only what could begin may have killed its node, so only that counts. */
  @ParameterizedTest
  @ValueSource(strings = {"load", "mark"})
  void whatCouldNotBeginUsesUpNoProbation(String method) {
    AtomicInteger notBegun = new AtomicInteger();
    AtomicInteger marked = new AtomicInteger();
    TestInbox single = single();
    try (single) {
      single.inbox();
      leaveUncleanly();
      store.around(
          "mark",
          call -> {
            if (method.equals("mark") && notBegun.incrementAndGet() <= 30) {
              return new MarkResult(Set.of(), deliveries(call.argument(0)));
            }
            if (!method.equals("load") || notBegun.get() >= 30) {
              marked.incrementAndGet();
            }
            return call.proceed();
          });
      store.around(
          "load",
          call -> {
            if (method.equals("load") && notBegun.incrementAndGet() <= 30) {
              throw new IllegalStateException("not loaded");
            }
            return call.proceed();
          });
      for (int i = 0; i < 30; i++) {
        single.receive("m" + i, "x" + i);
      }
      single.start().awaitDrained();
    }
    assertThat(ran).hasSize(30);
    assertThat(marked).hasValue(10 * 1 + 4 * 1);
  }

  /** With a single slot, which begins one delivery after the other. */
  private TestInbox single() {
    return TestInbox.on(
            store,
            new TestClock(),
            Channel.named("c").on(String.class).handle("h", ran::add).build())
        .with(
            it ->
                it.lanes(1)
                    .concurrency(1)
                    .batchSize(1)
                    .restartDelay(ofMillis(1))
                    .deadAfter(ofMinutes(5)))
        .patience(ofMinutes(3));
  }

  /** The old owner's session may hold its rows for an hour after it was declared dead. */
  @Test
  void rowsThatAnotherTransactionHoldsAreNeitherToldAsRefusedNorLost() {
    inbox.inbox();
    leaveSuspectsBehind();
    receive("x");
    AtomicInteger held = new AtomicInteger();
    AtomicInteger heldAlone = new AtomicInteger();
    store.around(
        "mark",
        call -> {
          boolean lone = (Boolean) call.argument(2);
          if ((lone ? heldAlone : held).incrementAndGet() > 3) {
            return call.proceed();
          }
          return new MarkResult(Set.of(), deliveries(call.argument(0)));
        });

    inbox.start().awaitDrained();

    assertThat(held).hasValueGreaterThan(3);
    assertThat(heldAlone).hasValueGreaterThan(3);
    assertThat(events.heard(InboxEvent.Refused.class)).isFalse();
    assertThat(inbox).has(2 * (3 + 12), DeliveryState.COMPLETED);
    assertThat(inbox.deliveries()).allMatch(view -> view.crashes() == 0);
  }

  private static Set<Delivery> deliveries(Object list) {
    return ((List<?>) list).stream().map(Delivery.class::cast).collect(Collectors.toSet());
  }

  /** Cells of a node that died, with nothing of it marked. */
  private void leaveUncleanly() {
    long ghost = ghost();
    takeAll(ghost);
    memory.nodes().declareDead(ghost, 0);
  }

  private long ghost() {
    return memory.nodes().join("ghost", families());
  }

  private List<Cell> takeAll(long node) {
    List<Cell> cells = memory.nodes().cells(families()).stream().map(CellRow::cell).toList();
    memory.nodes().take(node, cells);
    return cells;
  }

  private Set<Integer> families() {
    return memory.maintenance().handlers().stream()
        .map(HandlerId::family)
        .collect(Collectors.toSet());
  }

  @Test
  void b62_aSettleThatFailsAfterItsCommitIsStillOurs() {
    AtomicInteger calls = new AtomicInteger();
    inbox.inbox();
    store.around(
        "settle",
        call -> {
          Object answer = call.proceed();
          if (calls.incrementAndGet() == 1) {
            throw new IllegalStateException("after the commit");
          }
          return answer;
        });
    inbox.start().receive("m", "x");
    inbox.await("the events", () -> events.of(InboxEvent.Completed.class).size() == 2);
    assertThat(events.heard(InboxEvent.Refused.class)).isFalse();
    assertThat(events.of(InboxEvent.Restarted.class))
        .singleElement()
        .satisfies(event -> assertThat(event.loop()).isEqualTo("settler"));
  }

  @Test
  void b62_aListenerThatThrowsHarmsNobody() {
    AtomicInteger heard = new AtomicInteger();
    inbox.with(
        it ->
            it.listener(
                    event -> {
                      heard.incrementAndGet();
                      throw new IllegalStateException("listener");
                    })
                .listener(
                    event -> {
                      throw new AssertionError("listener");
                    })
                .listener(
                    event -> {
                      throw new StackOverflowError();
                    }));
    Recorder last = new Recorder();
    inbox.with(it -> it.listener(last));
    inbox.start();
    receive("x");
    inbox.awaitDrained();
    inbox.await("the events", () -> last.of(InboxEvent.Completed.class).size() == 24);
    assertThat(last.of(InboxEvent.Accepted.class)).hasSize(12);
    assertThat(last.of(InboxEvent.Failed.class)).hasSize(5);
    assertThat(last.heard(InboxEvent.Refused.class)).isFalse();
    assertThat(last.heard(InboxEvent.Restarted.class)).isFalse();
    assertThat(heard).hasPositiveValue();
  }

  @Test
  void b62_aClockThatThrowsHarmsNobody() {
    AtomicInteger reads = new AtomicInteger();
    inbox.inbox();
    inbox.start();
    receive("x");
    store.tell(
        () -> {
          if (reads.incrementAndGet() <= 20) {
            throw new IllegalStateException("clock");
          }
          return Instant.now();
        });
    // The engine took the clock when it was built; one that is built now takes the broken one.
    inbox.close();
    TestInbox broken =
        TestInbox.on(store, new TestClock(), channel)
            .with(it -> it.lanes(4).listener(events).restartDelay(ofMillis(1)))
            .patience(ofMinutes(3));
    try (broken) {
      broken.start();
      while (reads.get() == 0) {
        Thread.onSpinWait(); // the engine meets it before anybody else does
      }
      for (int i = 0; i < 30; i++) {
        try {
          broken.receive("n" + i, "fails once");
        } catch (IllegalStateException e) {
          assertThat(e).hasMessage("clock");
        }
      }
      broken.awaitDrained();
    }
    assertThat(broken).hasNoPoison();
    assertThat(reads).hasValueGreaterThan(20);
  }

  @Test
  void b62_anExecutorThatRefusesForAWhileCostsTimeAlone() {
    ExecutorService pool = Executors.newCachedThreadPool();
    AtomicInteger refused = new AtomicInteger();
    inbox
        .with(
            it ->
                it.executor(
                    task -> {
                      if (refused.incrementAndGet() <= 40) {
                        throw new RejectedExecutionException("full");
                      }
                      pool.execute(task);
                    }))
        .inbox();
    leaveSuspectsBehind();
    try {
      inbox.start();
      receive("x");
      inbox.awaitDrained();
    } finally {
      inbox.close();
      pool.shutdownNow();
    }
    assertThat(inbox).hasNoPoison();
  }

  @Test
  void b62_clm27_restartsAreTold() {
    inbox.inbox();
    AtomicInteger calls = new AtomicInteger();
    store.around(
        "load",
        call -> {
          if (calls.incrementAndGet() <= 3) {
            throw new IllegalStateException("bug " + calls);
          }
          return call.proceed();
        });
    inbox.receive("m", "x");
    inbox.start().awaitDrained();
    assertThat(events.of(InboxEvent.Restarted.class))
        .hasSize(3)
        .allSatisfy(event -> assertThat(event.loop()).isEqualTo("reader"));
    assertThat(events.of(InboxEvent.Restarted.class).get(0).cause()).hasMessage("bug 1");
  }

  @Test
  void aLoadThatTheDriverHasNoMemoryForIsHalvedUntilItSucceeds() {
    List<Long> asked = new CopyOnWriteArrayList<>();
    inbox.inbox();
    for (int i = 0; i < 20; i++) {
      inbox.receive("m" + i, "x");
    }
    store.around(
        "load",
        call -> {
          asked.add((Long) call.argument(1));
          if (asked.size() <= 3) {
            throw outOfMemoryInTheDriver();
          }
          return call.proceed();
        });

    inbox.start().awaitDrained();

    assertThat(inbox).has(40, DeliveryState.COMPLETED);
    long first = asked.get(0);
    assertThat(asked.subList(0, 4)).containsExactly(first, first / 2, first / 4, first / 8);
    assertThat(events.heard(InboxEvent.Restarted.class)).isFalse();
  }

  @Test
  void aReadOfFailuresThatTheDriverHasNoMemoryForIsTriedWithLess() {
    List<Long> asked = new CopyOnWriteArrayList<>();
    AtomicInteger reads = new AtomicInteger();
    inbox.inbox();
    inbox.receive("m", "fails once");
    store.around(
        "load",
        call -> {
          asked.add((Long) call.argument(1));
          return call.proceed();
        });
    store.around(
        "lastFailures",
        call -> {
          if (reads.incrementAndGet() == 1) {
            throw outOfMemoryInTheDriver();
          }
          return call.proceed();
        });

    inbox.start().awaitDrained();

    assertThat(inbox).has(2, DeliveryState.COMPLETED);
    assertThat(reads).hasValue(2);
    assertThat(asked.get(asked.size() - 1)).isEqualTo(asked.get(0) / 2);
  }

  private static StoreException outOfMemoryInTheDriver() {
    return new StoreException(
        StoreException.Kind.TRANSIENT,
        ErrorCode.DATABASE_TRANSIENT,
        "53200",
        new IllegalStateException("driver", new OutOfMemoryError("test")));
  }

  @Test
  @Timeout(600)
  void aReaderThatHasNoMemoryForASingleMessageStopsItsNode() throws InterruptedException {
    store.around(
        "load",
        call -> {
          throw outOfMemoryInTheDriver();
        });
    inbox.inbox();
    inbox.receive("m", "x"); // before the start, or it would be handed over
    RunningInbox running = inbox.inbox().start();

    running.awaitStopped();

    assertThat(running.healthy()).isFalse();
    store.unhook("load");
    inbox.start().awaitDrained();
    assertThat(inbox).has(2, DeliveryState.COMPLETED);
  }

  @Test
  @Timeout(600)
  void anEndThatFindsNoMemoryLeavesNothingOpen() {
    AtomicInteger ends = new AtomicInteger();
    inbox.with(
        it ->
            it.around(
                new Interceptor() {
                  @Override
                  public void around(Received<?> received, Next next) throws Exception {
                    next.proceed();
                  }

                  @Override
                  public void ended(Received<?> received, End end, @Nullable Throwable cause) {
                    if (ends.incrementAndGet() == 1) {
                      throw new OutOfMemoryError("test");
                    }
                  }
                }));
    inbox.start().receive("m", "x");

    inbox.awaitDrained();

    assertThat(inbox).has(2, DeliveryState.COMPLETED);
  }

  @Test
  void anInterruptedCloseCutsAttemptsAndStillRecordsThem() throws InterruptedException {
    Gate handler = new Gate();
    Gate settle = new Gate();
    AtomicBoolean interrupted = new AtomicBoolean();
    TestInbox single =
        TestInbox.on(
                store,
                new TestClock(),
                Channel.named("c").on(String.class).handle("h", text -> handler.pass()).build())
            .with(it -> it.stopGrace(ofMinutes(5)));
    single.start().receive("m", "x");
    handler.awaitSomebody();
    store.around(
        "settle",
        call -> {
          settle.passStubbornly();
          return call.proceed();
        });
    Thread closing =
        new Thread(
            () -> {
              Thread.currentThread().interrupt();
              single.close();
              interrupted.set(Thread.interrupted());
            });
    closing.start();
    settle.awaitSomebody();
    closing.join(500); // a close that did not wait would end by now
    assertThat(closing.isAlive()).as("waits for the outcome").isTrue();
    settle.open();
    closing.join();

    assertThat(interrupted).isTrue();
    assertThat(single).delivery("m", "h").isPending().hasFailedTimes(0).wasReleasedTimes(1);
    assertThat(memory.nodes().nodes())
        .extracting(NodeRow::state)
        .containsExactly(NodeRow.State.STOPPED);
  }

  @Test
  @Timeout(600)
  void aReaderThatCannotReadMakesItsNodeUnhealthy() {
    TestInbox blind =
        TestInbox.on(store, new TestClock(), channel)
            .with(it -> it.beat(ofMillis(100)).deadAfter(ofSeconds(1)));
    try (RunningInbox running = blind.inbox().start()) {
      blind.await("a healthy node", running::healthy);
      store.around(
          "fresh",
          call -> {
            throw Kind.TRANSIENT.thrown.get();
          });
      blind.await("a node that is not healthy", () -> !running.healthy());
      assertThat(store.calls("beat")).isPositive();
      store.unhook("fresh");
      blind.await("a healthy node", running::healthy);
    }
  }

  @Test
  void aDrainWhoseJoinFailsLeavesNoNodeBehind() {
    inbox.receive("m", "x");
    for (String method : List.of("known", "nodes", "cells", "take", "handlers")) {
      store.around(
          method,
          call -> {
            throw new IllegalStateException(method);
          });
      assertThatThrownBy(inbox::drain).hasMessage(method);
      assertThatThrownBy(inbox::start).hasMessage(method);
      store.unhook(method);
    }
    assertThat(memory.nodes().nodes()).extracting(NodeRow::alive).containsOnly(false);
    assertThat(inbox.drain()).isEqualTo(2);
  }

  @Test
  void aDrainThatCannotLeaveTellsWhyItFailed() {
    inbox.receive("m", "x");
    for (String method : List.of("fresh", "stopped")) {
      store.around(
          method,
          call -> {
            throw new IllegalStateException(method);
          });
    }
    assertThatThrownBy(inbox::drain)
        .hasMessage("fresh")
        .satisfies(
            e ->
                assertThat(e.getSuppressed())
                    .singleElement()
                    .hasToString("java.lang.IllegalStateException: stopped"));
    store.unhook("fresh");
    assertThatThrownBy(inbox::drain).hasMessage("stopped");
    store.unhook("stopped");
  }

  @Test
  void whatHasEndedIsWrittenDownAlthoughABeatFailsBehindIt() {
    List<String> calls = new ArrayList<>();
    try (TestInbox slow = slow(calls)) {
      AtomicInteger failures = new AtomicInteger();
      store.around(
          "beat",
          call -> {
            if (!calls.isEmpty() && failures.getAndIncrement() == 0) {
              throw Kind.TRANSIENT.thrown.get();
            }
            return call.proceed();
          });
      assertThatThrownBy(slow::drain).isInstanceOf(StoreException.class);
      assertThat(calls).hasSize(1);

      assertThat(slow.drain()).isEqualTo(2);
      assertThat(calls).containsExactlyInAnyOrder("a", "b", "c");
    }
  }

  @Test
  void aDrainThatCannotWriteDownWhatHasEndedTellsBothFailures() {
    List<String> calls = new ArrayList<>();
    try (TestInbox slow = slow(calls)) {
      store.around(
          "beat",
          call -> {
            if (!calls.isEmpty()) {
              throw new IllegalStateException("beat");
            }
            return call.proceed();
          });
      store.around(
          "settle",
          call -> {
            throw new IllegalStateException("settle");
          });
      assertThatThrownBy(slow::drain)
          .hasMessage("beat")
          .satisfies(
              e ->
                  assertThat(e.getSuppressed())
                      .singleElement()
                      .hasToString("java.lang.IllegalStateException: settle"));
    }
  }

  /** With three messages, each of which takes so long that a beat is due before the next. */
  private TestInbox slow(List<String> calls) {
    Channel slowly =
        Channel.named("c")
            .on(String.class)
            .handle(
                "h",
                text -> {
                  calls.add(text);
                  Thread.sleep(20);
                })
            .build();
    TestInbox slow = TestInbox.on(store, new TestClock(), slowly).with(it -> it.beat(ofMillis(10)));
    for (String text : List.of("a", "b", "c")) {
      slow.receive(text, text);
    }
    return slow;
  }

  /** Longer than a node may go on without a beat, which nobody else sends for it. */
  @ParameterizedTest
  @Timeout(600)
  @ValueSource(
      strings = {"load", "nodes", "paused", "cells", "handlers", "nodes cells load fresh settle"})
  void drainingGoesOnHoweverLongTheStoreTakesToRead(String methods) {
    inbox.with(it -> it.beat(ofMillis(20)).deadAfter(ofMillis(100)));
    inbox.receive("m", "x");
    for (String method : methods.split(" ")) {
      store.around(
          method,
          call -> {
            Thread.sleep(120);
            return call.proceed();
          });
    }
    inbox.drain();
    assertThat(inbox).has(2, DeliveryState.COMPLETED);
  }

  @Test
  @Timeout(600)
  void drainingGoesOnAfterBeatsThatTookTooLong() {
    inbox.with(it -> it.beat(ofMillis(20)).deadAfter(ofMillis(100)));
    inbox.receive("m", "x");
    AtomicInteger beats = new AtomicInteger();
    store.around(
        "nodes",
        call -> {
          Thread.sleep(30); // so that a beat is due at once
          return call.proceed();
        });
    store.around(
        "beat",
        call -> {
          if (beats.incrementAndGet() <= 4) {
            Thread.sleep(120);
          }
          return call.proceed();
        });
    inbox.drain();
    assertThat(inbox).has(2, DeliveryState.COMPLETED);
    assertThat(beats).hasValueGreaterThan(4);
  }

  @Test
  @Timeout(600)
  void drainingGoesOnAfterBeatsThatTookTooLongBeforeHandlers() {
    inbox.with(it -> it.beat(ofMillis(20)).deadAfter(ofMillis(100)));
    inbox.receive("m", "x");
    AtomicInteger slow = new AtomicInteger();
    store.around(
        "load",
        call -> {
          Thread.sleep(30); // so that a beat is due before the handlers
          slow.set(2); // and takes too long before each of both
          return call.proceed();
        });
    store.around(
        "beat",
        call -> {
          if (slow.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
            store.unhook("load");
            Thread.sleep(120);
          }
          return call.proceed();
        });
    inbox.drain();
    assertThat(inbox).has(2, DeliveryState.COMPLETED);
  }

  @Test
  @Timeout(600)
  void aDrainWhoseHeartbeatsAreAllTooSlowFails() {
    inbox.with(it -> it.beat(ofMillis(20)).deadAfter(ofMillis(100)));
    inbox.receive("m", "x");
    store.around(
        "nodes",
        call -> {
          Thread.sleep(30); // so that a beat is due at once
          return call.proceed();
        });
    store.around(
        "beat",
        call -> {
          Thread.sleep(120);
          return call.proceed();
        });
    assertThatThrownBy(inbox::drain)
        .isInstanceOfSatisfying(
            StoreException.class,
            e -> {
              assertThat(e.code()).isEqualTo(ErrorCode.DATABASE_TRANSIENT);
              assertThat(e).hasMessageContaining("PT0.0875S").hasMessageContaining("deadAfter");
            });
    assertThat(ran).isEmpty();
    assertThat(memory.nodes().nodes()).extracting(NodeRow::alive).containsOnly(false);

    store.unhook("beat");
    inbox.drain();
    assertThat(inbox).has(2, DeliveryState.COMPLETED);
  }

  @Test
  void aStartThatEndsInAnErrorLeavesNoNodeBehind() {
    inbox.receive("m", "x");
    for (String method : List.of("known", "nodes", "cells", "take", "handlers")) {
      store.around(
          method,
          call -> {
            throw new OutOfMemoryError(method);
          });
      assertThatThrownBy(inbox::start).isInstanceOf(OutOfMemoryError.class).hasMessage(method);
      store.unhook(method);
    }
    assertThat(memory.nodes().nodes()).extracting(NodeRow::alive).containsOnly(false);
    inbox.start().awaitDrained();
    assertThat(ran).containsExactly("m");
  }

  @Test
  void b62_aStoreThatIsAwayForLongIsWaitedFor() {
    inbox.inbox();
    inbox.start();
    receive("before");
    inbox.awaitDrained();
    List<String> all =
        List.of("fresh", "due", "ahead", "load", "settle", "beat", "nodes", "cells", "take");
    for (String method : all) {
      store.around(
          method,
          call -> {
            throw Kind.TRANSIENT.thrown.get();
          });
    }
    receive("during");
    int beats = store.calls("beat");
    inbox.await("some beats in vain", () -> store.calls("beat") > beats + 2);
    all.forEach(store::unhook);
    inbox.awaitDrained();
    assertThat(inbox).hasNoPoison();
    assertThat(events.heard(InboxEvent.Restarted.class)).isFalse();
    // Unreachable stores burn no attempt: only those that failed by themselves did.
    assertThat(events.of(InboxEvent.Failed.class)).hasSize(10);
  }

  @ParameterizedTest
  @ValueSource(strings = {"PT1H", "PT-1H", "P-4000D", "P4000D"})
  void clm02_aNodeWithAnotherClockRunsNothingEarlyAndNothingLate(Duration ahead) {
    TestClock clock = new TestClock();
    MemoryStore real = MemoryStore.create().clock(clock);
    HookedStore skewed = new HookedStore(real).tell(() -> clock.instant().plus(ahead));
    AtomicInteger attempts = new AtomicInteger();
    Channel failing =
        Channel.named("c")
            .on(String.class)
            .handle(
                "h",
                text -> {
                  if (attempts.incrementAndGet() < 3) {
                    throw new IllegalStateException("not yet");
                  }
                },
                retrying(RetryPolicy.fixed(ofMinutes(30))))
            .build();
    TestInbox node = TestInbox.on(skewed, clock, failing);
    node.receive("m", "x");
    node.drain();
    assertThat(attempts).hasValue(1);
    for (int failures = 1; failures < 3; failures++) {
      clock.advance(ofMinutes(30).minusSeconds(1));
      node.drain();
      assertThat(attempts).as("too early").hasValue(failures);
      clock.advance(ofSeconds(1));
      node.drain();
      assertThat(attempts).as("now").hasValue(failures + 1);
    }
    assertThat(node).delivery("m", "h").isCompleted();
  }
}
