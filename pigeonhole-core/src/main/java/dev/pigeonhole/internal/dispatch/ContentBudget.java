package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.Failure;
import java.util.concurrent.atomic.AtomicLong;

/**
 * How much content waits for the slots of one handler, and for how many rows more there is memory.
 * Headers, and the failure before a retry, count as well. What a row will bring is known only when
 * it is loaded, so it is taken for as large as the last ones were; {@link LoadLimit} keeps a load
 * small whose rows are larger than that. Rows are added by one thread and removed by many.
 */
final class ContentBudget {
  private static final long FIRST_GUESS = 1 << 10;

  private final long bytes;
  private final AtomicLong waiting = new AtomicLong();
  private volatile long typical = FIRST_GUESS; // written by the thread that adds

  ContentBudget(long bytes) {
    this.bytes = bytes;
  }

  void add(Work work) {
    long size = size(work);
    waiting.addAndGet(size);
    typical = Math.max(1, typical + (size - typical) / 8);
  }

  void remove(Work work) {
    waiting.addAndGet(-size(work));
  }

  /** For how many rows there is memory; below one for none. */
  int rows() {
    return (int) Math.min(Integer.MAX_VALUE, (bytes - waiting.get()) / typical);
  }

  private static long size(Work work) {
    byte[] content = work.message().content();
    Failure previous = work.previous();
    return (content == null ? 0 : content.length)
        + work.message().headers().length
        + (previous == null ? 0 : previous.message().length() + previous.stack().length());
  }
}
