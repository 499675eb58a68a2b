package dev.pigeonhole;

import java.time.Duration;

/** Options of one handler, meant for static import. */
public sealed interface HandlerOption {

  /** Its own retry policy instead of the inbox's. */
  static HandlerOption retrying(RetryPolicy policy) {
    return new Retrying(policy);
  }

  /**
   * An attempt that takes longer counts as failed and is told to stop. Without it an attempt may
   * take for ever.
   */
  static HandlerOption within(Duration timeout) {
    return new Within(timeout);
  }

  /** At most this many attempts at once on one node, instead of the inbox's concurrency. */
  static HandlerOption atMost(int attempts) {
    return new AtMost(attempts);
  }

  /**
   * Commits up to this many deliveries of a transactional handler together: several times faster,
   * for handlers that write only rows of their own message. If one fails, all are rolled back and
   * run one by one.
   */
  static HandlerOption sharedCommits(int deliveries) {
    return new SharedCommits(deliveries);
  }

  /**
   * This handler does not care for ordering keys: it takes messages of one key side by side, and
   * one that is poisoned blocks nobody. For siblings of a handler that needs the order.
   */
  static HandlerOption unordered() {
    return new Unordered();
  }

  record Retrying(RetryPolicy policy) implements HandlerOption {}

  record Within(Duration timeout) implements HandlerOption {}

  record AtMost(int attempts) implements HandlerOption {}

  record SharedCommits(int deliveries) implements HandlerOption {}

  record Unordered() implements HandlerOption {}
}
