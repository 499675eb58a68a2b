package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.internal.registry.Spans;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks at the time of one run: warns when it is long, and takes the connection away when it is too
 * long. Whoever ends it first decides; after that the other comes too late.
 */
public final class TransactionWatch implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(TransactionWatch.class);

  /** One for all: a thread that nearly always sleeps, and that nobody has to end. */
  private static final class Timer {
    static final ScheduledThreadPoolExecutor ALL =
        new ScheduledThreadPoolExecutor(1, Timer::thread);

    static {
      ALL.setRemoveOnCancelPolicy(true);
    }

    private static Thread thread(Runnable task) {
      Thread thread = new Thread(task, "pigeonhole-transaction-watch");
      thread.setDaemon(true);
      return thread;
    }
  }

  private enum State {
    RUNNING,
    RETURNED,
    STRUCK
  }

  private final String what;
  private final Duration limit;
  private final long began = System.nanoTime();
  private final ScheduledFuture<?> warning;
  private final @Nullable ScheduledFuture<?> end;
  private State state = State.RUNNING; // guarded by this

  /**
   * @param connection null for that of a caller, who alone may end its transaction
   */
  public TransactionWatch(String what, Duration limit, @Nullable Connection connection) {
    this.what = what;
    this.limit = limit;
    long nanos = limit.toNanos();
    this.warning = Timer.ALL.schedule(this::warn, nanos / 6, TimeUnit.NANOSECONDS);
    this.end =
        connection == null
            ? null
            : Timer.ALL.schedule(() -> strike(connection), nanos, TimeUnit.NANOSECONDS);
  }

  public Duration left() {
    return limit.minusNanos(System.nanoTime() - began);
  }

  private void warn() {
    LOG.warn(
        "The guarded run of {} holds its transaction for more than {}; its locks are in the way of"
            + " others",
        what,
        Spans.shown(limit.dividedBy(6)));
  }

  private void strike(Connection connection) {
    synchronized (this) {
      if (state != State.RUNNING) {
        return;
      }
      state = State.STRUCK;
    }
    // Aborting may wait for a network that is down, and others have their time, too.
    Thread abort = new Thread(() -> abort(connection), "pigeonhole-transaction-abort");
    abort.setDaemon(true);
    abort.start();
  }

  private void abort(Connection connection) {
    try {
      connection.abort(Runnable::run);
    } catch (SQLException e) {
      LOG.debug("The connection of {} was gone already", what, e);
    }
  }

  /** Says that the body has returned. */
  public synchronized void returned() {
    if (state == State.RUNNING) {
      state = State.RETURNED;
    }
  }

  /** Refuses to go on after the time was up. */
  public synchronized void refuseIfStruck(@Nullable Throwable cause) {
    if (state == State.STRUCK) {
      throw new InboxException(
          ErrorCode.GUARD_TIME_LIMIT,
          ("The guarded run of %s took longer than %s, and was rolled back. Do slow work outside of"
                  + " the transaction, or give it more time with timeLimit(…), an inline handler with"
                  + " within(…).")
              .formatted(what, Spans.shown(limit)),
          cause);
    }
  }

  @Override
  public void close() {
    warning.cancel(false);
    if (end != null) {
      end.cancel(false);
    }
  }
}
