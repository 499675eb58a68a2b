package dev.pigeonhole.testkit;

import static dev.pigeonhole.HandlerOption.atMost;
import static dev.pigeonhole.HandlerOption.retrying;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Message;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.admin.DeliveryState;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Which message a handler that has more to do than it can takes first. */
class PriorityBehaviourTest {
  private final List<String> handled = Collections.synchronizedList(new ArrayList<>());

  private TestInbox inbox() {
    return TestInbox.of(Channel.named("c").on(String.class).handle("h", handled::add).build());
  }

  private static void receive(TestInbox inbox, String text, int priority) {
    assertThat(inbox.receive("c", Message.of(text, text).priority(priority)))
        .isInstanceOf(Acceptance.Accepted.class);
  }

  @Test
  void theHighestPriorityIsTakenFirst() {
    TestInbox inbox = inbox();
    receive(inbox, "zero", 0);
    inbox.receive("plain", "plain");
    receive(inbox, "five", 5);
    receive(inbox, "three", 3);
    receive(inbox, "nine", 9);
    receive(inbox, "another nine", 9);

    assertThat(inbox.drain()).isEqualTo(6);
    assertThat(handled).containsExactly("nine", "another nine", "five", "plain", "three", "zero");
  }

  @Test
  void anHourOfWaitingMakesUpForAStep() {
    TestInbox inbox = inbox();
    receive(inbox, "zero", 0);
    inbox.advance(ofMinutes(239));
    inbox.receive("plain", "plain");
    receive(inbox, "nine", 9);
    inbox.drain();
    assertThat(handled).containsExactly("nine", "plain", "zero");

    handled.clear();
    receive(inbox, "an older zero", 0);
    inbox.advance(ofMinutes(241));
    inbox.receive("another", "another");
    receive(inbox, "second nine", 9);
    inbox.drain();
    assertThat(handled).containsExactly("second nine", "an older zero", "another");

    handled.clear();
    receive(inbox, "the oldest zero", 0);
    inbox.advance(ofMinutes(541));
    receive(inbox, "third nine", 9);
    inbox.drain();
    assertThat(handled).containsExactly("the oldest zero", "third nine");
  }

  @Test
  void messagesWithAnOrderingKeyKeepTheirOrder() {
    TestInbox inbox = inbox();
    for (int i = 0; i < 10; i++) {
      String text = "m" + i;
      inbox.receive("c", Message.of(text, text).orderedBy("k").priority(i));
    }
    inbox.drain();

    assertThat(handled)
        .containsExactlyElementsOf(IntStream.range(0, 10).mapToObj(i -> "m" + i).toList());
  }

  @Test
  void aTimeToWaitForIsStrongerThanAPriority() {
    TestInbox inbox = inbox();
    inbox.receive(
        "c", Message.of("m", "m").priority(9).notBefore(inbox.clock().now().plusSeconds(60)));

    assertThat(inbox.drain()).isZero();
    assertThat(inbox.find("m", "h").orElseThrow().state()).isEqualTo(DeliveryState.SCHEDULED);
    inbox.advance(ofSeconds(60));
    assertThat(inbox.drain()).isEqualTo(1);
  }

  @Test
  void aRetryHasNoPriority() {
    List<String> failing = new ArrayList<>(List.of("nine", "zero"));
    Channel channel =
        Channel.named("c")
            .on(String.class)
            .handle(
                "h",
                text -> {
                  handled.add(text);
                  if (failing.remove(text)) {
                    throw new IllegalStateException("not now");
                  }
                },
                retrying(RetryPolicy.fixed(ofSeconds(10))))
            .build();
    TestInbox inbox = TestInbox.of(channel);
    receive(inbox, "nine", 9);
    receive(inbox, "zero", 0);
    inbox.drain();
    assertThat(handled).containsExactly("nine", "zero");

    handled.clear();
    inbox.advance(ofSeconds(10));
    receive(inbox, "five", 5);
    receive(inbox, "three", 3);
    inbox.drain();
    assertThat(handled).containsExactly("five", "nine", "zero", "three");
  }

  @Test
  void aPriorityOutOfRangeIsRejected() {
    TestInbox inbox = inbox();

    for (int priority : new int[] {-1, 10}) {
      assertThat(inbox.receive("c", Message.of("m", "m").priority(priority)))
          .isInstanceOfSatisfying(
              Acceptance.Rejected.class,
              it -> assertThat(it.code()).isEqualTo(ErrorCode.PRIORITY_OUT_OF_RANGE));
    }
    assertThat(inbox.drain()).isZero();
  }

  @Test
  void everyMessageIsHandledHoweverManyHaveAPriority() {
    TestInbox inbox = inbox();
    for (int i = 0; i < 3_000; i++) {
      receive(inbox, "m" + i, i % 10);
    }

    assertThat(inbox.drain()).isEqualTo(3_000);
    assertThat(handled).hasSize(3_000).doesNotHaveDuplicates();
  }

  // ---- with threads

  /** A handler with one slot, which begins as often as it is let. */
  private Channel slow(Semaphore leave) {
    return Channel.named("c")
        .on(String.class)
        .handle(
            "slow",
            text -> {
              handled.add(text);
              leave.acquire();
            },
            atMost(1))
        .handle("quick", text -> {})
        .build();
  }

  @Test
  void whatThisProcessAcceptsGoesBeforeWhatIsPrefetched() throws Exception {
    Semaphore leave = new Semaphore(0);
    try (TestInbox inbox = TestInbox.of(slow(leave)).start()) {
      inbox.receive("first", "first");
      inbox.await("the slot to be taken", () -> handled.contains("first"));
      for (int i = 0; i < 800; i++) { // more than is prefetched
        inbox.receive("n" + i, "n" + i);
      }
      receive(inbox, "zero", 0);
      receive(inbox, "five", 5);
      receive(inbox, "nine", 9);
      inbox.await("nine", "quick", DeliveryState.COMPLETED);
      leave.release(2);
      inbox.await("three runs", () -> handled.size() == 3);

      assertThat(handled).containsExactly("first", "nine", "five");
      leave.release(2_000);
      inbox.awaitDrained();
      assertThat(handled).hasSize(804).doesNotHaveDuplicates();
    }
  }

  @Test
  void whatAnotherNodeAcceptsGoesBeforeWhatIsPrefetched() throws Exception {
    Semaphore leave = new Semaphore(0);
    TestInbox other = TestInbox.of(slow(leave));
    try (TestInbox inbox =
        TestInbox.on(other.store(), other.clock(), slow(leave))
            .with(it -> it.polling(ofMillis(5), ofMillis(20)))
            .start()) {
      inbox.receive("first", "first");
      inbox.await("the slot to be taken", () -> handled.contains("first"));
      for (int i = 0; i < 800; i++) {
        inbox.receive("n" + i, "n" + i);
      }
      receive(other, "nine", 9);
      // One read brings the rows of both handlers, and this one has nothing else to do.
      other.await("nine", "quick", DeliveryState.COMPLETED);
      leave.release();
      inbox.await("two runs", () -> handled.size() == 2);

      assertThat(handled).containsExactly("first", "nine");
      leave.release(2_000);
      inbox.awaitDrained();
    }
  }

  @Test
  void aFloodOfLowOnesKeepsNobodyOut() throws Exception {
    Semaphore leave = new Semaphore(0);
    try (TestInbox inbox = TestInbox.of(slow(leave)).start()) {
      receive(inbox, "first", 0);
      inbox.await("the slot to be taken", () -> handled.contains("first"));
      for (int i = 0; i < 800; i++) {
        receive(inbox, "low" + i, 0);
      }
      inbox.receive("plain", "plain");
      receive(inbox, "nine", 9);
      inbox.await("plain", "quick", DeliveryState.COMPLETED);
      inbox.await("nine", "quick", DeliveryState.COMPLETED);
      leave.release(2);
      inbox.await("three runs", () -> handled.size() == 3);

      assertThat(handled).containsExactly("first", "nine", "plain");
      leave.release(2_000);
      inbox.awaitDrained();
      assertThat(handled).hasSize(803).doesNotHaveDuplicates();
    }
  }

  @Test
  void whatIsCutByAShutdownKeepsItsPlace() throws Exception {
    Semaphore leave = new Semaphore(0);
    TestInbox first = TestInbox.of(slow(leave)).with(it -> it.stopGrace(ofMinutes(5))).start();
    receive(first, "nine", 9);
    first.await("the slot to be taken", () -> handled.contains("nine"));
    Closing.cuttingAtOnce(first);
    assertThat(first.find("nine", "slow").orElseThrow().state()).isEqualTo(DeliveryState.PENDING);

    handled.clear();
    leave.release(10);
    first.receive("plain", "plain");
    receive(first, "eight", 8);
    first.drain();
    assertThat(handled).containsExactly("nine", "eight", "plain");
  }
}
