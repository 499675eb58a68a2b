package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.MessageRef;
import dev.pigeonhole.internal.registry.BoundHandler;
import java.time.Duration;
import java.time.Instant;

/**
 * The data of an attempt for events and log lines. It is kept until the outcome is recorded, which
 * may take long; the attempt itself would keep the content of its message in memory meanwhile.
 *
 * @param failures of the delivery before this attempt
 */
record Told(
    BoundHandler handler,
    MessageRef message,
    int attempt,
    int failures,
    Duration took,
    Instant receivedAt) {
  static Told of(Attempt attempt) {
    return new Told(
        attempt.handler,
        attempt.message(),
        attempt.attempt(),
        attempt.work.delivery().failures(),
        attempt.took(),
        attempt.receivedAt());
  }
}
