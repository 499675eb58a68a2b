package dev.pigeonhole.store;

import dev.pigeonhole.Failure;
import dev.pigeonhole.OnPoison;
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
   * for a handler's own "not my turn yet".
   */
  record LaterUncounted(Duration delay) implements Outcome {}

  /**
   * The database failed under the attempt. To be tried again after the delay: releases + 1, version
   * + 1, marks cleared, the failure recorded but not counted.
   */
  record Uncounted(Duration delay, Failure failure) implements Outcome {}

  /**
   * The end of automatic attempts: the row becomes a poisoned one, kept until an operator acts.
   *
   * <p>If it has an ordering key, then by policy it blocks what follows until an operator has dealt
   * with it ({@code BLOCK_KEY}), or closes its key from here on until an operator releases it
   * ({@code HOLD_SEQUENCE}; a key that is closed already is closed from the lower number on), or
   * nobody waits for it ({@code SKIP}).
   *
   * @param counted whether this end is itself a failure, so that failures + 1
   * @param onPoison what it does to those behind it
   */
  record Poisoned(Failure failure, boolean counted, OnPoison onPoison) implements Outcome {

    /** Blocks its key. */
    public Poisoned(Failure failure, boolean counted) {
      this(failure, counted, OnPoison.BLOCK_KEY);
    }
  }

  /** Cut by a shutdown: open again at once, releases + 1, version + 1, marks cleared. */
  record Released() implements Outcome {}

  /**
   * Behind a poisoned head of its key, or in a key that is closed: waits in {@code later} without a
   * due time, version + 1, until an operator's change releases it. If that has happened since the
   * row was seen, nobody would release it any more: then it is due at once.
   */
  record Blocked() implements Outcome {}
}
