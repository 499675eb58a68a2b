package dev.pigeonhole.outbox;

import dev.pigeonhole.RunningInbox;

/** Closes the transports after those who use them. */
record RunningOutbox(RunningInbox engine, Routes routes) implements RunningInbox {

  @Override
  public void awaitStopped() throws InterruptedException {
    engine.awaitStopped();
  }

  @Override
  public boolean healthy() {
    return engine.healthy();
  }

  @Override
  public void close() {
    try {
      engine.close();
    } finally {
      routes.close();
    }
  }
}
