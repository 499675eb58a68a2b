package dev.pigeonhole.webhook;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Ends a thread's wait for the other side of a connection after a while. An interrupt closes the
 * channel that the thread reads from or writes to, which nothing else that we can reach does.
 *
 * <p>The interrupt comes from another thread, so it could come late and hit the next request of the
 * same thread. {@link #end} decides who was first, and if it was the interrupt, waits for it.
 */
final class Cut {
  private static final Duration LAST_WORDS = Duration.ofSeconds(1);

  private final CompletableFuture<@Nullable Void> inTime = new CompletableFuture<>();
  private final CompletableFuture<@Nullable Void> cut;

  /** Fails a wait after a time, unless it is over by then. */
  @FunctionalInterface
  interface Timer {
    /** The time of the JVM. */
    Timer REAL =
        (wait, time) -> {
          var unused = wait.orTimeout(time.toNanos(), TimeUnit.NANOSECONDS);
        };

    void limit(CompletableFuture<?> wait, Duration time);
  }

  private Cut(Timer timer, Thread thread, Duration time, @Nullable Runnable before) {
    timer.limit(inTime, time);
    cut =
        before == null
            ? inTime.exceptionally(late -> interrupt(thread))
            : inTime.exceptionallyAsync(
                late -> doThenInterrupt(timer, before, thread), Cut::onItsOwn);
  }

  /** Interrupts the calling thread after this time, unless ended before. */
  static Cut after(Timer timer, Duration time) {
    return new Cut(timer, Thread.currentThread(), time, null);
  }

  /**
   * The same.
   *
   * @param before what is done first, on a thread of its own and for a second at most: the other
   *     side may not be listening
   */
  static Cut after(Timer timer, Duration time, Runnable before) {
    return new Cut(timer, Thread.currentThread(), time, before);
  }

  private static @Nullable Void interrupt(Thread thread) {
    thread.interrupt();
    return null;
  }

  private static @Nullable Void doThenInterrupt(Timer timer, Runnable before, Thread thread) {
    Cut own = after(timer, LAST_WORDS);
    try {
      before.run();
    } finally {
      own.end();
      thread.interrupt();
    }
    return null;
  }

  /** The thread that all timeouts of the JVM run on has no time to wait for anybody. */
  private static void onItsOwn(Runnable work) {
    Thread thread = new Thread(work, "pigeonhole-webhook-late");
    thread.setDaemon(true);
    thread.start();
  }

  /**
   * Whether it was in time. The thread is not interrupted any more when this returns; to end it
   * once more changes nothing.
   */
  boolean end() {
    inTime.complete(null);
    if (!inTime.isCompletedExceptionally()) {
      return true;
    }
    cut.handle((nothing, failed) -> nothing).join();
    boolean unused = Thread.interrupted();
    return false;
  }
}
