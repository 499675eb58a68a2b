package dev.pigeonhole.testkit;

import dev.pigeonhole.store.CrashPoints;
import java.time.Duration;
import java.util.function.Supplier;

/**
 * What shall go wrong, and where. A plan names a point (see {@link CrashPoints}), which visit of
 * it, and what happens then:
 *
 * <pre>{@code
 * CrashPlan.at("settle.before-commit").onHit(3).throwing(() -> new IllegalStateException("cut"));
 * }</pre>
 *
 * <p>Plans belong to the process, not to a thread: a test that sets one calls {@link #clear()} when
 * it ends. A child process gets its plans from the system property {@code pigeonhole.crash}, one or
 * several of {@code point:action[:nth[:millis]]} with commas between them, where the action is
 * {@code halt}, {@code throw} or {@code delay}.
 */
public final class CrashPlan {
  private final String point;
  private long first = 1;
  private long last = 1;

  private CrashPlan(String point) {
    this.point = point;
  }

  /**
   * Starts a plan for the first time that this point is reached from now on.
   *
   * @throws IllegalArgumentException if the library has no such point, so that a slip is not taken
   *     for a crash that did no harm; names that begin with {@code test.} are yours
   */
  public static CrashPlan at(String point) {
    CrashPointNames.check(point);
    return new CrashPlan(point);
  }

  /** Waits for the n-th visit, counted from now; the first is 1. */
  public CrashPlan onHit(int nth) {
    if (nth < 1) {
      throw new IllegalArgumentException("The first visit is 1, not " + nth);
    }
    first = nth;
    last = nth;
    return this;
  }

  /** Happens at every visit. */
  public CrashPlan onEveryHit() {
    first = 1;
    last = Long.MAX_VALUE;
    return this;
  }

  /** Ends the process on the spot with status 137, as {@code kill -9} would: nothing is flushed. */
  public void halt() {
    then(() -> Runtime.getRuntime().halt(137));
  }

  /** Throws there. */
  public void throwing(Supplier<? extends RuntimeException> exception) {
    then(
        () -> {
          throw exception.get();
        });
  }

  /** Waits there for a while. */
  public void delay(Duration delay) {
    then(() -> CrashPointHook.pause(delay));
  }

  /** Holds whoever comes there until the latch is released. */
  public void blocking(Latch latch) {
    then(latch::hold);
  }

  /** Does nothing there but count. */
  public void counting() {
    then(() -> {});
  }

  /** Forgets every plan and every count. */
  public static void clear() {
    CrashPointHook.clear();
  }

  /** How often the point was reached since its first plan was set; 0 without one. */
  public static long hits(String point) {
    CrashPointNames.check(point);
    return CrashPointHook.hits(point);
  }

  private void then(Runnable action) {
    CrashPointHook.add(point, first, last, action);
  }
}
