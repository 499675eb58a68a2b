package dev.pigeonhole.outbox;

import dev.pigeonhole.RunningInbox;
import java.util.Map;

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

  /** An outbox has transports and no sources. */
  @Override
  public Map<String, String> sourceTroubles() {
    return Map.of();
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
