package dev.pigeonhole.testkit;

import static dev.pigeonhole.HandlerOption.retrying;
import static dev.pigeonhole.HandlerOption.within;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Handler;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.Interceptor;
import dev.pigeonhole.Message;
import dev.pigeonhole.OnConflict;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.Received;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.Unhandled;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.HandlerCounts;
import dev.pigeonhole.admin.Overview;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.store.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What meters and traces are made of: how attempts end, how long things take, what is stamped. */
@Timeout(600)
class TelemetryBehaviourTest {
  /** Writes down what it is told. */
  private static final class Witness implements Interceptor {
    final List<String> ends = new CopyOnWriteArrayList<>();

    @Override
    public void around(Received<?> received, Next next) throws Exception {
      next.proceed();
    }

    @Override
    public void ended(Received<?> received, End end, @Nullable Throwable cause) {
      String why = cause == null ? "" : " " + cause.getClass().getSimpleName();
      ends.add(received.inbox() + " " + received.message().id() + " " + end + why);
    }
  }

  private final Witness witness = new Witness();
  private final Recorder events = new Recorder();
  private final Gate gate = new Gate();
  private @Nullable TestInbox started;

  @AfterEach
  void stop() {
    gate.open();
    if (started != null) {
      started.close();
    }
  }

  private TestInbox inbox(Handler<String> handler, HandlerOption... options) {
    return inbox(Channel.named("c").on(String.class).handle("h", handler, options).build());
  }

  private TestInbox inbox(Channel channel) {
    return watched(TestInbox.of(channel));
  }

  private TestInbox watched(TestInbox inbox) {
    return inbox.with(it -> it.around(witness).listener(events));
  }

  private static void fail(String text) {
    throw new IllegalStateException(text);
  }

  // ---- how attempts end

  @Test
  void anInterceptorIsToldOnceHowEachAttemptEnds() {
    TestInbox inbox =
        inbox(
            text -> {
              switch (text) {
                case "bad" -> throw new PoisonException("never");
                case "late" -> fail("not yet");
                default -> {}
              }
            },
            retrying(RetryPolicy.fixed(ofSeconds(1)).maxAttempts(2)));
    inbox.receive("m1", "fine");
    inbox.receive("m2", "bad");
    inbox.receive("m3", "late");
    inbox.drain();
    inbox.advance(ofSeconds(2)).drain();

    assertThat(witness.ends)
        .containsExactlyInAnyOrder(
            "inbox m1 COMPLETED",
            "inbox m2 POISONED PoisonException",
            "inbox m3 RETRIED IllegalStateException",
            "inbox m3 POISONED IllegalStateException");
  }

  @Test
  void whatABatchFailsIsToldOfEachOfItsMessages() {
    TestInbox inbox =
        inbox(
            Channel.named("c")
                .on(String.class)
                .handleBatch(
                    "h",
                    10,
                    batch -> {
                      for (Received<String> each : batch) {
                        if (each.payload().equals("bad")) {
                          batch.fail(each, new PoisonException("never"));
                        }
                      }
                    })
                .build());
    inbox.receive("m1", "fine");
    inbox.receive("m2", "bad");
    inbox.drain();

    assertThat(witness.ends)
        .containsExactlyInAnyOrder("inbox m1 COMPLETED", "inbox m2 POISONED PoisonException");
  }

  @Test
  void aTimeoutIsToldWhileTheHandlerIsStillInsideAndItsSlotIsFreedLater() {
    TestInbox inbox =
        watched(
            TestInbox.on(
                MemoryStore.create(),
                new TestClock(),
                Channel.named("c")
                    .on(String.class)
                    .handle("h", text -> gate.passStubbornly(), within(ofMillis(50)))
                    .build()));
    started = inbox;
    inbox.start();
    inbox.receive("m", "x");
    inbox.await("the timeout", () -> !witness.ends.isEmpty());
    assertThat(witness.ends.get(0)).startsWith("inbox m TIMED_OUT");
    inbox.await("a stuck slot", () -> events.heard(InboxEvent.Stuck.class));
    assertThat(events.of(InboxEvent.Unstuck.class)).isEmpty();

    gate.open();
    inbox.await("its end", () -> events.heard(InboxEvent.Unstuck.class));
    assertThat(events.of(InboxEvent.Unstuck.class).get(0).handler()).isEqualTo("h");
  }

  @Test
  void anAttemptThatIsCutByAStopIsReleased() {
    TestInbox inbox =
        watched(
            TestInbox.on(
                    MemoryStore.create(),
                    new TestClock(),
                    Channel.named("c").on(String.class).handle("h", text -> gate.pass()).build())
                .with(it -> it.stopGrace(Duration.ZERO)));
    started = inbox;
    inbox.start();
    inbox.receive("m", "x");
    gate.awaitSomebody();
    inbox.close();

    inbox.await("its end", () -> !witness.ends.isEmpty());
    assertThat(witness.ends).containsExactly("inbox m RELEASED");
  }

  @Test
  void anInterceptorThatFailsOnTheEndHarmsNobody() {
    TestInbox inbox = inbox(text -> {});
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
                    throw new IllegalStateException("broken");
                  }
                }));
    inbox.receive("m", "x");
    inbox.drain();

    assertThat(inbox.find("m", "h").orElseThrow().state()).isEqualTo(DeliveryState.COMPLETED);
    assertThat(witness.ends).containsExactly("inbox m COMPLETED");
  }

  // ---- accepting

  @Test
  void everyAnswerIsToldWithTheTimeItTook() {
    TestInbox inbox =
        inbox(
            Channel.named("c")
                .onConflict(OnConflict.REJECT)
                .unhandled(Unhandled.KEEP)
                .on(String.class)
                .named("text")
                .handle("h", text -> {})
                .build());
    inbox.receive("m", "x");
    inbox.receive("m", "x");
    inbox.receive("m", "other");
    inbox.receive("c", Message.encoded("n", "strange", new byte[] {1}, "x/y"));
    inbox.receive("", "x");

    List<InboxEvent.Answered> answers = events.of(InboxEvent.Answered.class);
    assertThat(answers)
        .extracting(each -> each.answer().getClass().getSimpleName(), each -> each.forNobody())
        .containsExactly(
            tuple("Accepted", false),
            tuple("Repeat", false),
            tuple("Conflict", false),
            tuple("Accepted", true),
            tuple("Rejected", false));
    assertThat(answers).allSatisfy(each -> assertThat(each.took()).isPositive());
    assertThat(answers).extracting(InboxEvent.Answered::channel).containsOnly("c");
    assertThat(answers)
        .extracting(InboxEvent.Answered::type)
        .containsExactly("text", "text", "text", "strange", "");
  }

  @Test
  void anAcceptThatTheStoreFailsIsToldOnceForAllMessages() {
    HookedStore store = new HookedStore(MemoryStore.create());
    TestInbox inbox =
        watched(
            TestInbox.on(
                store,
                new TestClock(),
                Channel.named("c").on(String.class).handle("h", text -> {}).build()));
    inbox.inbox();
    store.around(
        "acceptTogether",
        call -> {
          throw new StoreException(
              StoreException.Kind.TRANSIENT, ErrorCode.DATABASE_TRANSIENT, "down", null);
        });
    List<Message> two = List.of(Message.of("a", "x"), Message.of("b", "x"));
    assertThatThrownBy(() -> inbox.inbox().accept("c", two)).isInstanceOf(StoreException.class);

    assertThat(events.of(InboxEvent.AcceptFailed.class))
        .singleElement()
        .satisfies(failed -> assertThat(failed.messages()).isEqualTo(2));
    assertThat(events.of(InboxEvent.Answered.class)).isEmpty();
  }

  @Test
  void stampsAreGivenInOrderBeforeAMessageIsStored() {
    TestInbox inbox =
        inbox(
                Channel.named("c")
                    .on(String.class)
                    .handleMessage(
                        "h",
                        received ->
                            witness.ends.add("" + received.headers().text("tenant").orElse("none")))
                    .build())
            .with(
                it ->
                    it.stamping(message -> message.header("tenant", "acme"))
                        .stamping(
                            message ->
                                message.header(
                                    "tenant",
                                    message.headers().text("tenant").orElse("") + " twice")));
    inbox.receive("m", "x");
    inbox.drain();

    assertThat(witness.ends).contains("acme twice");
  }

  // ---- the engine

  @Test
  void pollsSettlesAndLanesAreTold() {
    TestInbox inbox = inbox(text -> {});
    for (int i = 0; i < 5; i++) {
      inbox.receive("m" + i, "x");
    }
    inbox.drain();

    assertThat(events.of(InboxEvent.Polled.class).stream().mapToInt(InboxEvent.Polled::deliveries))
        .isNotEmpty();
    assertThat(
            events.of(InboxEvent.Polled.class).stream()
                .mapToInt(InboxEvent.Polled::deliveries)
                .sum())
        .isEqualTo(5);
    assertThat(
            events.of(InboxEvent.Settled.class).stream()
                .mapToInt(InboxEvent.Settled::deliveries)
                .sum())
        .isEqualTo(5);
    assertThat(events.of(InboxEvent.LanesMoved.class))
        .containsExactly(
            new InboxEvent.LanesMoved("inbox", InboxEvent.Move.ACQUIRED, 64),
            new InboxEvent.LanesMoved("inbox", InboxEvent.Move.HANDED_OVER, 64));
  }

  @Test
  void anOverviewSaysHowTheInboxStands() {
    TestInbox inbox =
        inbox(
            text -> {
              throw new PoisonException("never");
            });
    inbox.receive("m1", "x");
    inbox.drain();
    inbox.receive("m2", "x");
    assertThat(inbox.receive("m2", "other")).isInstanceOf(Acceptance.Conflict.class);

    Overview overview = inbox.inbox().admin().overview(100);
    HandlerCounts counts = overview.counts().get(0);
    assertThat(counts.poisoned().value()).isEqualTo(1);
    assertThat(counts.pending().value()).isEqualTo(1);
    assertThat(overview.lag()).hasSize(1);
    assertThat(overview.conflicts().value()).isEqualTo(1);
    assertThat(overview.ownedLanes()).isZero();
    assertThat(overview.unownedLanes()).isEqualTo(64);
  }

  /** Or an alarm on lanes that nobody works on would never end. */
  @Test
  void lanesOfHandlersThatAreGoneAreMissedByNobody() {
    MemoryStore store = MemoryStore.create();
    TestInbox.on(
            store,
            new TestClock(),
            Channel.named("c").on(String.class).handle("gone", text -> {}).build())
        .drain();
    TestInbox inbox =
        TestInbox.on(
            store,
            new TestClock(),
            Channel.named("c").on(String.class).handle("h", text -> {}).build());
    started = inbox;
    inbox.start();
    inbox.await("all lanes", () -> inbox.inbox().admin().overview(100).ownedLanes() == 64);

    assertThat(inbox.inbox().admin().overview(100).unownedLanes()).isZero();
  }
}
