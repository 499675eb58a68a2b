package dev.pigeonhole.benchmarks.peers.jobrunr;

import java.util.concurrent.Semaphore;
import org.jobrunr.scheduling.JobScheduler;

/**
 * A job that occupies a worker until the first batch is stored. JobRunr looks for work whenever a
 * job ends, but only every five seconds when it has none: so it is measured as the busy server that
 * it otherwise is, and not by where in its pause the run happens to begin.
 */
public final class Primer {

  private static final Semaphore TAKEN = new Semaphore(0);
  private static final Semaphore RELEASED = new Semaphore(0);

  private Primer() {}

  /** Returns when a worker has it. */
  static void occupyWorker(JobScheduler scheduler) throws InterruptedException {
    scheduler.enqueue(() -> hold());
    TAKEN.acquire();
  }

  static void release() {
    RELEASED.release();
  }

  public static void hold() throws InterruptedException {
    TAKEN.release();
    RELEASED.acquire();
  }
}
