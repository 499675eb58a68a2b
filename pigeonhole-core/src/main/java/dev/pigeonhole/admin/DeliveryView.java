package dev.pigeonhole.admin;

import dev.pigeonhole.Failure;
import dev.pigeonhole.MessageRef;
import java.time.Instant;
import java.util.Optional;

/**
 * One delivery as an operator sees it.
 *
 * @param type the message's logical type name
 * @param handler the exact handler key it was created under
 * @param failures attempts that failed
 * @param crashes lone runs that ended their process; other deaths accuse nobody
 * @param releases attempts that did not count: cut by a shutdown, or by an error of the database
 * @param due when the next attempt may start, for a scheduled one
 * @param ended when it was completed or poisoned
 * @param lastFailure the newest failure; in a list without its stack, which {@link InboxAdmin#find}
 *     and {@link InboxAdmin#message} show
 */
public record DeliveryView(
    MessageRef message,
    String type,
    String handler,
    DeliveryState state,
    int failures,
    int crashes,
    int releases,
    Instant receivedAt,
    Optional<Instant> due,
    Optional<Instant> ended,
    Optional<Failure> lastFailure) {

  /** The same delivery, seen by somebody who knows more of its handler. */
  public DeliveryView in(DeliveryState seen) {
    return new DeliveryView(
        message,
        type,
        handler,
        seen,
        failures,
        crashes,
        releases,
        receivedAt,
        due,
        ended,
        lastFailure);
  }
}
