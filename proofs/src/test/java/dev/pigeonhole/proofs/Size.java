package dev.pigeonhole.proofs;

import java.time.Duration;

/** How much is tried: a tenth in the daily run, everything in a full one. */
final class Size {
  private Size() {}

  static int of(int small, int full) {
    return "full".equals(System.getProperty("pigeonhole.size", "small")) ? full : small;
  }

  /**
   * How long to wait for work to end: not for ever on a build that was broken so that it never
   * does.
   */
  static Duration patience() {
    return Boolean.getBoolean("pigeonhole.teeth")
        ? Duration.ofSeconds(30)
        : Duration.ofMinutes(of(10, 45));
  }

  /** A seed that is printed; {@code -Dpigeonhole.seed=…} sets it. */
  static long seed(String what) {
    long seed = Long.getLong("pigeonhole.seed", System.nanoTime());
    System.out.println(what + ": -Dpigeonhole.seed=" + seed);
    return seed;
  }
}
