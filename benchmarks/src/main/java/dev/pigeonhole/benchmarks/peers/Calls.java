package dev.pigeonhole.benchmarks.peers;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerArray;

/** The calls of a handler that does nothing else, counted by message. */
public final class Calls {

  private static final long PATIENCE_SECONDS = 60;

  private final AtomicIntegerArray calls;
  private final CountDownLatch left;

  public Calls(int messages) {
    calls = new AtomicIntegerArray(messages);
    left = new CountDownLatch(messages);
  }

  /**
   * @param id as {@link dev.pigeonhole.benchmarks.subject.Run#id} made it: it ends with the number
   */
  public void handled(String id) {
    int message = Integer.parseInt(id, id.lastIndexOf('-') + 1, id.length(), 10);
    if (calls.getAndIncrement(message) == 0) {
      left.countDown();
    }
  }

  /** Returns when every message was handled; gives up when none was for a minute. */
  public void awaitAll() throws InterruptedException {
    long before = left.getCount();
    while (!left.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
      long now = left.getCount();
      if (now == before) {
        throw new IllegalStateException(
            "%d messages were not handled within %d s".formatted(now, PATIENCE_SECONDS));
      }
      before = now;
    }
  }

  /** The messages that were handled exactly once. */
  public int once() {
    int once = 0;
    for (int i = 0; i < calls.length(); i++) {
      once += calls.get(i) == 1 ? 1 : 0;
    }
    return once;
  }
}
