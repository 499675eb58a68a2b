package dev.pigeonhole.testkit;

import static org.assertj.core.api.Assertions.assertThat;

/** Stops an inbox in the middle of its attempts. */
final class Closing {
  private Closing() {}

  /**
   * Cuts running attempts at once, and leaves the rest of the stop the whole grace: with a short
   * grace instead, a busy machine would not always record how the attempts ended.
   */
  static void cuttingAtOnce(TestInbox inbox) {
    Thread.currentThread().interrupt();
    inbox.close();
    assertThat(Thread.interrupted()).as("interrupted").isTrue();
  }
}
