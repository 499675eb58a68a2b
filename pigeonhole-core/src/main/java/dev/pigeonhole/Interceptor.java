package dev.pigeonhole;

import org.jspecify.annotations.Nullable;

/**
 * Stands around every attempt of every handler of an inbox: timing, tracing, a tenant to bind. Runs
 * on the handler's thread, and inside its transaction if it has one.
 *
 * <p>What it throws is the attempt's failure. It cannot make a failed attempt succeed, nor complete
 * a delivery whose handler it did not call: that fails with {@code PH-HND-06}.
 */
@FunctionalInterface
public interface Interceptor {

  /** Called instead of the handler; {@code next} is the handler, or the next interceptor. */
  void around(Received<?> received, Next next) throws Exception;

  /**
   * Told once for each attempt that {@link #around} was called for, when it is decided how it ends.
   * That is after {@code around} has returned, except for a handler that ignores its time limit or
   * a stop: then it is on another thread, and {@code around} may return later or never. The
   * database may not know it yet, and may still refuse it if the delivery was lost to another node.
   * What it throws is logged and swallowed.
   *
   * @param cause what the attempt failed with; null where nothing was thrown
   */
  default void ended(Received<?> received, End end, @Nullable Throwable cause) {}

  /** How an attempt ends. */
  enum End {
    /** The handler has finished the message. */
    COMPLETED("completed"),
    /** It failed, or asked for another time, and will be repeated. */
    RETRIED("retry"),
    /** It failed, and will not be repeated until an operator acts. */
    POISONED("poisoned"),
    /** It took too long, whatever comes of that. */
    TIMED_OUT("timeout"),
    /** It does not count: it gave way to a stop, its lane was lost, or its transaction was. */
    RELEASED("released");

    private final String word;

    End(String word) {
      this.word = word;
    }

    /** What meters, traces and records call it. */
    public String word() {
      return word;
    }
  }

  /** The rest of the attempt. To be called once, on the thread that it was given to. */
  @FunctionalInterface
  interface Next {
    /** Runs it, and throws what it throws. */
    void proceed() throws Exception;
  }
}
