package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.transport.MessageSource;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** A source does what its inbox says: starts, pauses, goes on, stops, and starts again. */
abstract class LifeContract extends SourceFixture {

  LifeContract(SourceContract contract) {
    super(contract);
  }

  @Test
  void itsNameSaysWhatItReads() {
    assertThat(broker.source().name()).matches("[a-z]+:.+");
  }

  @Test
  void aPausedOneTakesNothingMoreUntilItIsResumed() {
    MessageSource source = start();
    send("before");
    awaitTaken("before");
    awaitAcknowledged();
    source.pause("enough");
    await("what was under way to end", () -> !receiver.busy());
    String last = sendUntilOneStays();

    source.resume();
    awaitTaken(last);
    awaitAcknowledged();
  }

  /**
   * Returns the first message that stays with the broker. A source may detect the pause only after
   * it has waited for a message, and take the one that comes meanwhile; on a busy machine that one
   * may be under way for longer than this waits. A source that ignores the pause takes every one.
   */
  private String sendUntilOneStays() {
    for (int i = 0; i < 20; i++) {
      String id = "paused-" + i;
      send(id);
      awaitNoMoreCalls();
      int calls = receiver.calls();
      for (int j = 0; j < 20; j++) {
        nap();
      }
      long unacknowledged = broker.unacknowledged(); // before the next question
      if (receiver.calls() == calls && !receiver.hasTaken(List.of(id))) {
        assertThat(unacknowledged).as("unacknowledged, and not taken").isPositive();
        return id;
      }
    }
    throw new AssertionError("A paused source goes on: " + receiver.ids());
  }

  private void awaitNoMoreCalls() {
    int calls = -1;
    while (calls != receiver.calls()) {
      calls = receiver.calls();
      for (int i = 0; i < 20; i++) {
        nap();
      }
    }
  }

  @Test
  void aPausedOneCanBeStoppedAndIsNoLongerPausedWhenItStartsAgain() {
    MessageSource source = start();
    source.pause("enough");
    source.stop(PATIENCE);
    start(source);
    send("m-1");
    awaitTaken("m-1");
    awaitAcknowledged();
  }

  @Test
  void aStopWaitsForWhatIsBeingTakenAndAcknowledgesIt() {
    receiver.close();
    MessageSource source = start();
    send("m-1");
    await("the source to hand it in", receiver::busy);
    CompletableFuture<Void> stop = CompletableFuture.runAsync(() -> source.stop(PATIENCE));
    for (int i = 0; i < 20; i++) {
      nap();
    }
    assertThat(stop).isNotDone();
    receiver.open();
    stop.join();

    assertThat(receiver.ids()).containsExactly("m-1");
    awaitAcknowledged();
  }

  @Test
  void aStopGivesUpAfterItsPatienceAndTheMessageGoesToTheNext() {
    receiver.close();
    MessageSource source = start();
    send("m-1");
    await("the source to hand it in", receiver::busy);
    source.stop(Duration.ofMillis(100));
    assertThat(receiver.busy()).as("still with the message when the stop has given up").isTrue();
    receiver.failTimes(1); // the store could not take what the first has handed in
    receiver.open();
    await("the first to come out", () -> !receiver.busy() && receiver.failuresLeft() == 0);
    assertThat(receiver.taken()).isEmpty();

    start();
    awaitTaken("m-1");
    awaitAcknowledged();
  }

  @Test
  void afterAStopNothingIsHandedInAndTheNextStartTakesTheRest() {
    MessageSource source = start();
    send("m-1");
    awaitTaken("m-1");
    awaitAcknowledged();
    source.stop(PATIENCE);
    int calls = receiver.calls();
    send("m-2");
    for (int i = 0; i < 20; i++) {
      nap();
    }
    assertThat(receiver.calls()).isEqualTo(calls);

    start(source);
    awaitTaken("m-2");
    awaitAcknowledged();
    assertThat(receiver.ids()).containsExactly("m-1", "m-2");
  }

  @Test
  void aStopIsHarmlessTwiceAndBeforeTheStart() {
    MessageSource source = broker.source();
    source.stop(PATIENCE);
    start(source);
    source.stop(PATIENCE);
    source.stop(PATIENCE);
    start(source);
    send("m-1");
    awaitTaken("m-1");
  }

  @Test
  void stoppingAgainAndAgainUnderLoadLosesNothing() {
    int many = Size.of(100, 1_000);
    MessageSource source = broker.source();
    CompletableFuture<Void> sending = CompletableFuture.runAsync(() -> send(many));
    for (int i = 0; i < 10; i++) {
      start(source);
      int before = receiver.taken().size();
      await(
          "some more, or all",
          () -> receiver.taken().size() > before || receiver.taken().size() >= many);
      source.stop(PATIENCE);
    }
    start(source);
    sending.join();
    await("all of them", () -> receiver.ids().stream().distinct().count() == many);
    awaitAcknowledged();
  }
}
