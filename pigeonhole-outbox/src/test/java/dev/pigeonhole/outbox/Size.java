package dev.pigeonhole.outbox;

/** How much is tried: little in the daily run, everything in a full one. */
final class Size {
  private Size() {}

  static int of(int small, int full) {
    return "full".equals(System.getProperty("pigeonhole.size", "small")) ? full : small;
  }
}
