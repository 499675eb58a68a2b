package dev.pigeonhole.outbox;

/** How much a test tries: little at small size, everything at full size. */
final class Size {
  private Size() {}

  static int of(int small, int full) {
    return "full".equals(System.getProperty("pigeonhole.size", "small")) ? full : small;
  }
}
