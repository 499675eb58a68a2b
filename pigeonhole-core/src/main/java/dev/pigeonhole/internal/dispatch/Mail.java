package dev.pigeonhole.internal.dispatch;

import java.util.Collection;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The queue through which other threads notify the dispatcher. A listener or the store may block
 * its thread for long, so the queue is bounded: it has at most one result for each attempt, one
 * wake-up of each kind, and accepted content up to a limit.
 */
final class Mail {
  /** The size that counts for a message besides its content. */
  private static final long LEAST = 256;

  /** A wake-up that is in the queue once at most. */
  final class WakeUp {
    private final Runnable news;
    private final AtomicBoolean onItsWay = new AtomicBoolean();

    private WakeUp(Runnable news) {
      this.news = news;
    }

    void post() {
      if (onItsWay.compareAndSet(false, true)) {
        boolean posted = false;
        try {
          posted = Mail.this.post(this::read);
        } finally {
          if (!posted) {
            onItsWay.set(false);
          }
        }
      }
    }

    private void read() {
      onItsWay.set(false);
      news.run();
    }
  }

  private final long mostContent;
  private final AtomicLong content = new AtomicLong();
  private final LinkedBlockingQueue<Runnable> queue = new LinkedBlockingQueue<>();

  /**
   * @param mostContent how many bytes of accepted content may be in the queue
   */
  Mail(long mostContent) {
    this.mostContent = mostContent;
  }

  boolean post(Runnable news) {
    return queue.add(news);
  }

  WakeUp wakeUp(Runnable news) {
    return new WakeUp(news);
  }

  /**
   * Posts the rows that an accept offers. Returns false if they exceed the limit; then the
   * dispatcher has to read them from the store.
   */
  boolean offer(Collection<HandOver> accepted, Runnable news) {
    long size = size(accepted);
    boolean posted = false;
    try {
      posted =
          content.addAndGet(size) <= mostContent
              && post(
                  () -> {
                    content.addAndGet(-size);
                    news.run();
                  });
    } finally {
      if (!posted) {
        content.addAndGet(-size);
      }
    }
    return posted;
  }

  private static long size(Collection<HandOver> accepted) {
    long size = LEAST;
    HandOver before = null;
    for (HandOver each : accepted) {
      if (before == null || before.message() != each.message()) { // handlers share their message
        byte[] body = each.message().content();
        size += LEAST + each.message().headers().length + (body == null ? 0 : body.length);
      }
      before = each;
    }
    return size;
  }

  boolean isEmpty() {
    return queue.isEmpty();
  }

  @Nullable Runnable poll() {
    return queue.poll();
  }

  @Nullable Runnable poll(long nanos) throws InterruptedException {
    return queue.poll(nanos, TimeUnit.NANOSECONDS);
  }
}
