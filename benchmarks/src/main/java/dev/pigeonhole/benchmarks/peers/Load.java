package dev.pigeonhole.benchmarks.peers;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/** Offers the messages of a run from several threads, as the sources of a busy service do. */
public final class Load {

  /** What one thread does with the messages {@code from} (inclusive) {@code to} (exclusive). */
  @FunctionalInterface
  public interface Offer {
    void offer(int from, int to) throws Exception;
  }

  private Load() {}

  /** Returns when every message was offered; the first failure ends it for all threads. */
  public static void run(int messages, int threads, int batch, Offer offer) throws Exception {
    AtomicInteger next = new AtomicInteger();
    ExecutorService executor = Executors.newFixedThreadPool(threads);
    try {
      List<Future<?>> producers = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        producers.add(executor.submit(() -> offerAll(next, messages, batch, offer)));
      }
      for (Future<?> producer : producers) {
        producer.get();
      }
    } catch (ExecutionException e) {
      throw e.getCause() instanceof Exception cause ? cause : e;
    } finally {
      executor.shutdownNow();
    }
  }

  // Answers something only to be a Callable, which may throw.
  private static boolean offerAll(AtomicInteger next, int messages, int batch, Offer offer)
      throws Exception {
    try {
      for (int from = next.getAndAdd(batch); from < messages; from = next.getAndAdd(batch)) {
        offer.offer(from, Math.min(from + batch, messages));
      }
      return true;
    } catch (Exception e) {
      next.set(messages);
      throw e;
    }
  }
}
