package dev.pigeonhole;

/** An inbox at work. Closing it is a graceful stop; closing twice is harmless. */
public interface RunningInbox extends AutoCloseable {

  /** Blocks until somebody closes it. */
  void awaitStopped() throws InterruptedException;

  /** Whether its loops are alive and its node has beaten lately. */
  boolean healthy();

  /**
   * Stops reading, lets running attempts end within the grace period, releases the rest uncounted,
   * gives the lanes back, and returns when all of that is done.
   */
  @Override
  void close();
}
