package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.HandlerTransaction;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
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
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;

/**
 * Runs attempts whose effects commit together with their receipts: one in a transaction, or several
 * where the handler shares commits. When a shared transaction fails nobody knows whose fault it
 * was, so each of its deliveries is run again in a transaction of its own, and only that counts.
 *
 * <p>A handler that does not return after its time loses its connection, and with it whatever it
 * has written. As soon as the database has let go of the row the attempt counts as failed, whether
 * or not the handler ever returns: nothing that it does can commit any more.
 */
final class TransactionalRunner {
  /** A slow delivery keeps the effects of the others invisible, and their rows locked. */
  private static final Duration MOST_SHARED_TIME = Duration.ofMillis(20);

  private static final Duration NO_SHARING_AFTER_DEADLOCK = Duration.ofMinutes(1);

  private static final Duration FIRST_QUESTION = Duration.ofSeconds(1);
  private static final Duration LONGEST_PAUSE = Duration.ofMinutes(1);

  /** The attempts of one transaction. Whoever closes it settles them; the other comes too late. */
  private final class Unit implements Transactions.Work {
    final HandlerLine line;
    final List<Work> group;
    final boolean shared;
    final Queue<Work> rest;
    final Map<Delivery, Attempt> attempts = new HashMap<>();
    private boolean closed; // guarded by this
    private @Nullable Long began;
    private boolean enough;

    /**
     * @param shared whether a failure means "redo one by one" instead of a failure of the delivery
     * @param rest what this thread will run after it, unless it never comes back
     */
    Unit(HandlerLine line, List<Work> group, boolean shared, Queue<Work> rest) {
      this.line = line;
      this.group = group;
      this.shared = shared;
      this.rest = rest;
    }

    Attempt attempt(Delivery delivery) {
      Attempt attempt = attempts.get(delivery);
      if (attempt == null) {
        throw new IllegalStateException("a delivery was run that nobody asked for");
      }
      return attempt;
    }

    @Override
    public void run(Delivery delivery, Connection connection) throws Exception {
      if (began == null) {
        began = System.nanoTime();
      }
      invoke(this, delivery, connection);
    }

    @Override
    public String handler() {
      return line.handler.key();
    }

    @Override
    public Optional<Duration> timeLimit() {
      return Optional.ofNullable(line.handler.spec().timeout());
    }

    /** Once it has had enough, it stays so. */
    @Override
    public boolean enough() {
      enough |= began != null && System.nanoTime() - began > MOST_SHARED_TIME.toNanos();
      return enough;
    }

    synchronized boolean close() {
      boolean first = !closed;
      closed = true;
      return first;
    }

    synchronized boolean closed() {
      return closed;
    }
  }

  record Transaction(Connection connection, Attempt attempt) implements HandlerTransaction<Object> {
    @Override
    public Received<Object> delivery() {
      return attempt;
    }

    @Override
    public String publish(Message message) {
      return attempt.outgoing().stage(attempt, connection, message);
    }
  }

  private final Transactions store;
  private final Runner runner;
  private final Interception interception;
  private final Timeouts timeouts;
  private final Endings endings;
  private final Runner.Surroundings surroundings;
  private final Map<String, Long> sharingOffUntil = new ConcurrentHashMap<>();

  TransactionalRunner(
      Transactions store,
      Runner runner,
      Interception interception,
      Timeouts timeouts,
      Endings endings,
      Runner.Surroundings surroundings) {
    this.store = store;
    this.runner = runner;
    this.interception = interception;
    this.timeouts = timeouts;
    this.endings = endings;
    this.surroundings = surroundings;
  }

  /** Runs a group to its end on the calling thread, in few transactions where it may. */
  void run(HandlerLine line, List<Work> group) {
    List<Work> left = sorted(group);
    while (left.size() > 1 && mayShare(line)) {
      List<Work> again = runUnit(new Unit(line, left, true, new ConcurrentLinkedQueue<>()));
      if (again.size() == left.size()) {
        break; // rolled back
      }
      left = again;
    }
    Queue<Work> rest = new ConcurrentLinkedQueue<>(left);
    for (Work next = rest.poll(); next != null; next = rest.poll()) {
      if (group.size() > 1 && line.breaker.paused()) {
        surroundings.notStarted(next); // one alone is there to find out
        continue;
      }
      runUnit(new Unit(line, List.of(next), false, rest));
    }
  }

  private boolean mayShare(HandlerLine line) {
    Long offUntil = sharingOffUntil.get(line.handler.key());
    return offUntil == null || System.nanoTime() - offUntil > 0;
  }

  /**
   * One transaction.
   *
   * @return what must be run again: all of a shared group that failed, the rest of one that took
   *     its time
   */
  private List<Work> runUnit(Unit unit) {
    for (Work work : unit.group) {
      unit.attempts.put(work.delivery(), runner.begin(unit.line, work));
    }
    try {
      if (!runner.mayStart(unit.group)) {
        unit.attempts.values().forEach(runner::abandon);
        return List.of();
      }
      return commit(unit);
    } finally {
      unit.attempts.values().forEach(Attempt::endedSomehow);
      runner.running().removeAll(unit.attempts.values()); // last, as for a plain attempt
    }
  }

  private List<Work> commit(Unit unit) {
    Set<Delivery> done;
    try {
      done = store.run(unit.group.stream().map(Work::delivery).toList(), unit);
    } catch (Transactions.WorkFailedException e) {
      Throwable cause = e.getCause() == null ? e : e.getCause();
      StoreException publishing = unit.attempt(e.delivery()).outgoing().failure();
      return publishing == null || Endings.decides(cause)
          ? failedUnit(unit, cause)
          : failedStore(unit, publishing);
    } catch (StoreException e) {
      return failedStore(unit, e);
    } catch (Throwable e) {
      return failedUnit(unit, e); // an Error that nobody may swallow
    }
    return committed(unit, done);
  }

  /** Whatever goes wrong from here on, what is done has not failed. */
  private List<Work> committed(Unit unit, Set<Delivery> done) {
    release(unit);
    List<Work> left = new ArrayList<>();
    for (Work work : unit.group) {
      if (done.contains(work.delivery())) {
        surroundings.completedInTransaction(
            new Settlement(work.delivery(), new Outcome.Completed()));
      } else if (unit.enough) {
        left.add(work);
      } else {
        surroundings.notOurs(work.delivery());
      }
    }
    for (Work work : unit.group) {
      if (done.contains(work.delivery())) {
        unit.attempt(work.delivery()).outgoing().committed();
        endings.committed(unit.attempt(work.delivery()));
      }
    }
    return left;
  }

  private List<Work> failedStore(Unit unit, StoreException e) {
    release(unit);
    if (!unit.close()) {
      return List.of(); // its handler came back too late
    }
    if (unit.shared) {
      if (e.deadlock()) {
        sharingOffUntil.put(
            unit.line.handler.key(), System.nanoTime() + NO_SHARING_AFTER_DEADLOCK.toNanos());
      }
      return unit.group;
    }
    for (Work work : unit.group) {
      Attempt attempt = unit.attempt(work.delivery());
      StoreException refused = attempt.outgoing().refused();
      if (attempt.state() == Attempt.State.TIMED_OUT || attempt.state() == Attempt.State.CUT) {
        settleFailed(attempt, e);
      } else if (refused != null) {
        settleFailed(attempt, refused); // no other attempt would help, so it counts
      } else {
        endings.storeFailed(attempt, e);
      }
    }
    return List.of();
  }

  private List<Work> failedUnit(Unit unit, Throwable cause) {
    release(unit);
    boolean inTime = unit.close();
    if (inTime && !unit.shared) {
      unit.attempts.values().forEach(attempt -> settleFailed(attempt, cause));
    }
    if (cause instanceof OutOfMemoryError) {
      surroundings.fatal(cause);
    }
    return unit.shared && inTime ? unit.group : List.of();
  }

  private void invoke(Unit unit, Delivery delivery, Connection connection) throws Exception {
    BoundHandler handler = unit.line.handler;
    Attempt attempt = unit.attempt(delivery);
    TransactionalHandler<Object> body = handler.spec().transactional();
    if (body == null) {
      throw new IllegalStateException("a plain handler was to be run in a transaction");
    }
    attempt.using(connection);
    if (attempt.state() == Attempt.State.CUT) {
      throw new IllegalStateException("the inbox stopped while the attempt waited for the store");
    }
    runner.startClock(unit.line, attempt, () -> giveUpOnceFree(unit, attempt, FIRST_QUESTION));
    CrashPoints.reach("run.before-handler");
    runner.decode(attempt);
    interception.call(
        attempt, () -> body.handle(attempt.payload(), new Transaction(connection, attempt)));
    attempt.outgoing().stageAll(attempt, connection);
    CrashPoints.reach("run.after-handler");
    // From here on the receipt commits: a timeout that has not struck yet is too late.
    if (!attempt.end(Attempt.State.ENDED)) {
      throw new InboxException(
          ErrorCode.HANDLER_TIMED_OUT,
          ("The handler '%s' returned after its time was up. Make it faster, or give it more time"
                  + " with within(…).")
              .formatted(handler.key()));
    }
  }

  /** Its connection is aborted; a settle before the server has noticed would wait for the row. */
  private void giveUpOnceFree(Unit unit, Attempt late, Duration pause) {
    if (unit.closed()) {
      return;
    }
    surroundings.askWhetherFree(
        late.work.delivery(),
        free -> {
          if (free) {
            giveUp(unit, late);
          } else {
            Duration twice = pause.multipliedBy(2);
            Duration next = twice.compareTo(LONGEST_PAUSE) < 0 ? twice : LONGEST_PAUSE;
            timeouts.later(pause, () -> giveUpOnceFree(unit, late, next));
          }
        });
  }

  /** The one that takes too long has failed; those that shared its transaction run again. */
  private void giveUp(Unit unit, Attempt late) {
    if (!unit.close()) {
      return;
    }
    for (Attempt attempt : unit.attempts.values()) {
      if (attempt == late) {
        endings.failed(attempt, Runner.tookTooLong(attempt, null));
      } else {
        surroundings.notOurs(attempt.work.delivery());
        runner.running().remove(attempt);
      }
    }
    for (Work next = unit.rest.poll(); next != null; next = unit.rest.poll()) {
      surroundings.notStarted(next);
    }
  }

  private void release(Unit unit) {
    for (Attempt attempt : unit.attempts.values()) {
      attempt.leave();
      timeouts.forget(attempt);
      attempt.using(null);
      // From here on a timeout is too late to take the slot, which nobody would give back.
      if (!attempt.end(Attempt.State.ENDED) && attempt.state() == Attempt.State.TIMED_OUT) {
        runner.slotFreed(unit.line);
      }
    }
    timeouts.tidyThread();
  }

  /** After a rollback: a timeout that struck meanwhile is the failure, whatever came of it. */
  private void settleFailed(Attempt attempt, Throwable cause) {
    if (attempt.state() == Attempt.State.CUT) {
      surroundings.notOurs(attempt.work.delivery());
      return;
    }
    if (attempt.state() == Attempt.State.TIMED_OUT) {
      cause = Runner.tookTooLong(attempt, cause);
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
