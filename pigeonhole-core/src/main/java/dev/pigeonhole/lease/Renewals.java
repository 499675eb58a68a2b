package dev.pigeonhole.lease;

import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Renews the leases of running bodies, on a few daemon threads for all of them: one renewal that
 * hangs, in a store of several parts, costs nobody else the lease. The threads end when there has
 * been nothing to do for a while, so nobody has to close this.
 */
final class Renewals {
  private static final int THREADS = 4;
  private static final long IDLE_SECONDS = 30;

  private final ScheduledThreadPoolExecutor timer;

  Renewals() {
    timer = new ScheduledThreadPoolExecutor(THREADS, Renewals::daemon);
    timer.setRemoveOnCancelPolicy(true);
    timer.setKeepAliveTime(IDLE_SECONDS, TimeUnit.SECONDS);
    timer.allowCoreThreadTimeOut(true);
  }

  private static Thread daemon(Runnable work) {
    Thread thread = new Thread(work, "pigeonhole-lease-renewal");
    thread.setDaemon(true);
    return thread;
  }

  /** Renews it at every third of its time, until the answer is cancelled. */
  Future<?> start(HeldLease held, Duration lease) {
    long third = Math.max(1, lease.toMillis() / 3);
    return timer.scheduleWithFixedDelay(held::keep, third, third, TimeUnit.MILLISECONDS);
  }
}
