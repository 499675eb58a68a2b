package dev.pigeonhole.benchmarks.inbox;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/** Which handler has seen which message: one bit each, so that millions fit into a small heap. */
public final class Completions {

  private static final long PATIENCE = TimeUnit.MINUTES.toNanos(1);

  private final int first;
  private final int messages;
  private final AtomicLongArray seen;
  private final AtomicLong count = new AtomicLong();
  private final AtomicInteger doubled = new AtomicInteger();

  /** Somebody waits for this count. Written under the lock. */
  private volatile long awaited = Long.MAX_VALUE;

  public Completions(Messages messages, int handlers) {
    this(messages.first(), messages.count(), handlers);
  }

  /**
   * @param first the number of the first message
   */
  public Completions(int first, int messages, int handlers) {
    this.first = first;
    this.messages = messages;
    this.seen = new AtomicLongArray((int) (((long) messages * handlers + 63) / 64));
  }

  /**
   * @param handler from 0 on
   * @param payload as {@link Messages} made it
   */
  public void handled(int handler, byte[] payload) {
    long bit = (long) handler * messages + Messages.number(payload) - first;
    long mask = 1L << bit;
    long before = seen.getAndAccumulate((int) (bit >>> 6), mask, (old, more) -> old | more);
    if ((before & mask) != 0) {
      doubled.incrementAndGet();
      return;
    }
    if (count.incrementAndGet() >= awaited) {
      wake();
    }
  }

  private synchronized void wake() {
    awaited = Long.MAX_VALUE; // who waits for more says so again
    notifyAll();
  }

  /** How many (message, handler) were seen at least once. */
  public long count() {
    return count.get();
  }

  /** How many calls were not the first of their (message, handler). */
  public int doubled() {
    return doubled.get();
  }

  /** Returns when so many (message, handler) were seen; gives up when none was for a minute. */
  public synchronized void await(long wanted) throws InterruptedException {
    long before = -1;
    long progressAt = System.nanoTime();
    while (count.get() < wanted) {
      awaited = Math.min(awaited, wanted);
      long now = count.get(); // again, for whoever counted without having seen that we wait
      if (now >= wanted) {
        return;
      }
      if (now != before) {
        before = now;
        progressAt = System.nanoTime();
      } else if (System.nanoTime() - progressAt >= PATIENCE) {
        throw new IllegalStateException(
            "Handled %d of %d, and none for a minute".formatted(now, wanted));
      }
      TimeUnit.NANOSECONDS.timedWait(this, PATIENCE);
    }
  }
}
