package dev.pigeonhole.jackson;

import org.jspecify.annotations.Nullable;

/** Looks behind an exception. */
final class Causes {
  private static final int DEPTH = 50;

  private Causes() {}

  /** The outermost of this class, the exception itself included. */
  static <X extends Throwable> @Nullable X find(Throwable thrown, Class<X> type) {
    Throwable each = thrown;
    for (int i = 0; each != null && i < DEPTH; i++) {
      if (type.isInstance(each)) {
        return type.cast(each);
      }
      each = each.getCause();
    }
    return null;
  }

  /** The innermost. */
  static Throwable root(Throwable thrown) {
    Throwable each = thrown;
    for (int i = 0; i < DEPTH; i++) {
      Throwable cause = each.getCause();
      if (cause == null) {
        break;
      }
      each = cause;
    }
    return each;
  }
}
