package dev.pigeonhole.internal.dispatch;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * Gets a word through although memory runs out. An attempt whose end nobody hears of would stay
 * open until the process ends; and where memory runs out, others soon give some back.
 */
final class Memory {
  private static final int TRIES = 100;
  private static final long PAUSE = TimeUnit.MILLISECONDS.toNanos(100);

  private Memory() {}

  /**
   * Tells it again and again, for ten seconds at most.
   *
   * @param word was made earlier, so that it takes no memory to come here
   */
  static <T> void tell(T about, Consumer<T> word) {
    for (int tries = 1; ; tries++) {
      try {
        word.accept(about);
        return;
      } catch (OutOfMemoryError e) {
        if (tries == TRIES) {
          throw e;
        }
        LockSupport.parkNanos(PAUSE);
      }
    }
  }
}
