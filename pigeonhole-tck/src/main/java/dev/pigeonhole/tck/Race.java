package dev.pigeonhole.tck;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.IntFunction;

/** Runs work in several threads that start at the same moment. */
final class Race {
  private static final int PATIENCE_SECONDS = 120;

  private Race() {}

  /** Runs the work of runner 0 to n - 1 at once and answers what each of them answered. */
  static <T> List<T> of(int runners, IntFunction<T> work) {
    List<Callable<T>> all = new ArrayList<>();
    for (int i = 0; i < runners; i++) {
      int runner = i;
      all.add(() -> work.apply(runner));
    }
    return of(all);
  }

  static <T> List<T> of(List<Callable<T>> work) {
    CyclicBarrier start = new CyclicBarrier(work.size());
    ExecutorService threads = Executors.newFixedThreadPool(work.size(), Race::daemon);
    try {
      List<Future<T>> running = new ArrayList<>();
      for (Callable<T> one : work) {
        running.add(
            threads.submit(
                () -> {
                  start.await(PATIENCE_SECONDS, TimeUnit.SECONDS);
                  return one.call();
                }));
      }
      List<T> answers = new ArrayList<>();
      for (Future<T> one : running) {
        answers.add(answer(one));
      }
      return answers;
    } finally {
      threads.shutdownNow();
    }
  }

  private static Thread daemon(Runnable work) {
    Thread thread = new Thread(work, "race");
    thread.setDaemon(true);
    return thread;
  }

  private static <T> T answer(Future<T> running) {
    try {
      return running.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      throw new AssertionError("A runner failed: " + e.getCause(), e.getCause());
    } catch (TimeoutException e) {
      throw new AssertionError("A runner did not end within " + PATIENCE_SECONDS + " s.", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("Interrupted while waiting for a runner.", e);
    }
  }
}
