package dev.pigeonhole.store;

import java.time.Duration;

/**
 * Words between nodes: something has come in. A word is a hint and nothing more. It may be lost,
 * come twice or come for nothing; nodes poll as if there were none.
 */
public interface WakeUps {

  /**
   * Tells the other nodes, soon, from a thread of its own; calls that come close together become
   * one word. Neither waits nor throws.
   */
  void tell();

  /**
   * Waits for a word, for so long at most. It is true also when it begins to listen only now,
   * because words may have been missed before. For one caller at a time.
   *
   * @throws StoreException if it cannot listen, or no longer can; the next call begins anew
   */
  boolean await(Duration atMost);

  /** Listens no longer, until somebody waits again. */
  void rest();
}
