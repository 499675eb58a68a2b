package dev.pigeonhole.internal.dispatch;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * Repeats a notification that fails because memory is exhausted. An attempt whose end is lost would
 * stay open until the process ends, and other threads often free memory soon.
 */
final class Memory {
  private static final int TRIES = 100;
  private static final long PAUSE = TimeUnit.MILLISECONDS.toNanos(100);

  private Memory() {}

  /**
   * Calls the action until it succeeds, for about ten seconds, and then throws the last error.
   *
   * @param action created in advance, so that this call needs no memory for it
   */
  static <T> void tell(T about, Consumer<T> action) {
    boolean interrupted = false;
    try {
      for (int tries = 1; ; tries++) {
        try {
          action.accept(about);
          return;
        } catch (OutOfMemoryError e) {
          if (tries == TRIES) {
            throw e;
          }
          interrupted |= Thread.interrupted(); // an interrupted thread would not wait
          LockSupport.parkNanos(PAUSE);
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
