package dev.pigeonhole.internal.lifecycle;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The last words of a node to its store, in order and on a thread of their own: a store that is
 * down or hangs must not keep a process from stopping. If it recovers, the words still arrive; if
 * not, the other nodes notice that this one is silent.
 */
final class Farewell {
  private static final Logger LOG = LoggerFactory.getLogger(Farewell.class);

  private final String inbox;
  private final ExecutorService thread;

  Farewell(String inbox) {
    this.inbox = inbox;
    this.thread =
        Executors.newSingleThreadExecutor(word -> Threads.daemon(inbox, "farewell", word));
  }

  /** Says this behind whatever was to be said before. */
  void say(Runnable word) {
    thread.execute(
        () -> {
          try {
            word.run();
          } catch (RuntimeException | Error e) {
            LOG.warn("Stop not recorded: inbox={}", inbox, e);
          }
        });
  }

  /** Waits until everything is said, but not beyond this time. */
  void awaitSaid(long deadlineNanos) {
    thread.shutdown();
    try {
      long left = deadlineNanos - System.nanoTime();
      if (!thread.awaitTermination(Math.max(0, left), TimeUnit.NANOSECONDS)) {
        LOG.warn("Stop not recorded within the grace period: inbox={}", inbox);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
