package dev.pigeonhole.rabbitmq;

import java.time.Duration;

/** Waits that double from one failure to the next. For one thread. */
final class Backoff {
  private final Duration first;
  private final Duration longest;
  private Duration next;

  Backoff(Duration first, Duration longest) {
    this.first = first;
    this.longest = longest;
    this.next = first;
  }

  /** How long to wait after one more failure. */
  Duration next() {
    Duration now = next;
    Duration longer = now.multipliedBy(2);
    next = longer.compareTo(longest) < 0 ? longer : longest;
    return now;
  }

  void reset() {
    next = first;
  }
}
