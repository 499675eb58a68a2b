package dev.pigeonhole.support;

import java.time.Duration;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;

/**
 * Waits for something that happens in another thread or process: a test says what it waits for,
 * never how long that usually takes. Tests that sleep elsewhere do so to take time or to pace load,
 * not to wait for somebody.
 */
public final class Eventually {

  private static final long SHORT_NAP_MILLIS = 50;
  private static final long LONGEST_NAP_MILLIS = 250;

  private Eventually() {}

  /** A check that fails by throwing, as the assertions of AssertJ and JUnit do. */
  @FunctionalInterface
  public interface Assertion {
    void check() throws Throwable;
  }

  /** Returns as soon as the condition holds. */
  public static void until(Duration limit, Callable<Boolean> condition) {
    until("the condition to hold", limit, condition);
  }

  /**
   * Returns as soon as the condition holds.
   *
   * @param what completes the sentence "Waited 5 s in vain for …"
   */
  public static void until(String what, Duration limit, Callable<Boolean> condition) {
    poll(what, limit, () -> condition.call() ? null : new AssertionError("still false"));
  }

  /** Whether the condition holds within this time, for those who go on either way. */
  public static boolean holds(Duration limit, Callable<Boolean> condition) {
    try {
      until(limit, condition);
      return true;
    } catch (AssertionError e) {
      return false;
    }
  }

  /** Repeats the assertion until it passes; the last failure is the cause of ours. */
  public static void passes(Duration limit, Assertion assertion) {
    poll(
        "the assertion to pass",
        limit,
        () -> {
          try {
            assertion.check();
            return null;
          } catch (VirtualMachineError e) {
            throw e;
          } catch (Throwable e) {
            return e;
          }
        });
  }

  private static void poll(String what, Duration limit, Callable<@Nullable Throwable> attempt) {
    long start = System.nanoTime();
    long nap = 1;
    for (int tries = 1; ; tries++) {
      Throwable failure = failureOf(attempt);
      if (failure == null) {
        return;
      }
      Duration waited = Duration.ofNanos(System.nanoTime() - start);
      if (waited.compareTo(limit) >= 0) {
        throw new AssertionError(
            "Waited %.1f s in vain for %s (%d tries), last: %s"
                .formatted(waited.toMillis() / 1000.0, what, tries, failure.getMessage()),
            failure);
      }
      sleep(nap);
      // Most conditions ask a database, and each question takes the processor from what it waits
      // for.
      long tenth = Math.min(waited.toMillis() / 10, LONGEST_NAP_MILLIS);
      nap = Math.min(nap * 2, Math.max(SHORT_NAP_MILLIS, tenth));
    }
  }

  private static @Nullable Throwable failureOf(Callable<@Nullable Throwable> attempt) {
    try {
      return attempt.call();
    } catch (Exception e) {
      return e;
    }
  }

  private static void sleep(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted while waiting", e);
    }
  }
}
