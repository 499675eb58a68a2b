package dev.pigeonhole.benchmarks.pigeonhole;

import java.util.concurrent.CountDownLatch;

/**
 * Handlers, or a source, wait in front of it until the inbox is at work on its backlog, so that its
 * start is not measured. What was read until then is not on the clock: four batches of each handler
 * at most, or what a client of a broker reads ahead.
 */
final class Gate {

  private final CountDownLatch arrived = new CountDownLatch(1);
  private final CountDownLatch open = new CountDownLatch(1);

  /** Called by those who wait. */
  void pass() throws InterruptedException {
    arrived.countDown();
    open.await();
  }

  void awaitFirst() throws InterruptedException {
    arrived.await();
  }

  void open() {
    open.countDown();
  }
}
