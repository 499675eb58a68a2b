package dev.pigeonhole.benchmarks.peers.springintegration;

import dev.pigeonhole.benchmarks.peers.Calls;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.springframework.messaging.Message;

/** Threads that poll in transactions: the handler and the removal commit together. */
final class Poller {

  private final Stores stores;
  private final Calls calls;
  private final ExecutorService executor;
  private final List<Future<?>> threads = new ArrayList<>();
  private final int polls;
  private final long pauseNanos;
  private volatile boolean stopping;

  Poller(Stores stores, Calls calls, int threads, int polls, int pauseMillis) {
    this.stores = stores;
    this.calls = calls;
    this.polls = polls;
    this.pauseNanos = TimeUnit.MILLISECONDS.toNanos(pauseMillis);
    executor = Executors.newFixedThreadPool(threads);
    for (int i = 0; i < threads; i++) {
      this.threads.add(executor.submit(this::pollUntilStopped));
    }
  }

  private void pollUntilStopped() {
    while (!stopping) {
      if (!stores.inTransaction(this::handleNext)) {
        LockSupport.parkNanos(pauseNanos);
      }
    }
  }

  private boolean handleNext() {
    for (int i = 0; i < polls; i++) {
      Message<?> message = stores.poll();
      if (message == null) {
        return i > 0;
      }
      calls.handled(String.valueOf(message.getHeaders().get(Stores.ID)));
    }
    return true;
  }

  /** Fails if one of the threads did. */
  void stop() throws InterruptedException, ExecutionException {
    stopping = true;
    executor.shutdown();
    for (Future<?> thread : threads) {
      thread.get();
    }
  }
}
