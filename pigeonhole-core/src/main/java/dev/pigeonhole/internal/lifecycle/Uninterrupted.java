package dev.pigeonhole.internal.lifecycle;

/**
 * Waits to their end although the thread is interrupted, and leaves it interrupted. For the parts
 * of a stop that must not be left out, all of which have a deadline.
 */
final class Uninterrupted {
  /** A wait that an interrupt ends. */
  interface Wait {
    /**
     * Waits for this time at most.
     *
     * @return whether there is nothing left to wait for
     */
    boolean await(long nanos) throws InterruptedException;
  }

  private Uninterrupted() {}

  /**
   * Waits until the deadline at most.
   *
   * @return whether there is nothing left to wait for
   */
  static boolean await(long deadlineNanos, Wait wait) {
    boolean interrupted = false;
    try {
      while (true) {
        long left = deadlineNanos - System.nanoTime();
        if (left <= 0) {
          return false;
        }
        try {
          return wait.await(left);
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
