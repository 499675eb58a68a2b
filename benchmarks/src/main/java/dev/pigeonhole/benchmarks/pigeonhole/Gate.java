package dev.pigeonhole.benchmarks.pigeonhole;

import java.util.concurrent.CountDownLatch;

/**
 * Handlers wait in front of it until the inbox is at work on its backlog, so that its start is not
 * measured. What it has read until then, four batches of each handler at most, is not on the clock.
 */
final class Gate {

  private final CountDownLatch arrived = new CountDownLatch(1);
  private final CountDownLatch open = new CountDownLatch(1);

  /** Called by handlers. */
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
