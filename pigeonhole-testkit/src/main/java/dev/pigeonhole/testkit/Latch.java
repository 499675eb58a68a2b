package dev.pigeonhole.testkit;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Holds a thread at a crash point until the test lets it go on: wait until somebody stands there,
 * do what must happen meanwhile, release.
 */
public final class Latch {
  private static final Duration PATIENCE = Duration.ofMinutes(3);

  private final CountDownLatch reached = new CountDownLatch(1);
  private final CountDownLatch released = new CountDownLatch(1);

  /**
   * Waits until a thread stands at the point.
   *
   * @throws AssertionError if none came within three minutes
   */
  public void awaitReached() {
    await(reached, "Nobody reached the crash point");
  }

  /** Lets go whoever stands there, and whoever comes. */
  public void release() {
    released.countDown();
  }

  /** An interrupt lets the thread go on too, as it would where nothing is planned. */
  void hold() {
    reached.countDown();
    await(released, "Nobody released the crash point");
  }

  private static void await(CountDownLatch latch, String complaint) {
    try {
      if (!latch.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
        throw new AssertionError(complaint + " within " + PATIENCE.toSeconds() + " s.");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
