package dev.pigeonhole.store;

import dev.pigeonhole.Failure;
import java.time.Duration;

/** How an attempt ended. */
public sealed interface Outcome {

  /** Done: the open row becomes a receipt. Marks are cleared and crashes of a lone run undone. */
  record Completed() implements Outcome {}

  /**
   * Failed, to be tried again after the delay by the database's clock: failures + 1, version + 1,
   * marks and crashes cleared, the failure recorded.
   */
  record RetryAfter(Duration delay, Failure failure) implements Outcome {}

  /**
   * To be tried again after the delay without counting a failure: version + 1, marks cleared. Used
   * for infrastructure errors and for a handler's own "not my turn yet".
   */
  record LaterUncounted(Duration delay) implements Outcome {}

  /**
   * The end of automatic attempts: the row becomes a poisoned one, kept until an operator acts.
   *
   * @param counted whether this end is itself a failure, so that failures + 1
   */
  record Poisoned(Failure failure, boolean counted) implements Outcome {}

  /** Cut by a shutdown: open again at once, releases + 1, version + 1, marks cleared. */
  record Released() implements Outcome {}

  /**
   * Behind a poisoned head of its key: waits in {@code later} without a due time, version + 1,
   * until a retry of the head releases it. If an operator has retried the head since it was seen,
   * nobody would release the row any more: then it is due at once.
   */
  record Blocked() implements Outcome {}
}
