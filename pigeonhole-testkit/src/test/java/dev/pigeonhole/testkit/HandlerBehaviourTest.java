package dev.pigeonhole.testkit;

import static dev.pigeonhole.HandlerOption.retrying;
import static dev.pigeonhole.testkit.TestInboxAssertions.assertThat;
import static java.time.Duration.ZERO;
import static java.time.Duration.ofDays;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Failure;
import dev.pigeonhole.Handler;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.Message;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.Received;
import dev.pigeonhole.RetryLaterException;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.store.Loaded;
import dev.pigeonhole.store.StoredMessage;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Attempts, failures, backoff and poison, driven by hand. */
class HandlerBehaviourTest {
  private final AtomicInteger calls = new AtomicInteger();
  private final Recorder events = new Recorder();

  @AfterEach
  void forget() {
    CrashPlan.clear();
  }

  private TestInbox inbox(Handler<String> handler, HandlerOption... options) {
    Channel channel = Channel.named("c").on(String.class).handle("h", handler, options).build();
    return TestInbox.of(channel).with(it -> it.listener(events));
  }

  private TestInbox throwing(Throwable thrown, HandlerOption... options) {
    return inbox(
        text -> {
          calls.incrementAndGet();
          sneak(thrown);
        },
        options);
  }

  private static TestInbox received(TestInbox inbox) {
    inbox.receive("m", "x");
    return inbox;
  }

  /** Throws anything, as a handler written in another language may. */
  @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
  private static <T extends Throwable> void sneak(Throwable thrown) throws T {
    throw (T) thrown;
  }

  // ---- isolation

  @Test
  void b34_failingHandlerKeepsNobodyElse() {
    Channel channel =
        Channel.named("c")
            .on(String.class)
            .handle("ok", text -> {})
            .handle("fails", text -> sneak(new IllegalStateException("no")))
            .build();
    TestInbox inbox = received(TestInbox.of(channel));
    inbox.drain();
    assertThat(inbox).delivery("m", "ok").isCompleted();
    assertThat(inbox)
        .delivery("m", "fails")
        .hasFailedTimes(1)
        .isDueBetween(ofSeconds(1), ofSeconds(2));

    inbox.advance(ofHours(1)).drain();
    assertThat(inbox).delivery("m", "ok").isCompleted().hasFailedTimes(0);
    assertThat(inbox).delivery("m", "fails").hasFailedTimes(2);
  }

  @Test
  void b35_d126_eachHandlerAndEachAttemptHasItsOwnCopy() {
    List<String> seen = new ArrayList<>();
    Channel channel =
        Channel.named("c")
            .on(byte[].class)
            .handleMessage("one", received -> spoil(seen, received))
            .handleMessage("two", received -> spoil(seen, received))
            .build();
    TestInbox inbox = TestInbox.of(channel);
    byte[] sent = {'x'};
    inbox.receive("c", Message.of("m", sent).header("list", List.of("a")));
    sent[0] = 'z';
    inbox.drain();
    inbox.advance(ofSeconds(2)).drain();
    assertThat(seen).hasSize(4).containsOnly("x[a]");
  }

  private static void spoil(List<String> seen, Received<byte[]> received) {
    byte[] payload = received.payload();
    seen.add(new String(payload, StandardCharsets.UTF_8) + received.headers().get("list"));
    payload[0] = 'y';
    if (received.headers().get("list") instanceof List<?> list) {
      try {
        list.clear();
      } catch (UnsupportedOperationException e) {
        // As it should be.
      }
    }
    if (received.attempt() == 1) {
      throw new IllegalStateException("once more");
    }
  }

  @Test
  void b36_aCrashBetweenHandlerAndReceiptRunsItAgain() {
    TestInbox inbox = received(inbox(text -> calls.incrementAndGet()));
    CrashPlan.at("settle.before-commit").throwing(() -> new IllegalStateException("cut"));
    assertThatThrownBy(inbox::drain).hasMessage("cut");
    assertThat(inbox).delivery("m", "h").isPending();

    inbox.drain();
    assertThat(calls).hasValue(2);
    assertThat(inbox).delivery("m", "h").isCompleted().hasFailedTimes(0);
  }

  @Test
  void b36_aCrashAfterTheReceiptDoesNot() {
    TestInbox inbox = received(inbox(text -> calls.incrementAndGet()));
    CrashPlan.at("settle.after-commit").throwing(() -> new IllegalStateException("cut"));
    assertThatThrownBy(inbox::drain).hasMessage("cut");
    inbox.drain();
    assertThat(calls).hasValue(1);
    assertThat(inbox).delivery("m", "h").isCompleted();
  }

  @Test
  void b56_oneFailureInABatchLeavesTheOthersDone() {
    TestInbox inbox =
        inbox(
            text -> {
              if (text.equals("7")) {
                throw new IllegalStateException("seven");
              }
            });
    for (int i = 0; i < 20; i++) {
      inbox.receive("m" + i, String.valueOf(i));
    }
    assertThat(inbox.drain()).isEqualTo(20);
    assertThat(inbox).has(19, DeliveryState.COMPLETED).has(1, DeliveryState.SCHEDULED);
    assertThat(inbox).delivery("m7", "h").hasFailedTimes(1);
  }

  // ---- backoff

  @ParameterizedTest
  @CsvSource({"1, 1, 2", "2, 2, 4", "3, 4, 8", "4, 8, 16"})
  void b43_theWaitDoublesWithEachFailure(int failures, long earliest, long latest) {
    TestInbox inbox = received(throwing(new IllegalStateException("no")));
    for (int i = 0; i < failures; i++) {
      inbox.advance(ofHours(1)).drain();
    }
    assertThat(inbox)
        .delivery("m", "h")
        .hasFailedTimes(failures)
        .isDueBetween(ofSeconds(earliest), ofSeconds(latest));
  }

  @Test
  void b44_theWaitIsCapped() {
    TestInbox inbox =
        received(
            throwing(
                new IllegalStateException("no"), retrying(RetryPolicy.defaults().maxAttempts(99))));
    for (int i = 0; i < 70; i++) {
      inbox.advance(ofHours(1)).drain();
      if (i >= 8) {
        assertThat(inbox).delivery("m", "h").isDueBetween(ofSeconds(150), ofSeconds(300));
      }
    }
  }

  @Test
  void b45_waitsAreScatteredInsideTheirRangeAndASeedRepeatsThem() {
    Recorder recorder = new Recorder();
    TestInbox inbox =
        throwing(new IllegalStateException("no"), retrying(RetryPolicy.defaults()))
            .with(it -> it.listener(recorder));
    for (int i = 0; i < 1000; i++) {
      inbox.receive("m" + i, "x");
    }
    inbox.drain();

    List<Duration> waits =
        recorder.of(InboxEvent.Failed.class).stream().map(InboxEvent.Failed::next).toList();
    assertThat(waits)
        .hasSize(1000)
        .allSatisfy(wait -> assertThat(wait).isBetween(ofSeconds(1), ofSeconds(2)));
    assertThat(Set.copyOf(waits)).hasSizeGreaterThan(900);

    assertThat(seededWaits(42)).isEqualTo(seededWaits(42)).isNotEqualTo(seededWaits(43));
  }

  private List<Duration> seededWaits(long seed) {
    Recorder recorder = new Recorder();
    TestInbox inbox =
        throwing(new IllegalStateException("no"), retrying(RetryPolicy.defaults().seededWith(seed)))
            .with(it -> it.listener(recorder));
    inbox.receive("m1", "x");
    inbox.receive("m2", "x");
    for (int i = 0; i < 5; i++) {
      inbox.drain();
      inbox.advance(ofHours(1));
    }
    return recorder.of(InboxEvent.Failed.class).stream()
        .sorted(java.util.Comparator.comparing(event -> event.message().id()))
        .map(InboxEvent.Failed::next)
        .toList();
  }

  @Test
  void b46_whatIsNotDueIsNotPicked() {
    TestInbox inbox = inbox(text -> calls.incrementAndGet());
    inbox.receive("c", Message.of("m", "x").notBefore(inbox.clock().now().plusSeconds(10)));
    assertThat(inbox.drain()).isZero();
    assertThat(inbox).delivery("m", "h").isDueBetween(ofSeconds(10), ofSeconds(10));
    inbox.advance(ofSeconds(10).minusMillis(1));
    assertThat(inbox.drain()).isZero();
    inbox.advance(ofMillis(1));
    assertThat(inbox.drain()).isEqualTo(1);
  }

  // ---- attempts

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 5})
  void b48_b49_hd11_maxAttemptsCountsTheFirst(int max) {
    TestInbox inbox =
        received(
            throwing(
                new IllegalStateException("no"),
                retrying(RetryPolicy.defaults().maxAttempts(max))));
    for (int i = 0; i < max + 3; i++) {
      inbox.advance(ofDays(1)).drain();
    }
    assertThat(calls).hasValue(max);
    assertThat(inbox)
        .delivery("m", "h")
        .isPoisonedWith(ErrorCode.HANDLER_FAILED)
        .hasFailedTimes(max);
    assertThat(events.of(InboxEvent.Failed.class)).hasSize(max - 1);
    assertThat(events.of(InboxEvent.Poisoned.class))
        .singleElement()
        .satisfies(event -> assertThat(event.attempt()).isEqualTo(max));
  }

  @Test
  void b50_twoFailuresThenSuccessStaysTwo() {
    List<Integer> attempts = new ArrayList<>();
    List<String> previous = new ArrayList<>();
    Channel channel =
        Channel.named("c")
            .on(String.class)
            .handleMessage(
                "h",
                received -> {
                  attempts.add(received.attempt());
                  received.previousFailure().map(Failure::message).ifPresent(previous::add);
                  if (received.attempt() < 3) {
                    throw new IllegalStateException("failure " + received.attempt());
                  }
                })
            .build();
    TestInbox inbox = received(TestInbox.of(channel).with(it -> it.listener(events)));
    for (int i = 0; i < 4; i++) {
      inbox.drain();
      inbox.advance(ofHours(1));
    }
    assertThat(inbox).delivery("m", "h").isCompleted().hasFailedTimes(2).hasAttempts(3);
    assertThat(attempts).containsExactly(1, 2, 3);
    assertThat(previous).containsExactly("failure 1", "failure 2");
    assertThat(events.of(InboxEvent.Completed.class))
        .singleElement()
        .satisfies(event -> assertThat(event.attempt()).isEqualTo(3));
  }

  @Test
  void b51_aMessageThatIsGonePoisonsItsDelivery() {
    MemoryStore store = MemoryStore.create();
    TestClock clock = new TestClock();
    Channel channel =
        Channel.named("c").on(String.class).handle("h", text -> calls.incrementAndGet()).build();
    TestInbox inbox =
        TestInbox.on(store.clock(clock), clock, channel).with(it -> it.listener(events));
    inbox.receive("m", "x");
    inbox.receive("n", "x");
    store.tables().messages.remove(store.tables().messages.firstKey());

    inbox.drain();
    assertThat(calls).hasValue(1);
    assertThat(inbox.find("n", "h").map(DeliveryView::state)).hasValue(DeliveryState.COMPLETED);
    assertThat(store.tables().poison.values())
        .singleElement()
        .satisfies(
            row -> {
              assertThat(row.delivery().failures()).isZero();
              assertThat(row.delivery().seq()).isEqualTo(1);
            });
    assertThat(events.of(InboxEvent.Poisoned.class))
        .singleElement()
        .satisfies(
            event ->
                assertThat(event.failure().code()).isEqualTo(ErrorCode.PAYLOAD_MISSING_MESSAGE));
  }

  // ---- what handlers throw

  @Test
  void b52_d116_longTextsAreCut() {
    TestInbox inbox = received(throwing(new IllegalStateException("x".repeat(10_000_000))));
    inbox.drain();
    Failure failure = failure(inbox);
    assertThat(failure.message()).isEqualTo("x".repeat(2000));
    assertThat(failure.stack()).hasSizeLessThanOrEqualTo(8192);
  }

  static Stream<Throwable> oddThrowables() {
    IllegalStateException first = new IllegalStateException("first");
    IllegalStateException second = new IllegalStateException("second", first);
    first.initCause(second);
    return Stream.of(
        new IllegalStateException((String) null),
        new IllegalStateException("a\0b\uD800c\u0007"),
        first,
        new Exception("checked"),
        new Throwable("bare"),
        new InterruptedException("not ours"),
        new StackOverflowError(),
        new NoClassDefFoundError("gone"),
        new AssertionError("failed"),
        new IllegalStateException() {
          private static final long serialVersionUID = 1L;

          @Override
          public String getMessage() {
            throw new UnsupportedOperationException("no message");
          }
        },
        new IllegalStateException() {
          private static final long serialVersionUID = 1L;

          @Override
          public String getMessage() {
            throw new StackOverflowError();
          }
        },
        new IllegalStateException("endless") {
          private static final long serialVersionUID = 1L;

          @Override
          public synchronized Throwable getCause() {
            return new IllegalStateException("deeper", this);
          }
        });
  }

  @ParameterizedTest
  @MethodSource("oddThrowables")
  void hd02_hd03_d116_d117_whateverIsThrownCountsOnceAndCanBeStored(Throwable thrown) {
    TestInbox inbox = received(throwing(thrown));
    inbox.drain();
    assertThat(inbox).delivery("m", "h").isScheduled().hasFailedTimes(1);
    Failure failure = failure(inbox);
    assertThat(failure.message() + failure.stack()).doesNotContain("\0", "\uD800", "\u0007");
    assertThat(failure.type()).isEqualTo(thrown.getClass().getName());
    for (int i = 0; i < 4; i++) {
      inbox.advance(ofHours(1)).drain();
    }
    assertThat(inbox).delivery("m", "h").isPoisoned().hasFailedTimes(5);
    assertThat(calls).hasValue(5);
  }

  @Test
  void d116_whatCannotBeStoredIsEscaped() {
    TestInbox inbox = received(throwing(new IllegalStateException("a\0b\uD800c\u0007")));
    inbox.drain();
    assertThat(failure(inbox).message()).isEqualTo("a\\u0000b\\uD800c\\u0007");
  }

  private static Failure failure(TestInbox inbox) {
    return inbox.find("m", "h").flatMap(DeliveryView::lastFailure).orElseThrow();
  }

  @Test
  void hd10_poisonExceptionEndsTheStoryAtOnce() {
    TestInbox inbox = received(throwing(new PoisonException("no such account")));
    inbox.drain();
    inbox.advance(ofDays(1)).drain();
    assertThat(calls).hasValue(1);
    assertThat(inbox)
        .delivery("m", "h")
        .isPoisonedWith(ErrorCode.HANDLER_POISONED)
        .hasFailedTimes(1)
        .failedWithMessage("no such account");
  }

  @Test
  void hd10_aClassOfExceptionsCanPoisonAndAnotherWaitLonger() {
    RetryPolicy policy =
        RetryPolicy.defaults()
            .on(IllegalStateException.class, RetryPolicy.fixed(ofMinutes(7)).maxAttempts(2))
            .poisonOn(RuntimeException.class)
            .maxAttempts(3);
    AtomicReference<Throwable> thrown = new AtomicReference<>(new Exception("checked"));
    TestInbox inbox =
        received(
            inbox(
                text -> {
                  calls.incrementAndGet();
                  sneak(thrown.get());
                },
                retrying(policy)));
    inbox.drain();
    assertThat(inbox).delivery("m", "h").isDueBetween(ofSeconds(1), ofSeconds(2));

    thrown.set(new IllegalStateException("the first rule that matches"));
    inbox.advance(ofSeconds(2)).drain();
    assertThat(inbox).delivery("m", "h").isPoisoned().hasFailedTimes(2);

    inbox.receive("n", "x");
    inbox.drain();
    assertThat(inbox).delivery("n", "h").isDueBetween(ofMinutes(7), ofMinutes(7));
    thrown.set(new IllegalArgumentException("the second"));
    inbox.advance(ofMinutes(7)).drain();
    assertThat(inbox).delivery("n", "h").isPoisoned().hasFailedTimes(2);
  }

  @Test
  void retryLaterWaitsAsAskedAndCounts() {
    TestInbox inbox = received(throwing(RetryLaterException.after(ofMinutes(10))));
    inbox.drain();
    assertThat(inbox)
        .delivery("m", "h")
        .hasFailedTimes(1)
        .isDueBetween(ofMinutes(10), ofMinutes(10));
    for (int i = 0; i < 6; i++) {
      inbox.advance(ofMinutes(10)).drain();
    }
    assertThat(calls).hasValue(5);
    assertThat(inbox).delivery("m", "h").isPoisonedWith(ErrorCode.HANDLER_LATER);
  }

  @Test
  void retryLaterUncountedNeverPoisons() {
    TestInbox inbox = received(throwing(RetryLaterException.uncounted(ofMinutes(10))));
    for (int i = 0; i < 50; i++) {
      inbox.drain();
      assertThat(inbox)
          .delivery("m", "h")
          .hasFailedTimes(0)
          .isDueBetween(ofMinutes(10), ofMinutes(10));
      inbox.advance(ofMinutes(10));
    }
    assertThat(calls).hasValue(50);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void retryLaterForeverOrBeforeNowHarmsNobody(boolean counted) {
    List<Duration> delays =
        List.of(ChronoUnit.FOREVER.getDuration(), ofSeconds(-5), ZERO, ofDays(400_000));
    AtomicInteger next = new AtomicInteger();
    TestInbox inbox =
        inbox(
            text -> {
              if (text.equals("odd")) {
                int nth = next.getAndIncrement();
                if (nth < delays.size()) {
                  Duration delay = delays.get(nth);
                  throw counted
                      ? RetryLaterException.after(delay)
                      : RetryLaterException.uncounted(delay);
                }
              }
            });
    inbox.receive("ok", "x");
    for (int i = 0; i < delays.size(); i++) {
      inbox.receive("odd" + i, "odd");
    }
    inbox.drain();
    assertThat(inbox).delivery("ok", "h").isCompleted();
    assertThat(inbox).has(2, DeliveryState.SCHEDULED).has(3, DeliveryState.COMPLETED);
    inbox.advance(ofDays(4000)).drain();
    assertThat(inbox).isDrained().hasNoPoison();
  }

  @Test
  void hd04_aFailingHandlerIsNeverShownAsDone() {
    TestInbox inbox = received(throwing(new IllegalStateException("no")));
    for (int i = 0; i < 8; i++) {
      inbox.drain();
      assertThat(inbox.find("m", "h").map(DeliveryView::state))
          .isNotEqualTo(java.util.Optional.of(DeliveryState.COMPLETED));
      inbox.advance(ofHours(1));
    }
    assertThat(events.heard(InboxEvent.Completed.class)).isFalse();
  }

  @Test
  void hd06_undecodableContentIsAcceptedAndPoisonedAtDelivery() {
    TestInbox inbox = inbox(text -> calls.incrementAndGet());
    for (int i = 0; i < 1000; i++) {
      byte[] broken = {(byte) 0xff, (byte) 0xfe};
      inbox.receive("c", Message.encoded("m" + i, "String", broken, "text/plain;charset=utf-8"));
    }
    inbox.receive("ok", "fine");
    inbox.drain();
    assertThat(calls).hasValue(1);
    assertThat(inbox.inbox().admin().poisoned("h", 2000)).hasSize(1000);
    assertThat(inbox).delivery("ok", "h").isCompleted();
    assertThat(inbox)
        .delivery("m0", "h")
        .isPoisonedWith(ErrorCode.PAYLOAD_CHARSET)
        .hasFailedTimes(0);
  }

  @Test
  void hd07_aStoredTypeNameNeverPicksAClass() {
    TestInbox inbox = inbox(text -> calls.incrementAndGet());
    inbox.receive("m", "x");
    MemoryStore store = (MemoryStore) inbox.store();
    MessageRow row = store.tables().messages.firstEntry().getValue();
    HookedStore lying = new HookedStore(store);
    lying.around(
        "load",
        call -> {
          StoredMessage was = row.stored();
          StoredMessage trap =
              new StoredMessage(
                  was.seq(),
                  was.version(),
                  was.source(),
                  was.id(),
                  Trap.class.getName(),
                  was.channel(),
                  was.transport(),
                  was.orderingKey(),
                  was.content(),
                  was.contentType(),
                  was.headers(),
                  was.contentHash(),
                  was.occurredAt(),
                  was.receivedAt(),
                  Map.of());
          return new Loaded(Map.of(was.seq(), trap), Set.of());
        });
    Channel channel =
        Channel.named("c").on(String.class).handle("h", text -> calls.incrementAndGet()).build();
    TestInbox.on(lying, inbox.clock(), channel).drain();
    assertThat(inbox).delivery("m", "h").isPoisonedWith(ErrorCode.PAYLOAD_TYPE_REFUSED);
    assertThat(calls).hasValue(0);
    assertThat(sprung).isFalse();
  }

  private static boolean sprung;

  /** Must never be loaded. */
  static final class Trap {
    static {
      sprung = true;
    }
  }

  @Test
  void hd08_theIdempotencyKeyIsTheSameOnEveryAttemptAndDiffersByHandler() {
    List<String> keys = new ArrayList<>();
    List<String> others = new ArrayList<>();
    Channel channel =
        Channel.named("c")
            .on(String.class)
            .handleMessage(
                "a",
                received -> {
                  keys.add(received.idempotencyKey());
                  if (received.attempt() < 3) {
                    throw new IllegalStateException("again");
                  }
                })
            .handleMessage("b", received -> others.add(received.idempotencyKey()))
            .build();
    TestInbox inbox = received(TestInbox.of(channel));
    for (int i = 0; i < 3; i++) {
      inbox.drain();
      inbox.advance(ofHours(1));
    }
    assertThat(keys).hasSize(3);
    assertThat(new HashSet<>(keys)).hasSize(1);
    assertThat(others).hasSize(1).doesNotContain(keys.get(0));
    assertThat(keys.get(0)).hasSize(36);
  }

  @Test
  void hd09_aHandlerMayFeedItsOwnInbox() {
    AtomicReference<TestInbox> self = new AtomicReference<>();
    TestInbox inbox =
        inbox(
            text -> {
              calls.incrementAndGet();
              int depth = Integer.parseInt(text);
              if (depth < 3) {
                self.get().receive("m" + (depth + 1), String.valueOf(depth + 1));
              }
            });
    self.set(inbox);
    inbox.receive("m1", "1");
    assertThat(inbox.drain()).isEqualTo(3);
    assertThat(inbox).isDrained().hasNoPoison();
  }

  @Test
  void aHandlerSeesWhatTheMessageCarried() {
    AtomicReference<Received<String>> seen = new AtomicReference<>();
    Channel channel = Channel.named("c").on(String.class).handleMessage("h", seen::set).build();
    TestInbox inbox = TestInbox.of(channel);
    inbox.receive(
        "c",
        Message.of("m", "x")
            .from("shop/checkout")
            .header("tenant", "acme")
            .orderedBy("k")
            .occurredAt(TestClock.START.minusSeconds(5)));
    inbox.advance(ofSeconds(3)).drain();
    Received<String> received = seen.get();
    assertThat(received.message()).hasToString("shop/checkout/m");
    assertThat(received.type()).isEqualTo("String");
    assertThat(received.headers().text("tenant")).hasValue("acme");
    assertThat(received.handler()).isEqualTo("h");
    assertThat(received.attempt()).isEqualTo(1);
    assertThat(received.orderingKey()).hasValue("k");
    assertThat(received.receivedAt()).isEqualTo(TestClock.START);
    assertThat(received.occurredAt()).hasValue(TestClock.START.minusSeconds(5));
    assertThat(received.timeLeft()).isEmpty();
    assertThat(received.stopRequested()).isFalse();
    assertThat(received.laneToken()).isPositive();
  }

  // ---- operating

  @Test
  void b73_twoStoresKnowNothingOfEachOther() {
    TestInbox one = inbox(text -> calls.incrementAndGet());
    TestInbox two = throwing(new IllegalStateException("no"));
    one.receive("m", "x");
    two.receive("m", "x");
    assertThat(one.drain()).isEqualTo(1);
    assertThat(two).delivery("m", "h").isPending();
    two.drain();
    assertThat(one).delivery("m", "h").isCompleted();
    assertThat(two).delivery("m", "h").isScheduled();
  }

  @Test
  void b74_aRetriedPoisonBeginsAnewWithoutARestart() {
    AtomicReference<Throwable> thrown = new AtomicReference<>(new PoisonException("bad"));
    List<Integer> attempts = new ArrayList<>();
    Channel channel =
        Channel.named("c")
            .on(String.class)
            .handleMessage(
                "h",
                received -> {
                  attempts.add(received.attempt());
                  if (thrown.get() != null) {
                    sneak(thrown.get());
                  }
                })
            .build();
    TestInbox inbox = received(TestInbox.of(channel));
    inbox.drain();
    assertThat(inbox).delivery("m", "h").isPoisoned();
    assertThat(inbox.inbox().admin().poisoned("h", 10)).hasSize(1);

    assertThat(inbox.inbox().admin().as("ada").retry("c", "m", "h", "fixed")).isTrue();
    assertThat(inbox).delivery("m", "h").isPending().hasFailedTimes(0);
    assertThat(inbox.inbox().admin().retry("c", "m", "h", "twice")).isFalse();
    thrown.set(null);
    inbox.drain();
    assertThat(inbox).delivery("m", "h").isCompleted();
    assertThat(attempts).containsExactly(1, 1);
  }

  @Test
  void b75_nothingRunsUntilItIsDriven() {
    TestInbox inbox = received(inbox(text -> calls.incrementAndGet()));
    inbox.advance(ofDays(1));
    assertThat(calls).hasValue(0);
    assertThat(inbox).delivery("m", "h").isPending();
    inbox.drain();
    assertThat(calls).hasValue(1);
    assertThat(inbox.drain()).isZero();
  }

  @Test
  void b77_theLagOfEachMessageIsTold() {
    TestInbox inbox = received(inbox(text -> {}));
    inbox.advance(ofSeconds(90)).drain();
    assertThat(events.of(InboxEvent.Completed.class))
        .singleElement()
        .satisfies(
            event -> {
              assertThat(event.lag()).isEqualTo(ofSeconds(90));
              assertThat(event.message().id()).isEqualTo("m");
              assertThat(event.handler()).isEqualTo("h");
            });
  }

  @Test
  void d117_outOfMemoryByHandIsToldToTheCallerAndLosesNothing() {
    AtomicReference<Throwable> thrown = new AtomicReference<>(new OutOfMemoryError("test"));
    TestInbox inbox =
        inbox(
            text -> {
              calls.incrementAndGet();
              if (text.equals("big") && thrown.get() != null) {
                sneak(thrown.get());
              }
            });
    for (int i = 0; i < 10; i++) {
      inbox.receive("m" + i, "small");
    }
    inbox.receive("n", "big");
    assertThatThrownBy(inbox::drain).hasRootCauseInstanceOf(OutOfMemoryError.class);
    thrown.set(null);
    assertThat(inbox).delivery("n", "h").hasFailedTimes(1);

    inbox.advance(ofSeconds(2)).drain();
    assertThat(inbox).isDrained().hasNoPoison();
    assertThat(calls).hasValue(12);
  }

  @Test
  void anInterruptThatAHandlerLeavesBehindStaysWithTheCallerOfDrain() {
    TestInbox inbox = received(inbox(text -> Thread.currentThread().interrupt()));
    inbox.drain();
    assertThat(Thread.interrupted()).isTrue();
    assertThat(inbox).delivery("m", "h").isCompleted();
  }
}
