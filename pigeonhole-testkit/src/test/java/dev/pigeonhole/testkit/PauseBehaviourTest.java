package dev.pigeonhole.testkit;

import static dev.pigeonhole.HandlerOption.atMost;
import static dev.pigeonhole.HandlerOption.pausingAfter;
import static dev.pigeonhole.HandlerOption.retrying;
import static dev.pigeonhole.testkit.TestInboxAssertions.assertThat;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Handler;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.admin.InboxAdmin;
import dev.pigeonhole.admin.Pause;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.store.NodeRow;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Handlers that an operator stops and lets go on. */
@Timeout(600)
class PauseBehaviourTest {
  private final MemoryStore store = MemoryStore.create();
  private final Recorder events = new Recorder();
  private final List<String> handled = new CopyOnWriteArrayList<>();
  private final Gate gate = new Gate();
  private final AtomicBoolean down = new AtomicBoolean(true);
  private final AtomicInteger calls = new AtomicInteger();
  private final List<TestInbox> started = new ArrayList<>();

  @AfterEach
  void stop() {
    gate.open();
    started.forEach(TestInbox::close);
  }

  private TestInbox inbox(Channel channel) {
    TestInbox inbox =
        TestInbox.on(store, new TestClock(), channel)
            .with(
                it ->
                    it.listener(events)
                        .beat(ofMillis(20))
                        .deadAfter(ofSeconds(60))
                        .stopGrace(ofSeconds(5)))
            .patience(ofMinutes(3));
    started.add(inbox);
    return inbox;
  }

  private TestInbox inbox() {
    return inbox(text -> handled.add("mail " + text));
  }

  /** Two handlers, one of which works as it is told. */
  private TestInbox inbox(Handler<String> mail, HandlerOption... options) {
    return inbox(
        Channel.named("c")
            .on(String.class)
            .handle("mail", mail, options)
            .handle("stock", text -> handled.add("stock " + text))
            .build());
  }

  /** The same with one that needs what is {@link #down}. */
  private TestInbox failing(HandlerOption... options) {
    return inbox(
        text -> {
          calls.incrementAndGet();
          if (down.get()) {
            throw new IllegalStateException("no connection");
          }
        },
        options);
  }

  private static InboxAdmin admin(TestInbox inbox) {
    return inbox.inbox().admin().as("ada");
  }

  @Test
  void whatIsPausedDoesNotRunByHandEither() {
    TestInbox inbox = inbox();
    assertThat(admin(inbox).pause("mail", "mail server is down")).isTrue();
    inbox.receive("m", "x");
    inbox.drain();
    assertThat(handled).containsExactly("stock x");
    assertThat(inbox).delivery("m", "mail").isPaused().hasFailedTimes(0);
    assertThat(admin(inbox).paused())
        .singleElement()
        .extracting(Pause::handler, Pause::by, Pause::reason)
        .containsExactly("mail", "ada", "mail server is down");

    assertThat(admin(inbox).resume("mail", "it is back")).isTrue();
    inbox.drain();
    assertThat(handled).containsExactly("stock x", "mail x");
  }

  @Test
  void aPauseReachesRunningNodesAndSurvivesThem() {
    TestInbox inbox = inbox();
    inbox.start();
    admin(inbox).pause("mail", "mail server is down");
    inbox.await("the pause", () -> events.heard(InboxEvent.HandlerPaused.class));
    for (int i = 0; i < 50; i++) {
      inbox.receive("m" + i, "x");
    }
    for (int i = 0; i < 50; i++) {
      inbox.await("m" + i, "stock", DeliveryState.COMPLETED);
    }
    inbox.close();
    inbox.start();
    inbox.receive("n", "x");
    inbox.await("n", "stock", DeliveryState.COMPLETED);
    assertThat(handled).noneMatch(each -> each.startsWith("mail"));

    admin(inbox).resume("mail", "it is back");
    inbox.awaitDrained();
    assertThat(handled.stream().filter(each -> each.startsWith("mail"))).hasSize(51);
    assertThat(events.of(InboxEvent.HandlerResumed.class))
        .extracting(InboxEvent.HandlerResumed::handler)
        .containsExactly("mail");
  }

  @Test
  void anAttemptUnderWayEndsAndWhatIsQueuedWaits() throws Exception {
    TestInbox inbox =
        inbox(
            Channel.named("c")
                .on(String.class)
                .handleMessage(
                    "mail",
                    received -> {
                      gate.pass();
                      handled.add(received.message().id());
                    },
                    atMost(1))
                .build());
    inbox.start();
    for (int i = 0; i < 20; i++) {
      inbox.receive("c", Message.of("m" + i, "x").orderedBy(i % 2 == 0 ? "even" : null));
    }
    gate.awaitSomebody();
    admin(inbox).pause("mail", "enough");
    inbox.await("the pause", () -> events.heard(InboxEvent.HandlerPaused.class));
    gate.open();
    inbox.await("one to end", () -> inbox.open() == 19);
    assertThat(handled).hasSize(1);

    admin(inbox).resume("mail", "more");
    inbox.awaitDrained();
    assertThat(handled).hasSize(20).doesNotHaveDuplicates();
    assertThat(handled.stream().filter(id -> Integer.parseInt(id.substring(1)) % 2 == 0))
        .isSortedAccordingTo(Comparator.comparing(id -> Integer.valueOf(id.substring(1))));
  }

  @Test
  void aHandlerThatKeepsFailingIsPausedAndBurnsNoAttempts() {
    TestInbox inbox =
        failing(
            atMost(1), retrying(RetryPolicy.fixed(ofMillis(1)).maxAttempts(4)), pausingAfter(5));
    inbox.start();
    for (int i = 0; i < 20; i++) {
      inbox.receive("m" + i, "x" + i);
    }
    inbox.await("the pause", () -> events.heard(InboxEvent.HandlerPaused.class));
    // Far more than all attempts that 20 messages have, if they were counted.
    inbox.await("many probes", () -> calls.get() > 150);
    inbox.await("the sibling", () -> handled.size() == 20);
    down.set(false);
    inbox.awaitDrained();

    assertThat(inbox).hasNoPoison();
    assertThat(events.of(InboxEvent.HandlerPaused.class))
        .singleElement()
        .satisfies(it -> assertThat(it.reason()).isEqualTo("it failed 5 times in a row"));
    assertThat(events.of(InboxEvent.HandlerResumed.class)).hasSize(1);
    assertThat(inbox.deliveries().stream().mapToInt(DeliveryView::failures).sum()).isEqualTo(5);
  }

  @Test
  void oneAtATimeFindsOutWhetherItWorksAgain() throws Exception {
    AtomicInteger inside = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    Gate probe = new Gate();
    TestInbox inbox =
        inbox(
            text -> {
              if (!down.get()) {
                return;
              }
              if (events.heard(InboxEvent.HandlerPaused.class)) {
                most.accumulateAndGet(inside.incrementAndGet(), Math::max);
                try {
                  probe.passStubbornly();
                } finally {
                  inside.decrementAndGet();
                }
              }
              throw new IllegalStateException("no connection");
            },
            atMost(4),
            retrying(RetryPolicy.fixed(ofMillis(1)).maxAttempts(50)),
            pausingAfter(1));
    // One alone pauses it, so that nothing else is under way.
    inbox.start().receive("first", "x");
    inbox.await("the pause", () -> events.heard(InboxEvent.HandlerPaused.class));
    for (int i = 0; i < 50; i++) {
      inbox.receive("m" + i, "x");
    }
    probe.awaitSomebody();
    inbox.inbox().wake();
    assertThat(most).hasValue(1);
    down.set(false);
    probe.open();
    inbox.awaitDrained();

    assertThat(most).hasValue(1);
    assertThat(inbox).hasNoPoison();
  }

  @Test
  void anErrorWhileAPauseEndsCostsNoOutcome() {
    TestInbox inbox =
        failing(atMost(1), retrying(RetryPolicy.fixed(ofMillis(1))), pausingAfter(1))
            .with(
                it ->
                    it.listener(
                        event -> {
                          if (event instanceof InboxEvent.HandlerResumed) {
                            throw new OutOfMemoryError("listener");
                          }
                        }));
    inbox.start().receive("m", "x");
    inbox.await("the pause", () -> events.heard(InboxEvent.HandlerPaused.class));
    down.set(false);

    inbox.await("m", "mail", DeliveryState.COMPLETED);
    inbox.receive("n", "x");
    inbox.await("n", "mail", DeliveryState.COMPLETED);
    inbox.close();
    assertThat(store.nodes().nodes()).extracting(NodeRow::alive).containsOnly(false);
  }

  @Test
  void aRuleWithItsOwnPolicyIsAnOutageToo() {
    RetryPolicy outage = RetryPolicy.fixed(ofMillis(1)).maxAttempts(2);
    TestInbox inbox =
        failing(
            retrying(RetryPolicy.defaults().on(IllegalStateException.class, outage)),
            pausingAfter(1));
    inbox.start();
    for (int i = 0; i < 5; i++) {
      inbox.receive("m" + i, "x");
    }
    inbox.await("two probes", () -> calls.get() >= 2);
    down.set(false);
    inbox.awaitDrained();
    assertThat(inbox).hasNoPoison();
  }

  @Test
  void whatSpeaksOfTheMessagePausesNobody() {
    TestInbox inbox =
        inbox(
            text -> {
              throw text.equals("x")
                  ? new PoisonException("no such account")
                  : new IllegalArgumentException("malformed");
            },
            retrying(RetryPolicy.defaults().poisonOn(IllegalArgumentException.class)),
            pausingAfter(1));
    inbox.start();
    inbox.receive("m", "x");
    inbox.receive("n", "y");
    inbox.await("m", "mail", DeliveryState.POISONED);
    inbox.await("n", "mail", DeliveryState.POISONED);
    assertThat(events.heard(InboxEvent.HandlerPaused.class)).isFalse();
  }

  @Test
  void aSlipInAKeyPausesNothing() {
    TestInbox inbox = inbox();
    assertThatThrownBy(() -> admin(inbox).pause("mial", "x"))
        .isInstanceOfSatisfying(
            InboxException.class,
            e -> assertThat(e.code()).isEqualTo(ErrorCode.HANDLER_KEY_UNKNOWN))
        .hasMessageContaining("There are: mail, stock.");
    assertThat(admin(inbox).paused()).isEmpty();
  }
}
