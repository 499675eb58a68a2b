package dev.pigeonhole.jackson;

import org.jspecify.annotations.Nullable;

/**
 * The class and the frames of an exception without its message: Jackson quotes the content there,
 * and so may the constructor of a payload, while failures are logged and stored.
 */
final class Trace extends RuntimeException {
  private static final long serialVersionUID = 1L;
  private static final int CAUSES = 8;

  private Trace(String name, @Nullable Throwable cause) {
    super(name, cause, false, true);
  }

  static Trace of(Throwable original) {
    return of(original, CAUSES);
  }

  private static Trace of(Throwable original, int causes) {
    Throwable cause = original.getCause();
    Trace trace =
        new Trace(
            original.getClass().getName(),
            cause == null || causes == 0 ? null : of(cause, causes - 1));
    trace.setStackTrace(original.getStackTrace());
    return trace;
  }
}
