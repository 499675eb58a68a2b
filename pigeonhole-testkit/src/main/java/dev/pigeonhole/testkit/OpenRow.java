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
    return new OpenRow(late(delivery, false), null);
  }

  static OpenRow due(Delivery delivery, Instant due) {
    return new OpenRow(late(delivery, true), due);
  }

  static OpenRow blocked(Delivery delivery) {
    return new OpenRow(late(delivery, true), null);
  }

  boolean blocked() {
    return delivery.late() && due == null;
  }

  boolean isDue(Instant now) {
    return due != null && !due.isAfter(now);
  }

  private static Delivery late(Delivery delivery, boolean late) {
    return new Delivery(
        delivery.cell(),
        delivery.seq(),
        delivery.version(),
        delivery.keyId(),
        delivery.failures(),
        delivery.crashes(),
        delivery.releases(),
        delivery.keyHash(),
        delivery.mark(),
        late);
  }
}
