package dev.pigeonhole.tck;

import java.util.Random;

/** How much is tried: little while developing, more in a full run. */
final class Size {
  private Size() {}

  static int of(int small, int full) {
    return "small".equals(System.getProperty("pigeonhole.size", "small")) ? small : full;
  }

  /**
   * A random that can be repeated: its seed is printed, and {@code -Dpigeonhole.seed=…} sets it.
   */
  @SuppressWarnings("SystemOut")
  static Random random(String what) {
    long seed = Long.getLong("pigeonhole.seed", System.nanoTime());
    System.out.println(what + ": -Dpigeonhole.seed=" + seed);
    return new Random(seed);
  }
}
