package dev.pigeonhole.internal.dispatch;

import java.time.Duration;

/**
 * Keeps a flood out of the log: so many lines in each stretch of time, and the next line after that
 * says how many were left out. Safe for many threads.
 */
final class LogLimit {
  private final int lines;
  private final long stretchNanos;
  private boolean begun;
  private long since;
  private int logged;
  private int leftOut;

  LogLimit(int lines, Duration stretch) {
    this.lines = lines;
    this.stretchNanos = stretch.toNanos();
  }

  /** How many lines were left out before this one, or -1 if this one is to be left out, too. */
  synchronized int leftOutBefore(long nowNanos) {
    if (!begun || nowNanos - since >= stretchNanos) {
      begun = true;
      since = nowNanos;
      logged = 0;
    }
    if (logged >= lines) {
      leftOut++;
      return -1;
    }
    logged++;
    int before = leftOut;
    leftOut = 0;
    return before;
  }
}
