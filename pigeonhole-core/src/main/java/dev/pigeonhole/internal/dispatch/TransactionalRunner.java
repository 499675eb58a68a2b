package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.HandlerTransaction;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Received;
import dev.pigeonhole.TransactionalHandler;
import dev.pigeonhole.internal.registry.BoundHandler;
import dev.pigeonhole.store.CrashPoints;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.Settlement;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.store.Transactions;
import java.sql.Connection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs attempts whose effects commit together with their receipts: one in a transaction, or several
 * where the handler shares commits. When a shared transaction fails nobody knows whose fault it
 * was, so each of its deliveries is run again in a transaction of its own, and only that counts.
 */
final class TransactionalRunner {
  private static final Logger LOG = LoggerFactory.getLogger(TransactionalRunner.class);

  /** A slow delivery keeps the effects of the others invisible, and their rows locked. */
  private static final Duration MOST_SHARED_TIME = Duration.ofMillis(20);

  private static final Duration NO_SHARING_AFTER_DEADLOCK = Duration.ofMinutes(1);

  private record Transaction(Connection connection, Received<Object> delivery)
      implements HandlerTransaction<Object> {}

  private final Transactions store;
  private final Runner runner;
  private final Timeouts timeouts;
  private final Endings endings;
  private final Runner.Surroundings surroundings;
  private final Map<String, Long> sharingOffUntil = new ConcurrentHashMap<>();

  TransactionalRunner(
      Transactions store,
      Runner runner,
      Timeouts timeouts,
      Endings endings,
      Runner.Surroundings surroundings) {
    this.store = store;
    this.runner = runner;
    this.timeouts = timeouts;
    this.endings = endings;
    this.surroundings = surroundings;
  }

  /** Runs a group to its end on the calling thread, in few transactions where it may. */
  void run(HandlerLine line, List<Work> group) {
    List<Work> left = sorted(group);
    while (left.size() > 1 && mayShare(line)) {
      List<Work> again = runUnit(line, left, true);
      if (again.size() == left.size()) {
        break; // rolled back
      }
      left = again;
    }
    left.forEach(work -> runUnit(line, List.of(work), false));
  }

  private boolean mayShare(HandlerLine line) {
    Long offUntil = sharingOffUntil.get(line.handler.key());
    return offUntil == null || System.nanoTime() - offUntil > 0;
  }

  /**
   * One transaction.
   *
   * @param shared whether a failure means "redo one by one" instead of a failure of the delivery
   * @return what must be run again: all of a shared group that failed, the rest of one that took
   *     its time
   */
  private List<Work> runUnit(HandlerLine line, List<Work> group, boolean shared) {
    Map<Delivery, Attempt> attempts = new HashMap<>();
    for (Work work : group) {
      attempts.put(work.delivery(), runner.begin(line, work));
    }
    try {
      if (!surroundings.mayStart()) {
        attempts.values().forEach(runner::abandon);
        return List.of();
      }
      return runUnit(line, group, shared, attempts);
    } finally {
      runner.running().removeAll(attempts.values()); // last, as for a plain attempt
    }
  }

  private List<Work> runUnit(
      HandlerLine line, List<Work> group, boolean shared, Map<Delivery, Attempt> attempts) {
    Unit unit = new Unit(line, attempts);
    try {
      Set<Delivery> done = store.run(group.stream().map(Work::delivery).toList(), unit);
      List<Work> left = new ArrayList<>();
      for (Work work : group) {
        Attempt attempt = release(line, attempts, work);
        if (done.contains(work.delivery())) {
          surroundings.completedInTransaction(
              new Settlement(work.delivery(), new Outcome.Completed()));
          endings.tellCompleted(attempt);
        } else if (unit.enough) {
          left.add(work);
        } else {
          surroundings.notOurs(work.delivery());
        }
      }
      return left;
    } catch (Transactions.WorkFailedException e) {
      failedUnit(line, attempts, group, shared, e.getCause() == null ? e : e.getCause());
    } catch (StoreException e) {
      failedStore(line, attempts, group, shared, e);
    } catch (Throwable e) {
      failedUnit(line, attempts, group, shared, e); // an Error that nobody may swallow
    }
    return shared ? group : List.of();
  }

  /** The work of one transaction; once it has had enough, it stays so. */
  private final class Unit implements Transactions.Work {
    private final HandlerLine line;
    private final Map<Delivery, Attempt> attempts;
    private @Nullable Long began;
    private boolean enough;

    Unit(HandlerLine line, Map<Delivery, Attempt> attempts) {
      this.line = line;
      this.attempts = attempts;
    }

    @Override
    public void run(Delivery delivery, Connection connection) throws Exception {
      if (began == null) {
        began = System.nanoTime();
      }
      invoke(line, attempts, delivery, connection);
    }

    @Override
    public boolean enough() {
      enough |= began != null && System.nanoTime() - began > MOST_SHARED_TIME.toNanos();
      return enough;
    }
  }

  private void failedStore(
      HandlerLine line,
      Map<Delivery, Attempt> attempts,
      List<Work> group,
      boolean shared,
      StoreException e) {
    group.forEach(work -> release(line, attempts, work));
    if (shared) {
      if (e.deadlock()) {
        sharingOffUntil.put(
            line.handler.key(), System.nanoTime() + NO_SHARING_AFTER_DEADLOCK.toNanos());
      }
      return;
    }
    if (e.kind() == StoreException.Kind.PERMANENT) {
      LOG.warn("The store refuses to run handler {}", line.handler.key(), e);
    } else {
      LOG.debug("The store failed under handler {}; it does not count", line.handler.key(), e);
    }
    for (Work work : group) {
      Attempt attempt = attempts.get(work.delivery());
      if (attempt != null
          && (attempt.state() == Attempt.State.TIMED_OUT || attempt.state() == Attempt.State.CUT)) {
        settleFailed(attempt, e);
      } else if (e.kind() == StoreException.Kind.UNKNOWN) {
        surroundings.notOurs(work.delivery()); // reading again tells
      } else {
        endings.soonAgain(work.delivery());
      }
    }
  }

  private void failedUnit(
      HandlerLine line,
      Map<Delivery, Attempt> attempts,
      List<Work> group,
      boolean shared,
      Throwable cause) {
    for (Work work : group) {
      Attempt attempt = release(line, attempts, work);
      if (!shared) {
        settleFailed(attempt, cause);
      }
    }
    if (cause instanceof OutOfMemoryError) {
      surroundings.fatal(cause);
    }
  }

  private void invoke(
      HandlerLine line, Map<Delivery, Attempt> attempts, Delivery delivery, Connection connection)
      throws Exception {
    BoundHandler handler = line.handler;
    Attempt attempt = attempts.get(delivery);
    TransactionalHandler<Object> body = handler.spec().transactional();
    if (attempt == null || body == null) {
      throw new IllegalStateException("a delivery was run that nobody asked for");
    }
    attempt.using(connection);
    if (attempt.state() == Attempt.State.CUT) {
      throw new IllegalStateException("the inbox stopped while the attempt waited for the store");
    }
    runner.startClock(line, attempt);
    CrashPoints.reach("run.before-handler");
    runner.decode(attempt);
    body.handle(attempt.payload(), new Transaction(connection, attempt));
    CrashPoints.reach("run.after-handler");
    // From here on the receipt commits: a timeout that has not struck yet is too late.
    if (!attempt.end(Attempt.State.ENDED)) {
      throw new InboxException(
          ErrorCode.HANDLER_TIMED_OUT,
          "The handler '%s' returned after its time was up.".formatted(handler.key()));
    }
  }

  private Attempt release(HandlerLine line, Map<Delivery, Attempt> attempts, Work work) {
    Attempt attempt = attempts.get(work.delivery());
    if (attempt == null) {
      throw new IllegalStateException("an attempt was lost");
    }
    attempt.leave();
    timeouts.forget(attempt);
    timeouts.tidyThread();
    attempt.using(null);
    if (attempt.state() == Attempt.State.TIMED_OUT) {
      line.slotFreed();
    }
    return attempt;
  }

  /** After a rollback: a timeout that struck meanwhile is the failure, whatever came of it. */
  private void settleFailed(Attempt attempt, Throwable cause) {
    if (attempt.state() == Attempt.State.CUT) {
      surroundings.notOurs(attempt.work.delivery());
      return;
    }
    if (attempt.state() == Attempt.State.TIMED_OUT) {
      cause =
          new InboxException(
              ErrorCode.HANDLER_TIMED_OUT,
              "The attempt took longer than %s, the limit of handler '%s'."
                  .formatted(attempt.handler.spec().timeout(), attempt.handler.key()),
              cause);
    }
    endings.failed(attempt, cause);
  }

  private static List<Work> sorted(List<Work> group) {
    return group.stream()
        .sorted(
            Comparator.comparingInt((Work work) -> work.delivery().cell().handler())
                .thenComparingLong(work -> work.delivery().seq()))
        .toList();
  }
}
