package dev.pigeonhole.testkit;

import dev.pigeonhole.store.Delivery;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A row of {@code delivery} or {@code later}, told apart by {@link Delivery#late()}.
 *
 * @param due when a late row may be tried; null for a fresh one, and for one that is blocked
 */
record OpenRow(Delivery delivery, @Nullable Instant due) {

  static OpenRow fresh(Delivery delivery) {
    return new OpenRow(delivery.inLater(false), null);
  }

  static OpenRow due(Delivery delivery, Instant due) {
    return new OpenRow(delivery.inLater(true), due);
  }

  static OpenRow blocked(Delivery delivery) {
    return new OpenRow(delivery.inLater(true), null);
  }

  boolean blocked() {
    return delivery.late() && due == null;
  }

  boolean isDue(Instant now) {
    return due != null && !due.isAfter(now);
  }
}
