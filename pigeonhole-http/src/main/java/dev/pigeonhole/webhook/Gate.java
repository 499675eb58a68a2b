package dev.pigeonhole.webhook;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** Lets requests to the inbox while it wants them, and knows how many are there. */
final class Gate {
  private boolean open = true; // guarded by this, as all here
  private int inside;

  synchronized boolean isOpen() {
    return open;
  }

  synchronized void open() {
    open = true;
  }

  synchronized void close() {
    open = false;
  }

  /** Whether it may go in; then it has to {@link #leave}. */
  synchronized boolean enter() {
    if (open) {
      inside++;
    }
    return open;
  }

  synchronized void leave() {
    inside--;
    notifyAll();
  }

  /** Returns when nobody is inside, or after this time, or when interrupted. */
  synchronized void awaitEmpty(Duration patience) {
    long end = System.nanoTime() + patience.toNanos();
    try {
      while (inside > 0) {
        long left = end - System.nanoTime();
        if (left <= 0) {
          return;
        }
        TimeUnit.NANOSECONDS.timedWait(this, left);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
