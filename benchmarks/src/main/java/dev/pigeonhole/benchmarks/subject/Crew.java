package dev.pigeonhole.benchmarks.subject;

import java.util.concurrent.CompletionService;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Threads that do one job together. */
public final class Crew {

  /** What one of them does. */
  @FunctionalInterface
  public interface Job {
    /**
     * @param member from 0 on
     */
    void run(int member) throws Exception;
  }

  private Crew() {}

  /** Returns when all have finished; the first failure interrupts the others. */
  public static void run(int members, Job job) throws Exception {
    ExecutorService executor = Executors.newFixedThreadPool(members);
    try {
      CompletionService<Integer> running = new ExecutorCompletionService<>(executor);
      for (int i = 0; i < members; i++) {
        int member = i;
        running.submit(
            () -> {
              job.run(member);
              return member;
            });
      }
      for (int i = 0; i < members; i++) {
        running.take().get();
      }
    } catch (ExecutionException e) {
      throw e.getCause() instanceof Exception cause ? cause : e;
    } finally {
      executor.shutdownNow();
    }
  }
}
