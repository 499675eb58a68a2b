package dev.pigeonhole.testkit;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Holds threads until it is opened; knows whether somebody has come. */
final class Gate {
  private static final long PATIENCE_SECONDS = 300;

  private final CountDownLatch entered = new CountDownLatch(1);
  private final CountDownLatch opened = new CountDownLatch(1);

  /** Waits here until the gate is open; an interrupt ends the waiting. */
  void pass() throws InterruptedException {
    entered.countDown();
    if (!opened.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
      throw new AssertionError("nobody opened the gate");
    }
  }

  /** Waits here, deaf to interrupts. */
  void passStubbornly() {
    entered.countDown();
    boolean interrupted = false;
    while (opened.getCount() > 0) {
      try {
        pass();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  void awaitSomebody() {
    try {
      if (!entered.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
        throw new AssertionError("nobody came to the gate");
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  boolean somebodyCame() {
    return entered.getCount() == 0;
  }

  void open() {
    opened.countDown();
  }
}
