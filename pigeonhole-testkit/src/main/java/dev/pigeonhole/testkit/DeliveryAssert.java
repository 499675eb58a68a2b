package dev.pigeonhole.testkit;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.DeliveryView;
import java.time.Duration;
import java.time.Instant;
import org.assertj.core.api.AbstractAssert;
import org.jspecify.annotations.Nullable;

/** Assertions about one delivery. */
public final class DeliveryAssert extends AbstractAssert<DeliveryAssert, @Nullable DeliveryView> {
  private final TestInbox inbox;
  private final String name;

  DeliveryAssert(TestInbox inbox, String name, @Nullable DeliveryView actual) {
    super(actual, DeliveryAssert.class);
    this.inbox = inbox;
    this.name = name;
  }

  /** The handler has finished it. */
  public DeliveryAssert isCompleted() {
    return is(DeliveryState.COMPLETED);
  }

  /** An operator has decided that nobody needs to do it. */
  public DeliveryAssert isDiscarded() {
    return is(DeliveryState.DISCARDED);
  }

  /** Waits because no living node knows its handler key. */
  public DeliveryAssert isHeld() {
    return is(DeliveryState.HELD);
  }

  /** Runs with the next look: new, or due again. */
  public DeliveryAssert isPending() {
    return is(DeliveryState.PENDING);
  }

  /** Could run, if somebody had not paused its handler. */
  public DeliveryAssert isPaused() {
    return is(DeliveryState.PAUSED);
  }

  /** Waits for a time. */
  public DeliveryAssert isScheduled() {
    return is(DeliveryState.SCHEDULED);
  }

  /** Waits, and is due after a time between these two from now. */
  public DeliveryAssert isDueBetween(Duration earliest, Duration latest) {
    isScheduled();
    Instant now = inbox.clock().now();
    Instant due = view().due().orElse(now);
    if (due.isBefore(now.plus(earliest)) || due.isAfter(now.plus(latest))) {
      throw failure(
          "to be due between %s and %s from now, but it is due in %s"
              .formatted(earliest, latest, Duration.between(now, due)));
    }
    return this;
  }

  /** Will not be tried again until an operator acts. */
  public DeliveryAssert isPoisoned() {
    return is(DeliveryState.POISONED);
  }

  /** As above, and the last failure has this code. */
  public DeliveryAssert isPoisonedWith(ErrorCode code) {
    isPoisoned();
    ErrorCode found = view().lastFailure().map(last -> last.code()).orElse(null);
    if (found != code) {
      throw failure("to be poisoned with %s, but it was with %s".formatted(code, found));
    }
    return this;
  }

  /** Waits behind a poisoned delivery of its ordering key. */
  public DeliveryAssert isBlocked() {
    return is(DeliveryState.BLOCKED);
  }

  /** So many attempts have failed by now; success does not take them back. */
  public DeliveryAssert hasFailedTimes(int times) {
    if (view().failures() != times) {
      throw failure("to have failed %d times".formatted(times));
    }
    return this;
  }

  /**
   * So many attempts have ended since the last retry: those that failed, those that ended their
   * process while they ran alone, and the one that completed it. What an operator has completed had
   * no such one.
   */
  public DeliveryAssert hasAttempts(int attempts) {
    DeliveryView view = view();
    boolean completed = view.state() == DeliveryState.COMPLETED && !inbox.endedByHand(view);
    int found = view.failures() + view.crashes() + (completed ? 1 : 0);
    if (found != attempts) {
      throw failure("to have had %d attempts, but it had %d".formatted(attempts, found));
    }
    return this;
  }

  /** So many attempts were cut by a shutdown. */
  public DeliveryAssert wasReleasedTimes(int times) {
    if (view().releases() != times) {
      throw failure("to have been released %d times".formatted(times));
    }
    return this;
  }

  /** The newest failure says this somewhere. */
  public DeliveryAssert failedWithMessage(String part) {
    String message = view().lastFailure().map(last -> last.message()).orElse("");
    if (!message.contains(part)) {
      throw failure("to have failed with '%s'".formatted(part));
    }
    return this;
  }

  /** It was created under exactly this key. */
  public DeliveryAssert hasKey(String key) {
    if (!view().handler().equals(key)) {
      throw failure("to have the key '%s'".formatted(key));
    }
    return this;
  }

  /** There is none: the message is unknown, or the handler does not take it. */
  public void wasNotDelivered() {
    if (actual != null) {
      throw failure("not to exist");
    }
  }

  private DeliveryAssert is(DeliveryState state) {
    if (view().state() != state) {
      throw failure("to be " + state);
    }
    return this;
  }

  private DeliveryView view() {
    DeliveryView view = actual;
    if (view == null) {
      throw failure("to exist, but there is none");
    }
    return view;
  }

  private AssertionError failure(String expectation) {
    return failure("Expected the %s %s. %s", name, expectation, inbox.describe());
  }
}
