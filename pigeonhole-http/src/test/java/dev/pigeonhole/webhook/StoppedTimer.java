package dev.pigeonhole.webhook;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** No time is ever over but when a test says so. */
final class StoppedTimer implements Cut.Timer {
  /** How long each wait would have been, in the order they began. */
  final List<Duration> times = new CopyOnWriteArrayList<>();

  private final BlockingQueue<CompletableFuture<?>> waits = new LinkedBlockingQueue<>();

  @Override
  public void limit(CompletableFuture<?> wait, Duration time) {
    times.add(time);
    waits.add(wait);
  }

  /** What has begun after the one before. */
  CompletableFuture<?> next() throws InterruptedException {
    CompletableFuture<?> next = waits.poll(300, TimeUnit.SECONDS);
    if (next == null) {
      throw new AssertionError("nobody waits for anything");
    }
    return next;
  }

  /** Lets it wait. */
  void skip() throws InterruptedException {
    CompletableFuture<?> unused = next();
  }

  /** Its time is over. */
  static void end(CompletableFuture<?> wait) {
    if (!wait.completeExceptionally(new TimeoutException())) {
      throw new AssertionError("it was over before");
    }
  }
}
