package dev.pigeonhole.benchmarks.subject;

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
    Crew.run(
        threads,
        member -> {
          for (int from = next.getAndAdd(batch); from < messages; from = next.getAndAdd(batch)) {
            offer.offer(from, Math.min(from + batch, messages));
          }
        });
  }
}
