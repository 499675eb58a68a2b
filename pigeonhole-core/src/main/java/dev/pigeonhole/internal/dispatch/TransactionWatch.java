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
  private final @Nullable Connection connection;
  private ScheduledFuture<?> next; // guarded by this
  private State state = State.RUNNING; // guarded by this

  /**
   * @param connection null for that of a caller, who alone may end its transaction
   */
  public TransactionWatch(String what, Duration limit, @Nullable Connection connection) {
    this.what = what;
    this.limit = limit;
    this.connection = connection;
    this.next = Timer.ALL.schedule(this::warn, limit.toNanos() / 6, TimeUnit.NANOSECONDS);
  }

  public Duration left() {
    return limit.minusNanos(System.nanoTime() - began);
  }

  private void warn() {
    Connection ours = connection;
    if (ours != null) {
      strikeIfStillRunning(ours); // first, whatever becomes of the warning
    }
    LOG.warn(
        "The guarded run of {} holds its transaction for more than {}; its locks are in the way of"
            + " others",
        what,
        Spans.shown(limit.dividedBy(6)));
  }

  /** Few runs get here: the others need not be timed twice. */
  private synchronized void strikeIfStillRunning(Connection ours) {
    if (state == State.RUNNING) {
      next = Timer.ALL.schedule(() -> strike(ours), left().toNanos(), TimeUnit.NANOSECONDS);
    }
  }

  private void strike(Connection ours) {
    synchronized (this) {
      if (state != State.RUNNING) {
        return;
      }
      state = State.STRUCK;
    }
    // Aborting may wait for a network that is down, and others have their time, too.
    Thread abort = new Thread(() -> abort(ours), "pigeonhole-transaction-abort");
    abort.setDaemon(true);
    abort.start();
  }

  private void abort(Connection ours) {
    try {
      ours.abort(Runnable::run);
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
  public synchronized void close() {
    returned();
    next.cancel(false);
  }
}
