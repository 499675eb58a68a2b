package dev.pigeonhole.proofs;

/** How much is tried: a tenth in the daily run, everything in a full one. */
final class Size {
  private Size() {}

  static int of(int small, int full) {
    return "full".equals(System.getProperty("pigeonhole.size", "small")) ? full : small;
  }

  /** A seed that is printed; {@code -Dpigeonhole.seed=…} sets it. */
  static long seed(String what) {
    long seed = Long.getLong("pigeonhole.seed", System.nanoTime());
    System.out.println(what + ": -Dpigeonhole.seed=" + seed);
    return seed;
  }
}
