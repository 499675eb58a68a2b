package dev.pigeonhole.testkit;

import static dev.pigeonhole.HandlerOption.atMost;
import static dev.pigeonhole.HandlerOption.retrying;
import static dev.pigeonhole.HandlerOption.within;
import static dev.pigeonhole.testkit.TestInboxAssertions.assertThat;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.Batch;
import dev.pigeonhole.BatchHandler;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.Interceptor;
import dev.pigeonhole.Message;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.Received;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.event.InboxEvent;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Handlers that take several messages with one call. */
@Timeout(600)
class BatchBehaviourTest {
  private final Recorder events = new Recorder();
  private final List<List<String>> calls = new CopyOnWriteArrayList<>();
  private final Gate gate = new Gate();
  private final TestClock clock = new TestClock();
  private final HookedStore store = new HookedStore(MemoryStore.create().clock(clock));
  private final List<TestInbox> started = new ArrayList<>();

  @AfterEach
  void stop() {
    gate.open();
    started.forEach(TestInbox::close);
  }

  private TestInbox inbox(int most, BatchHandler<String> handler, HandlerOption... options) {
    Channel channel =
        Channel.named("c")
            .on(String.class)
            .handleBatch(
                "h",
                most,
                batch -> {
                  calls.add(ids(batch));
                  handler.handle(batch);
                },
                options)
            .build();
    TestInbox inbox =
        TestInbox.on(store, clock, channel)
            .with(it -> it.listener(events).stopGrace(ofSeconds(5)))
            .patience(ofMinutes(3));
    started.add(inbox);
    return inbox;
  }

  private static List<String> ids(Batch<String> batch) {
    List<String> ids = new ArrayList<>();
    for (Received<String> each : batch) {
      ids.add(each.message().id());
    }
    assertThat(ids).hasSize(batch.size());
    return ids;
  }

  private static void receive(int messages, TestInbox inbox) {
    for (int i = 0; i < messages; i++) {
      inbox.receive("m" + i, "x" + i);
    }
  }

  /** Fails the message with this id alone. */
  private static BatchHandler<String> failing(String id, Throwable cause) {
    return batch -> {
      for (Received<String> each : batch) {
        if (each.message().id().equals(id)) {
          batch.fail(each, cause);
        }
      }
    };
  }

  @Test
  void waitingMessagesAreHandedOverTogetherUpToTheLimit() {
    TestInbox inbox =
        inbox(10, batch -> gate.pass(), atMost(1)).with(it -> it.polling(ofMillis(1), ofMillis(5)));
    inbox.start();
    inbox.receive("first", "x");
    gate.awaitSomebody();
    receive(25, inbox);
    int reads = store.calls("fresh");
    inbox.await("all to stand in line", () -> store.calls("fresh") > reads + 2);
    gate.open();
    inbox.awaitDrained();

    assertThat(calls).allSatisfy(ids -> assertThat(ids).hasSizeLessThanOrEqualTo(10));
    assertThat(calls).anySatisfy(ids -> assertThat(ids).hasSize(10));
    assertThat(calls.stream().flatMap(List::stream)).doesNotHaveDuplicates().hasSize(26);
  }

  @Test
  void oneThatIsFailedIsRetriedAndTheOthersAreCompleted() {
    TestInbox inbox = inbox(10, failing("m1", new IllegalStateException("not this one")));
    receive(3, inbox);
    inbox.drain();

    assertThat(inbox).delivery("m0", "h").isCompleted();
    assertThat(inbox).delivery("m2", "h").isCompleted();
    assertThat(inbox.find("m1", "h").orElseThrow().failures()).isEqualTo(1);
    assertThat(inbox.find("m1", "h").orElseThrow().lastFailure().orElseThrow().message())
        .isEqualTo("not this one");
  }

  @Test
  void theCauseDecidesAsIfItHadBeenThrown() {
    TestInbox inbox = inbox(10, failing("m1", new PoisonException("never")));
    receive(3, inbox);
    inbox.drain();

    assertThat(inbox).delivery("m1", "h").isPoisonedWith(ErrorCode.HANDLER_POISONED);
    assertThat(inbox).delivery("m2", "h").isCompleted();
  }

  @Test
  void whatIsThrownFailsAllThatWereNotFailedBefore() {
    TestInbox inbox =
        inbox(
            10,
            batch -> {
              failing("m1", new PoisonException("never")).handle(batch);
              throw new IllegalStateException("the index is down");
            });
    receive(3, inbox);
    inbox.drain();

    assertThat(inbox).delivery("m1", "h").isPoisonedWith(ErrorCode.HANDLER_POISONED);
    for (String id : calls.get(0)) {
      if (!id.equals("m1")) {
        assertThat(inbox.find(id, "h").orElseThrow().lastFailure().orElseThrow().message())
            .isEqualTo("the index is down");
      }
    }
  }

  @Test
  void oneThatCannotBeReadIsPoisonedAndTheOthersAreHandled() {
    TestInbox inbox = inbox(10, batch -> {});
    receive(2, inbox);
    byte[] broken = "\u00e9".getBytes(StandardCharsets.ISO_8859_1);
    inbox.receive("c", Message.encoded("broken", "String", broken, "text/plain;charset=utf-8"));
    inbox.drain();

    assertThat(inbox).delivery("broken", "h").isPoisonedWith(ErrorCode.PAYLOAD_CHARSET);
    assertThat(inbox).delivery("m0", "h").isCompleted();
    assertThat(inbox).delivery("m1", "h").isCompleted();
    assertThat(calls.stream().flatMap(List::stream)).doesNotContain("broken");
  }

  @Test
  void messagesOfOneKeyNeverShareABatchAndKeepTheirOrder() {
    TestInbox inbox = inbox(10, batch -> {});
    for (int i = 0; i < 20; i++) {
      inbox.receive("c", Message.of("m" + i, "x").orderedBy("k" + i % 3));
    }
    inbox.drain();

    Map<Integer, Integer> last = new HashMap<>();
    for (List<String> ids : calls) {
      List<Integer> numbers = ids.stream().map(id -> Integer.valueOf(id.substring(1))).toList();
      assertThat(numbers.stream().map(n -> n % 3)).doesNotHaveDuplicates();
      for (int number : numbers) {
        assertThat(number).isGreaterThan(last.getOrDefault(number % 3, -1));
        last.put(number % 3, number);
      }
    }
    assertThat(calls.stream().flatMap(List::stream)).hasSize(20);
  }

  @Test
  void aBatchThatTakesTooLongFailsAllOfItAndCostsOneSlot() {
    TestInbox inbox =
        inbox(
            10,
            batch -> {
              if (calls.size() == 1) {
                gate.passStubbornly();
              }
            },
            atMost(1),
            within(ofSeconds(10)), // only the first is stuck
            retrying(RetryPolicy.fixed(ofMillis(1))));
    receive(4, inbox);
    inbox.start();
    inbox.await("a timeout", () -> events.heard(InboxEvent.Stuck.class));
    inbox.await(
        "a failure of each",
        () -> calls.get(0).size() == events.of(InboxEvent.Failed.class).size());
    inbox.advance(ofSeconds(1));
    for (int i = 0; i < 4; i++) {
      inbox.await("m" + i, "h", DeliveryState.COMPLETED);
    }

    assertThat(events.of(InboxEvent.Stuck.class)).hasSize(1);
    assertThat(events.of(InboxEvent.Failed.class))
        .isNotEmpty()
        .allSatisfy(it -> assertThat(it.failure().code()).isEqualTo(ErrorCode.HANDLER_TIMED_OUT));
  }

  @Test
  void onlyMessagesOfTheBatchCanBeFailed() {
    List<Received<String>> kept = new ArrayList<>();
    TestInbox inbox =
        inbox(
            1,
            batch -> {
              batch.forEach(kept::add);
              if (kept.size() == 2) {
                batch.fail(kept.get(0), new IllegalStateException("old"));
              }
            });
    receive(2, inbox);
    inbox.drain();

    DeliveryState second = inbox.find(calls.get(1).get(0), "h").orElseThrow().state();
    assertThat(second).isEqualTo(DeliveryState.SCHEDULED);
    assertThat(
            inbox
                .find(calls.get(1).get(0), "h")
                .orElseThrow()
                .lastFailure()
                .orElseThrow()
                .message())
        .contains("is not of this batch");
  }

  @Test
  void interceptorsStandAroundEachAndTheHandlerIsCalledOnce() {
    List<String> around = new ArrayList<>();
    TestInbox inbox =
        inbox(10, batch -> {})
            .with(
                it ->
                    it.around(
                        (received, next) -> {
                          around.add(received.message().id());
                          next.proceed();
                        }));
    receive(3, inbox);
    inbox.drain();

    assertThat(around).containsExactlyInAnyOrder("m0", "m1", "m2");
    assertThat(calls.stream().flatMap(List::stream)).hasSize(3);
    assertThat(inbox).delivery("m0", "h").isCompleted();
  }

  @Test
  void whatAnInterceptorRefusesIsLeftOutAndTheOthersAreHandled() {
    TestInbox inbox =
        inbox(10, batch -> {})
            .with(
                it ->
                    it.around(
                        (received, next) -> {
                          if (received.message().id().equals("m1")) {
                            throw new IllegalStateException("no tenant");
                          }
                          next.proceed();
                          if (received.message().id().equals("m2")) {
                            throw new IllegalStateException("cannot tell");
                          }
                        }));
    receive(4, inbox);
    inbox.drain();

    assertThat(calls.stream().flatMap(List::stream)).containsExactlyInAnyOrder("m0", "m2", "m3");
    assertThat(inbox).delivery("m0", "h").isCompleted();
    assertThat(inbox).delivery("m3", "h").isCompleted();
    assertThat(inbox).delivery("m1", "h").failedWithMessage("no tenant").hasFailedTimes(1);
    assertThat(inbox).delivery("m2", "h").failedWithMessage("cannot tell").hasFailedTimes(1);
  }

  @Test
  void theFailureOfABatchReachesItsInterceptorsAndEachOfIt() {
    List<String> seen = new ArrayList<>();
    TestInbox inbox =
        inbox(
                10,
                batch -> {
                  throw new IllegalStateException("index is down");
                })
            .with(
                it ->
                    it.around(
                        (received, next) -> {
                          try {
                            next.proceed();
                          } catch (IllegalStateException e) {
                            seen.add(e.getMessage()); // swallowed, in vain
                          }
                        }));
    receive(3, inbox);
    inbox.drain();

    assertThat(seen).hasSize(3).containsOnly("index is down");
    for (int i = 0; i < 3; i++) {
      assertThat(inbox).delivery("m" + i, "h").failedWithMessage("index is down");
    }
  }

  /** The interceptors of all messages of a batch are on one stack. */
  @Test
  void aBatchWhoseInterceptorsNeedTooMuchStackFailsAndNoneOfItIsCompleted() throws Exception {
    TestInbox inbox =
        inbox(200, batch -> {})
            .with(it -> it.around((received, next) -> proceedFromDepth(200, next)));
    receive(200, inbox);
    Thread drain = new Thread(null, inbox::drain, "drain", 256 << 10);
    drain.start();
    drain.join();

    assertThat(calls).isEmpty();
    List<ErrorCode> codes = new ArrayList<>();
    for (int i = 0; i < 200; i++) {
      assertThat(inbox).delivery("m" + i, "h").hasFailedTimes(1);
      codes.add(inbox.find("m" + i, "h").orElseThrow().lastFailure().orElseThrow().code());
    }
    // The interceptors that were called last have met the end of the stack themselves.
    assertThat(codes).contains(ErrorCode.HANDLER_NOT_CALLED);
  }

  private static void proceedFromDepth(int depth, Interceptor.Next next) throws Exception {
    if (depth == 0) {
      next.proceed();
    } else {
      proceedFromDepth(depth - 1, next);
    }
  }

  @Test
  void aMessageIsNotFailedForNoReason() {
    TestInbox inbox = inbox(10, batch -> batch.fail(batch.iterator().next(), null));
    receive(1, inbox);
    inbox.drain();
    assertThat(inbox).delivery("m0", "h").hasFailedTimes(1);
  }

  @Test
  void theSizeHasARange() {
    assertThatThrownBy(() -> inbox(0, batch -> {}).inbox())
        .isInstanceOf(ConfigurationException.class)
        .hasMessageContaining("Batch handler 'h' takes 0 messages");
    assertThatThrownBy(() -> inbox(201, batch -> {}).inbox())
        .isInstanceOf(ConfigurationException.class)
        .hasMessageContaining("PH-CFG-05");
  }

  @Test
  void messagesMayBeFailedByManyThreadsAtOnce() {
    int threads = 16;
    TestInbox inbox =
        inbox(
            200, batch -> failAll(batch, threads), retrying(RetryPolicy.defaults().maxAttempts(1)));
    for (int round = 0; round < 20; round++) {
      for (int i = 0; i < 200; i++) {
        inbox.receive("m" + round + "-" + i, "x");
      }
      inbox.drain();
    }

    assertThat(calls).anySatisfy(ids -> assertThat(ids).hasSize(200));
    assertThat(inbox.inbox().admin().counts().get(0).completed().value()).isZero();
    assertThat(inbox.inbox().admin().counts().get(0).poisoned().value()).isEqualTo(4_000);
  }

  private static void failAll(Batch<String> batch, int threads) throws Exception {
    List<Received<String>> messages = new ArrayList<>();
    batch.forEach(messages::add);
    CyclicBarrier together = new CyclicBarrier(threads);
    List<Thread> failing = new ArrayList<>();
    for (int t = 0; t < threads; t++) {
      int first = t;
      Thread thread =
          new Thread(
              () -> {
                await(together);
                for (int i = first; i < messages.size(); i += threads) {
                  batch.fail(messages.get(i), new IllegalStateException("down"));
                }
              });
      thread.start();
      failing.add(thread);
    }
    for (Thread thread : failing) {
      thread.join();
    }
  }

  private static void await(CyclicBarrier barrier) {
    try {
      barrier.await(300, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }
}
