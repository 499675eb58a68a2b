package dev.pigeonhole;

import java.util.Map;

/**
 * An inbox at work. Closing it is a graceful stop; closing twice is harmless. Safe for many
 * threads.
 */
public interface RunningInbox extends AutoCloseable {

  /** Blocks until it has stopped: somebody has closed it, or it ran out of memory. */
  void awaitStopped() throws InterruptedException;

  /**
   * Whether its loops are alive, its node has sent a heartbeat lately, and its reader has completed
   * a turn within {@code 5 × deadAfter + pollMax}. A reader that cannot read starts no work
   * although it is alive.
   */
  boolean healthy();

  /**
   * What keeps its sources from receiving at present, by their names, for people. Empty while all
   * is well; it does not change whether it is {@link #healthy}.
   */
  Map<String, String> sourceTroubles();

  /**
   * Starts nothing new, stops the sources, lets running attempts end within the grace period,
   * releases the rest uncounted, and gives the lanes back. Returns within the grace period, which
   * includes the sources, plus 2 s, also if the store hangs. Outcomes that could not be recorded
   * then are lost, and their handlers run again.
   *
   * <p>Interrupting the closing thread cuts running attempts at once; their outcomes and the stop
   * are still recorded. A handler that closes its own inbox is waited for like any other: until the
   * grace period is over.
   */
  @Override
  void close();
}
