package dev.pigeonhole.kafka;

import java.time.Duration;

/** Waits that double from one failure to the next. For one thread. */
final class Backoff {
  private final Duration first;
  private final Duration longest;
  private int failures;

  Backoff(Duration first, Duration longest) {
    this.first = first;
    this.longest = longest;
  }

  /** How long to wait after one more failure. */
  Duration next() {
    return after(failures++, first, longest);
  }

  void reset() {
    failures = 0;
  }

  /**
   * @param before how many failures there were before this one
   */
  static Duration after(int before, Duration first, Duration longest) {
    Duration wait = first.multipliedBy(1L << Math.min(before, 20));
    return wait.compareTo(longest) < 0 ? wait : longest;
  }
}
