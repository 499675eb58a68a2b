package dev.pigeonhole.internal.registry;

/**
 * Tells what one message has brought upon itself from what concerns all of them. Whatever the
 * application's code throws for a message is that message's fault: if it were taken for an outage,
 * its source would bring the same message again for ever, and nothing behind it.
 */
public final class Faults {
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
}
