package dev.pigeonhole;

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

  /** The rest of the attempt. To be called once, on the thread that it was given to. */
  @FunctionalInterface
  interface Next {
    /** Runs it, and throws what it throws. */
    void proceed() throws Exception;
  }
}
