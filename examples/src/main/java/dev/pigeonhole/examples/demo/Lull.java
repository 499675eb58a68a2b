package dev.pigeonhole.examples.demo;

import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * Says why nothing moves, so that nobody thinks that it hangs: what a killed worker had taken waits
 * until the others declare it dead.
 */
final class Lull {

  private static final Duration QUIET = Duration.ofSeconds(2);

  private final LongSupplier nanoTime;
  private Status last = new Status(0, 0, 0, 0);
  private long changed;
  private boolean said;

  Lull(LongSupplier nanoTime) {
    this.nanoTime = nanoTime;
    this.changed = nanoTime.getAsLong();
  }

  /** What to tell after this look; empty for nothing. Once for each standstill. */
  String look(Status status, boolean allSent, int kills) {
    long now = nanoTime.getAsLong();
    if (!status.equals(last)) {
      last = status;
      changed = now;
      said = false;
    }
    if (said
        || !allSent
        || status.pending() == 0
        || kills == 0
        || now - changed < QUIET.toNanos()) {
      return "";
    }
    said = true;
    return "waiting for the work of a killed worker: %d deliveries".formatted(status.pending());
  }
}
