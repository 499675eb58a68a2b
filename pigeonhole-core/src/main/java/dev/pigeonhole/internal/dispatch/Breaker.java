package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.store.Delivery;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Pauses a handler on this node that has failed too often in a row: whatever it needs is probably
 * down, and more attempts would only use up those of other messages. While it is paused one
 * delivery at a time is tried, and a failure counts for nobody; the first success lets all go on.
 */
final class Breaker {
  /** So that whoever waits for a slot to take the probe does not ask without a pause. */
  private static final long SHORTEST_WAIT = Duration.ofMillis(10).toNanos();

  /** How many attempts may begin. */
  enum Leave {
    ALL,
    NONE,
    /** One that finds out. */
    ONE
  }

  /** What a failure means. */
  enum Verdict {
    COUNTS,
    /** It counts, and was the last one that is allowed in a row. */
    PAUSES,
    /** The handler still fails; the message is not to blame. */
    STILL_FAILS,
    /** It had begun before the pause; the message is not to blame, and nothing was found out. */
    TOO_LATE
  }

  private final @Nullable Integer limit;

  // Written under the lock. Every attempt asks, and nearly always there is nothing to do: these
  // three are read without it first.
  private volatile int failures; // in a row, while it is not paused
  private volatile boolean paused;
  private volatile @Nullable Delivery probe;

  private int waits; // guarded by this; since it was paused
  private boolean probing; // guarded by this; somebody has the right to begin, or has begun
  private long nextProbe; // guarded by this

  /**
   * @param limit how many failures in a row pause the handler; null for never
   */
  Breaker(@Nullable Integer limit) {
    this.limit = limit;
  }

  /** How many may begin now. Whoever is told one says with {@link #probing} which it is. */
  Leave ask(long now) {
    return paused ? askForProbe(now) : Leave.ALL;
  }

  private synchronized Leave askForProbe(long now) {
    if (!paused) {
      return Leave.ALL;
    }
    if (probing || now - nextProbe < 0) {
      return Leave.NONE;
    }
    probing = true;
    return Leave.ONE;
  }

  /**
   * @param one null if there was nothing to try after all
   */
  synchronized void probing(@Nullable Delivery one) {
    probe = one;
    probing = one != null;
  }

  /** How long it is not worth asking; zero while it is not paused. */
  long nanosUntilNext(long now) {
    return paused ? nanosUntilProbe(now) : 0;
  }

  private synchronized long nanosUntilProbe(long now) {
    if (!paused) {
      return 0;
    }
    return probing ? Long.MAX_VALUE : Math.max(SHORTEST_WAIT, nextProbe - now);
  }

  /** Whether there is no use in waking anybody now. */
  boolean closed(long now) {
    return paused && waitsForProbe(now);
  }

  private synchronized boolean waitsForProbe(long now) {
    return paused && (probing || now - nextProbe < 0);
  }

  /** Answers whether this ends a pause. */
  boolean succeeded() {
    return (paused || failures > 0) && recovered();
  }

  private synchronized boolean recovered() {
    boolean was = paused;
    paused = false;
    probing = false;
    probe = null;
    failures = 0;
    waits = 0;
    return was;
  }

  synchronized Verdict failed(Delivery delivery) {
    if (paused) {
      boolean found = delivery.equals(probe);
      over(delivery);
      return found ? Verdict.STILL_FAILS : Verdict.TOO_LATE;
    }
    failures++;
    if (limit == null || failures < limit) {
      return Verdict.COUNTS;
    }
    paused = true;
    return Verdict.PAUSES;
  }

  /** How often somebody has had to wait since it was paused. */
  synchronized int waits() {
    return waits;
  }

  /** Nobody tries before that. */
  synchronized void waitFor(Duration wait, long now) {
    waits++;
    nextProbe = now + wait.toNanos();
  }

  /** How long until the next one may find out, if it is not finding out already. */
  synchronized Duration left(long now) {
    return Duration.ofNanos(Math.max(SHORTEST_WAIT, nextProbe - now));
  }

  boolean paused() {
    return paused;
  }

  /** The attempt is over, whether or not it found anything out. */
  void over(Delivery delivery) {
    if (probe != null) {
      probeOver(delivery);
    }
  }

  private synchronized void probeOver(Delivery delivery) {
    if (delivery.equals(probe)) {
      probe = null;
      probing = false;
    }
  }
}
