package dev.pigeonhole.rabbitmq;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/** What the inbox wants of a source, and what its consumers have to say. Safe for many threads. */
final class Control {
  private boolean stopping; // guarded by this, as all here
  private boolean paused;
  private boolean warned;
  private final Map<Integer, String> troubles = new TreeMap<>();

  synchronized boolean stopping() {
    return stopping;
  }

  synchronized void stop() {
    stopping = true;
    notifyAll();
  }

  synchronized boolean paused() {
    return paused;
  }

  synchronized void pause(boolean on) {
    paused = on;
    notifyAll();
  }

  /** Waits for so long, or until it is to stop; whatever interrupts it was meant for a handler. */
  synchronized void await(Duration time) {
    long end = System.nanoTime() + time.toNanos();
    while (!stopping) {
      long left = end - System.nanoTime();
      if (left <= 0) {
        return;
      }
      try {
        TimeUnit.NANOSECONDS.timedWait(this, left);
      } catch (InterruptedException e) {
        // Goes on waiting.
      }
    }
  }

  /** Whether that is news. */
  synchronized boolean trouble(int consumer, String text) {
    return !text.equals(troubles.put(consumer, text));
  }

  /** Whether that is news. */
  synchronized boolean fine(int consumer) {
    return troubles.remove(consumer) != null;
  }

  /** True the first time that somebody asks. */
  synchronized boolean mayWarn() {
    boolean first = !warned;
    warned = true;
    return first;
  }

  /** What keeps some consumer from receiving. */
  synchronized Optional<String> trouble() {
    return troubles.values().stream().findFirst();
  }
}
