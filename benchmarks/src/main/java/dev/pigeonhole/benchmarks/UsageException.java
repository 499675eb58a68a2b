package dev.pigeonhole.benchmarks;

/** Wrong usage, with the nearest valid form. */
final class UsageException extends Exception {
  private static final long serialVersionUID = 1L;

  private final String nearest;

  UsageException(String message, String nearest) {
    super(message);
    this.nearest = nearest;
  }

  /** A command line that would have worked. */
  String nearest() {
    return nearest;
  }
}
