package dev.pigeonhole.internal.lifecycle;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reports the stop of a node to its store, in order and on a separate thread, because a store that
 * is down or hangs must not keep a process from stopping. If the store recovers while the process
 * runs, the reports still arrive. If not, the other nodes detect that the heartbeats of this one
 * have ended.
 */
final class Farewell {
  private static final Logger LOG = LoggerFactory.getLogger(Farewell.class);

  private final String inbox;
  private final ExecutorService thread;

  Farewell(String inbox) {
    this.inbox = inbox;
    this.thread =
        Executors.newSingleThreadExecutor(task -> Threads.daemon(inbox, "farewell", task));
  }

  /** Runs this report after the former ones. */
  void say(Runnable report) {
    thread.execute(
        () -> {
          try {
            report.run();
          } catch (RuntimeException | Error e) {
            LOG.warn("Stop not recorded: inbox={}", inbox, e);
          }
        });
  }

  /** Waits until all reports have run, but not beyond this time, and not less if interrupted. */
  void awaitSaid(long deadlineNanos) {
    thread.shutdown();
    Uninterrupted.await(deadlineNanos, left -> thread.awaitTermination(left, TimeUnit.NANOSECONDS));
    if (!thread.isTerminated()) {
      LOG.warn("Stop not recorded in time: inbox={}", inbox);
    }
  }
}
