package dev.pigeonhole.internal.dispatch;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends the patience with attempts. A Java thread cannot be stopped, so a timeout tells the handler,
 * interrupts it where that does no harm, and takes the connection of its transaction away.
 */
final class Timeouts {
  private static final Logger LOG = LoggerFactory.getLogger(Timeouts.class);
  private static final Duration UNTIL_ABORT = Duration.ofSeconds(1);

  private final @Nullable ScheduledExecutorService timer;
  private final boolean interrupting;
  private final Map<Attempt, Future<?>> watched = new ConcurrentHashMap<>();

  /**
   * @param timer null when work is driven by hand, on the caller's thread: nothing is cut then
   */
  Timeouts(@Nullable ScheduledExecutorService timer, boolean interrupting) {
    this.timer = timer;
    this.interrupting = interrupting;
  }

  boolean interrupting() {
    return interrupting;
  }

  /** After a handler has returned: an interrupt it left behind must not reach the next one. */
  void tidyThread() {
    if (timer != null) {
      Thread.interrupted(); // by hand it is the caller's thread, and the caller's interrupt
    }
  }

  /**
   * Waits for the attempt to take too long.
   *
   * @param timedOut is called then
   * @param aborted is called a moment later, if it goes on and its connection was taken away
   */
  void watch(Attempt attempt, Duration timeout, Runnable timedOut, Runnable aborted) {
    ScheduledExecutorService chosen = timer;
    if (chosen != null) {
      watched.put(
          attempt,
          chosen.schedule(
              () -> strike(attempt, timedOut, aborted), timeout.toNanos(), TimeUnit.NANOSECONDS));
    }
  }

  /**
   * Runs something short later; false if it never will, by hand or because the inbox has stopped.
   */
  boolean later(Duration wait, Runnable task) {
    ScheduledExecutorService chosen = timer;
    if (chosen == null) {
      return false;
    }
    try {
      Future<?> unused = chosen.schedule(task, wait.toNanos(), TimeUnit.NANOSECONDS);
      return true;
    } catch (RejectedExecutionException e) {
      LOG.debug("The inbox has stopped", e);
      return false;
    }
  }

  void forget(Attempt attempt) {
    Future<?> future = watched.remove(attempt);
    if (future != null) {
      future.cancel(false);
    }
  }

  private void strike(Attempt attempt, Runnable timedOut, Runnable aborted) {
    try {
      timedOut.run();
      if (attempt.state() != Attempt.State.TIMED_OUT) {
        return;
      }
      attempt.requestStop();
      interrupt(attempt);
      if (attempt.handler.spec().isTransactional()) {
        later(
            UNTIL_ABORT,
            () -> {
              if (abort(attempt)) {
                aborted.run();
              }
            });
      }
    } catch (RuntimeException | Error e) {
      LOG.error("A timeout could not be carried out", e);
    }
  }

  void interrupt(Attempt attempt) {
    if (interrupting) {
      attempt.interrupt();
    }
  }

  /**
   * Takes the connection away, so that the database rolls back and frees the row. False if the
   * attempt has none, because it is over or waits for one.
   */
  boolean abort(Attempt attempt) {
    Connection connection = attempt.connection();
    if (connection == null) {
      return false;
    }
    // Not on this thread: some drivers ask the server, which may be what hangs.
    Thread thread = new Thread(() -> abort(connection), "pigeonhole-abort");
    thread.setDaemon(true);
    thread.start();
    return true;
  }

  private static void abort(Connection connection) {
    try {
      connection.abort(Runnable::run);
    } catch (SQLException | RuntimeException e) {
      LOG.warn("The connection of a timed-out transaction could not be aborted", e);
    }
  }
}
