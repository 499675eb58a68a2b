package dev.pigeonhole.lease;

import java.time.Duration;
import java.time.Instant;

/** What somebody finds who wants to work on a name. */
public sealed interface Claim {

  /** The name is leased to the token that asked. */
  record Won() implements Claim {}

  /**
   * Somebody else is at work.
   *
   * @param left until that lease runs out if nobody renews it
   */
  record Held(Duration left) implements Claim {}

  /**
   * Somebody has finished it.
   *
   * @param at when, by the store's clock
   */
  record Completed(Instant at, Completion completion) implements Claim {}
}
