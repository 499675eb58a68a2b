package dev.pigeonhole.internal.registry;

import org.jspecify.annotations.Nullable;

/**
 * Tells what one message has brought upon itself from what concerns all of them. Whatever the
 * application's code throws for a message is that message's fault: if it were taken for an outage,
 * its source would bring the same message again for ever, and nothing behind it.
 */
public final class Faults {
  private static final int DEEPEST = 50;

  private Faults() {}

  /**
   * Returns if the message alone is at fault.
   *
   * @throws VirtualMachineError if the JVM itself is in trouble. A stack that was too deep is whole
   *     again here
   * @throws IllegalStateException if the thread was told to stop, which it still knows afterwards
   */
  public static void passOnWhatIsNoMessages(Throwable thrown) {
    if (thrown instanceof VirtualMachineError error && !(error instanceof StackOverflowError)) {
      throw error;
    }
    if (thrown instanceof InterruptedException) { // from a language that need not declare it
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", thrown);
    }
  }

  /**
   * The lack of memory behind this error, if any: drivers wrap it like an error of the database.
   */
  public static @Nullable OutOfMemoryError outOfMemory(@Nullable Throwable thrown) {
    int depth = 0;
    for (Throwable each = thrown; each != null && depth < DEEPEST; each = each.getCause()) {
      if (each instanceof OutOfMemoryError error) {
        return error;
      }
      depth++;
    }
    return null;
  }
}
