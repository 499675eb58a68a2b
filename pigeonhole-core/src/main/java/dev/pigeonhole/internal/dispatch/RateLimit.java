package dev.pigeonhole.internal.dispatch;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How many attempts of a handler may begin. A node has the part of the limit that the cells it owns
 * are of all cells of the handler, so the nodes together keep it without a word between them. What
 * was not used is saved up for a short time, and for one attempt at least. The dispatcher's thread
 * alone uses it.
 */
final class RateLimit {
  static final Duration SAVED = Duration.ofMillis(100);

  /** A call takes only what is saved up when it begins, and may last long. */
  static final Duration SAVED_FOR_GROUPS = Duration.ofSeconds(1);

  private static final double SECOND = Duration.ofSeconds(1).toNanos();

  private final @Nullable Double perSecond;
  private final int cells;
  private final long longest;
  private double rate; // of this node, in attempts per nanosecond
  private double saved = 1;
  private long savedAt;

  /**
   * @param perSecond null for no limit
   * @param cells how many the handler has on all nodes
   * @param longest for how long it saves up what is not used
   */
  RateLimit(@Nullable Double perSecond, int cells, Duration longest, long now) {
    this.perSecond = perSecond;
    this.cells = cells;
    this.longest = longest.toNanos();
    this.savedAt = now;
  }

  /** This many of the cells belong to this node now. */
  void owns(int owned, long now) {
    if (perSecond != null) {
      save(now);
      rate = perSecond * owned / cells / SECOND;
    }
  }

  boolean limited() {
    return perSecond != null;
  }

  /** Whether one more may begin now. */
  boolean allows(long now) {
    if (perSecond == null) {
      return true;
    }
    save(now);
    return saved >= 1;
  }

  /** Whether one more may begin now; it is counted as begun. */
  boolean take(long now) {
    boolean allowed = allows(now);
    if (allowed && perSecond != null) {
      saved--;
    }
    return allowed;
  }

  /** One that was taken has not begun after all. */
  void giveBack() {
    if (perSecond != null) {
      saved++;
    }
  }

  /** How long until one more may begin. */
  long nanosUntilNext(long now) {
    if (perSecond == null) {
      return 0;
    }
    save(now);
    return saved >= 1 || rate == 0 ? 0 : (long) Math.ceil((1 - saved) / rate);
  }

  private void save(long now) {
    double most = Math.max(1, rate * longest);
    saved = Math.min(most, saved + (now - savedAt) * rate);
    savedAt = now;
  }
}
