package dev.pigeonhole.internal.dispatch;

/**
 * How many bytes of content one load may bring. A load that runs out of memory halves it;
 * successful loads restore it. Touched by the dispatcher's thread alone.
 */
final class LoadLimit {
  private static final long MOST = 16 << 20;
  private static final int SUCCESSES_TO_DOUBLE = 100;
  private static final long LONGEST_FAILURE = 10_000;

  private final long most;
  private long bytes;
  private int succeeded;

  LoadLimit(long most) {
    this.most = most;
    this.bytes = most;
  }

  /**
   * What the content of one kind may take of this memory: a sixteenth, and no more than 16 MB.
   *
   * @param sharing how many share it
   */
  static long share(long memory, int sharing) {
    return Math.max(1, Math.min(MOST, memory / 16 / Math.max(1, sharing)));
  }

  long bytes() {
    return bytes;
  }

  /** How many recorded failures a load may bring, each with its message and its stack. */
  int failures() {
    return (int) Math.max(1, bytes / LONGEST_FAILURE);
  }

  /** Answers whether a smaller load can be tried. */
  boolean outOfMemory() {
    succeeded = 0;
    boolean smaller = bytes > 1;
    bytes = Math.max(1, bytes / 2);
    return smaller;
  }

  void succeeded() {
    if (bytes < most && ++succeeded >= SUCCESSES_TO_DOUBLE) {
      succeeded = 0;
      bytes = Math.min(most, bytes * 2);
    }
  }
}
