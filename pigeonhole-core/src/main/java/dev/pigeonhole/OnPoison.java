package dev.pigeonhole;

/**
 * What a poisoned delivery does to those behind it in its ordering key. Other keys, other handlers,
 * messages without a key and handlers that are {@link HandlerOption#unordered()} never notice.
 */
public enum OnPoison {
  /**
   * What follows waits until the poisoned delivery is retried, completed or discarded, and goes on
   * by itself then. The default.
   */
  BLOCK_KEY,
  /**
   * What follows waits until an operator releases the key, whatever becomes of the poisoned
   * delivery meanwhile; then it goes on, in order. For sequences in which one wrong step makes the
   * next ones doubtful.
   */
  HOLD_SEQUENCE,
  /**
   * What follows goes on at once. The poisoned delivery is kept; if it is retried later it runs
   * late, but never beside another of its key.
   */
  SKIP
}
