package dev.pigeonhole.testkit;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Waits for what other threads do: looks often at first, and then every now and then. */
final class Patience {
  private static final long LONGEST_NAP_MILLIS = 20;

  private Patience() {}

  /**
   * Waits until the condition holds.
   *
   * @param what completes the sentence "Waited 60 s in vain for …"
   * @param picture what stands below that sentence
   */
  static void await(
      Duration longest, String what, BooleanSupplier condition, Supplier<String> picture) {
    long end = System.nanoTime() + longest.toNanos();
    for (long nap = 1; !condition.getAsBoolean(); nap = Math.min(2 * nap, LONGEST_NAP_MILLIS)) {
      if (System.nanoTime() - end > 0) {
        throw new AssertionError(
            "Waited %s s in vain for %s.%n%s".formatted(longest.toSeconds(), what, picture.get()));
      }
      nap(nap);
    }
  }

  private static void nap(long millis) {
    try {
      TimeUnit.MILLISECONDS.sleep(millis);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted while waiting", e);
    }
  }
}
