package dev.pigeonhole.transport;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * For authors of transports: where one waits for what can neither be interrupted nor told to hurry.
 * Threads are used again, end when they are idle, and are never more than {@link #MOST}: whoever
 * finds all of them hanging waits for one as long as it may, and has sent nothing.
 */
public final class SendThreads {
  /** How many there are at most. */
  public static final int MOST = 64;

  private static final Duration IDLE = Duration.ofSeconds(10);

  private final String name;
  private final Semaphore free = new Semaphore(MOST);
  private final AtomicInteger number = new AtomicInteger();
  private @Nullable ThreadPoolExecutor threads; // guarded by this; null while there are none

  /**
   * @param name what the names of its threads begin with
   */
  public SendThreads(String name) {
    this.name = name;
  }

  /**
   * Begins the work, and returns meanwhile.
   *
   * @throws TimeoutException if all threads were taken for so long: the work was not begun
   */
  public <T> FutureTask<T> begin(Callable<T> work, Duration timeout)
      throws InterruptedException, TimeoutException {
    if (!free.tryAcquire(timeout.toNanos(), TimeUnit.NANOSECONDS)) {
      throw new TimeoutException("All threads are taken");
    }
    FutureTask<T> task = new FutureTask<>(work);
    boolean begun = false;
    try {
      execute(task);
      begun = true;
      return task;
    } finally {
      if (!begun) {
        free.release();
      }
    }
  }

  private synchronized void execute(FutureTask<?> task) {
    if (threads == null) {
      threads =
          new ThreadPoolExecutor(
              0,
              Integer.MAX_VALUE,
              IDLE.toNanos(),
              TimeUnit.NANOSECONDS,
              new SynchronousQueue<>(),
              this::thread);
    }
    threads.execute(
        () -> {
          try {
            task.run();
          } finally {
            free.release();
          }
        });
  }

  private Thread thread(Runnable work) {
    Thread thread = new Thread(work, name + "-" + number.incrementAndGet());
    thread.setDaemon(true);
    return thread;
  }

  /** What has begun may end; the next work has threads again. */
  public synchronized void close() {
    if (threads != null) {
      threads.shutdown();
      threads = null;
    }
  }
}
