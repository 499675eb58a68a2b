package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Failure;
import dev.pigeonhole.HandlerTransaction;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.MessageHandler;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.Received;
import dev.pigeonhole.RetryLaterException;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.TransactionalHandler;
import dev.pigeonhole.codec.CodecException;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.internal.registry.BoundHandler;
import dev.pigeonhole.internal.registry.Hashes;
import dev.pigeonhole.internal.registry.Names;
import dev.pigeonhole.internal.registry.Payloads;
import dev.pigeonhole.store.CrashPoints;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.Settlement;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.store.StoredMessage;
import dev.pigeonhole.store.Transactions;
import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs attempts: decodes a copy of the payload, calls the handler, and says how it ended. Whatever
 * a handler throws ends its own attempt and nothing else.
 */
final class Runner {
  private static final Logger LOG = LoggerFactory.getLogger(Runner.class);
  private static final Duration NO_SHARING_AFTER_DEADLOCK = Duration.ofMinutes(1);
  private static final Duration AFTER_STORE_ERROR = Duration.ofMillis(500);
  private static final Duration LONGEST_WAIT = Duration.ofDays(3653);

  /** What an attempt needs of the engine around it. */
  interface Surroundings {
    /** Whether this node may start work: it has beaten lately and is not stopping. */
    boolean mayStart();

    /** A slot has begun with it. */
    void begun(Delivery delivery);

    /** The work was handed to a slot but not begun. */
    void notStarted(Work work);

    /** A transactional unit has committed: the delivery is settled already. */
    void completedInTransaction(Settlement settlement);

    /** The rows were not ours to run: somebody else has or had them. */
    void notOurs(Delivery delivery);

    /** The JVM is out of memory: stop this node while it can still be stopped. */
    void fatal(Throwable error);
  }

  private final Payloads payloads;
  private final @Nullable Transactions transactions;
  private final Settler settler;
  private final Timeouts timeouts;
  private final Events events;
  private final RetryPolicy defaultRetry;
  private final InstantSource clock;
  private final BooleanSupplier stopping;
  private final Surroundings surroundings;
  private final Set<Attempt> running = ConcurrentHashMap.newKeySet();
  private final Map<String, Long> sharingOffUntil = new ConcurrentHashMap<>();

  Runner(
      Payloads payloads,
      @Nullable Transactions transactions,
      Settler settler,
      Timeouts timeouts,
      Events events,
      RetryPolicy defaultRetry,
      InstantSource clock,
      BooleanSupplier stopping,
      Surroundings surroundings) {
    this.payloads = payloads;
    this.transactions = transactions;
    this.settler = settler;
    this.timeouts = timeouts;
    this.events = events;
    this.defaultRetry = defaultRetry;
    this.clock = clock;
    this.stopping = stopping;
    this.surroundings = surroundings;
  }

  /** Attempts under way now. */
  Set<Attempt> running() {
    return running;
  }

  /** Runs a group to its end on the calling thread; of one, unless the handler shares commits. */
  void run(HandlerLine line, List<Work> group) {
    if (!surroundings.mayStart()) {
      group.forEach(surroundings::notStarted);
    } else if (line.handler.spec().isTransactional()) {
      runInTransaction(line, group);
    } else {
      group.forEach(work -> runPlain(line, work));
    }
  }

  private void runPlain(HandlerLine line, Work work) {
    if (!surroundings.mayStart()) {
      surroundings.notStarted(work);
      return;
    }
    Attempt attempt = begin(line, work);
    if (!surroundings.mayStart()) {
      abandon(attempt); // a stop that began in between has not seen it running
      return;
    }
    Throwable thrown = null;
    try {
      startClock(line, attempt);
      CrashPoints.reach("run.before-handler");
      MessageHandler<Object> plain = line.handler.spec().plain();
      if (plain != null && decode(attempt)) {
        plain.handle(attempt);
      }
      CrashPoints.reach("run.after-handler");
    } catch (Throwable e) {
      thrown = e;
    }
    end(line, attempt, thrown);
  }

  private Attempt begin(HandlerLine line, Work work) {
    Attempt attempt = new Attempt(work, line.handler, stopping);
    running.add(attempt);
    surroundings.begun(work.delivery());
    return attempt;
  }

  /** The time of an attempt is the handler's own: waiting for the store does not count. */
  private void startClock(HandlerLine line, Attempt attempt) {
    attempt.started();
    Duration timeout = line.handler.spec().timeout();
    if (timeout != null) {
      timeouts.watch(attempt, timeout, () -> timedOut(line, attempt, timeout));
    }
  }

  private void abandon(Attempt attempt) {
    attempt.leave();
    timeouts.forget(attempt);
    running.remove(attempt);
    surroundings.notStarted(attempt.work);
  }

  private void end(HandlerLine line, Attempt attempt, @Nullable Throwable thrown) {
    attempt.leave();
    timeouts.forget(attempt);
    timeouts.tidyThread();
    if (attempt.end(Attempt.State.ENDED)) {
      if (thrown == null) {
        completed(attempt);
      } else {
        failed(attempt, thrown);
      }
    } else if (attempt.state() == Attempt.State.TIMED_OUT) {
      line.slotFreed();
    }
    running.remove(attempt); // last: a stop that sees nothing running must find its outcome
    if (thrown instanceof OutOfMemoryError) {
      surroundings.fatal(thrown);
    }
  }

  /** On the timer's thread. The slot is replaced; whatever the handler still does is refused. */
  private void timedOut(HandlerLine line, Attempt attempt, Duration timeout) {
    int stuckNow;
    synchronized (attempt) { // so that a handler which returns just now frees the slot after this
      if (!attempt.end(Attempt.State.TIMED_OUT)) {
        return;
      }
      stuckNow = line.slotStuck();
    }
    failed(
        attempt,
        new InboxException(
            ErrorCode.HANDLER_TIMED_OUT,
            "The attempt took longer than %s, the limit of handler '%s'. It was told to stop."
                .formatted(timeout, line.handler.key())));
    events.tell(
        new InboxEvent.Stuck(events.inbox(), line.handler.key(), attempt.message(), stuckNow));
    line.wakeWorkers();
  }

  private void runInTransaction(HandlerLine line, List<Work> group) {
    Transactions store = transactions;
    if (store == null) {
      group.forEach(surroundings::notStarted);
      return;
    }
    Long offUntil = sharingOffUntil.get(line.handler.key());
    boolean share = offUntil == null || System.nanoTime() - offUntil > 0;
    if (group.size() > 1 && share) {
      if (!runUnit(store, line, sorted(group), true)) {
        group.forEach(work -> runUnit(store, line, List.of(work), false));
      }
    } else {
      group.forEach(work -> runUnit(store, line, List.of(work), false));
    }
  }

  /**
   * One transaction.
   *
   * @param shared whether a failure means "redo one by one" instead of a failure of the delivery
   * @return false if nothing was settled and the group must be redone
   */
  private boolean runUnit(Transactions store, HandlerLine line, List<Work> group, boolean shared) {
    Map<Delivery, Attempt> attempts = new HashMap<>();
    for (Work work : group) {
      attempts.put(work.delivery(), begin(line, work));
    }
    try {
      if (!surroundings.mayStart()) {
        attempts.values().forEach(this::abandon);
        return true;
      }
      return runUnit(store, line, group, shared, attempts);
    } finally {
      running.removeAll(attempts.values()); // last, as for a plain attempt
    }
  }

  private boolean runUnit(
      Transactions store,
      HandlerLine line,
      List<Work> group,
      boolean shared,
      Map<Delivery, Attempt> attempts) {
    try {
      Set<Delivery> done =
          store.run(
              group.stream().map(Work::delivery).toList(),
              (delivery, connection) -> invoke(line, attempts, delivery, connection));
      for (Work work : group) {
        Attempt attempt = release(line, attempts, work);
        if (done.contains(work.delivery())) {
          surroundings.completedInTransaction(
              new Settlement(work.delivery(), new Outcome.Completed()));
          tellCompleted(attempt);
        } else {
          surroundings.notOurs(work.delivery());
        }
      }
      return true;
    } catch (Transactions.WorkFailedException e) {
      return failedUnit(line, attempts, group, shared, e.getCause() == null ? e : e.getCause());
    } catch (StoreException e) {
      group.forEach(work -> release(line, attempts, work));
      if (shared) {
        if (e.deadlock()) {
          sharingOffUntil.put(
              line.handler.key(), System.nanoTime() + NO_SHARING_AFTER_DEADLOCK.toNanos());
        }
        return false;
      }
      if (e.kind() == StoreException.Kind.PERMANENT) {
        LOG.warn("The store refuses to run handler {}", line.handler.key(), e);
      } else {
        LOG.debug("The store failed under handler {}; it does not count", line.handler.key(), e);
      }
      for (Work work : group) {
        Attempt attempt = attempts.get(work.delivery());
        if (attempt != null
            && (attempt.state() == Attempt.State.TIMED_OUT
                || attempt.state() == Attempt.State.CUT)) {
          settleFailed(attempt, e);
        } else if (e.kind() == StoreException.Kind.UNKNOWN) {
          surroundings.notOurs(work.delivery()); // reading again tells
        } else {
          settler.add(
              new Settlement(work.delivery(), new Outcome.LaterUncounted(AFTER_STORE_ERROR)), null);
        }
      }
      return true;
    } catch (Throwable e) {
      return failedUnit(line, attempts, group, shared, e); // an Error that nobody may swallow
    }
  }

  private boolean failedUnit(
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
    return !shared;
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
    startClock(line, attempt);
    CrashPoints.reach("run.before-handler");
    if (decode(attempt)) {
      body.handle(attempt.payload(), new Transaction(connection, attempt));
    }
    CrashPoints.reach("run.after-handler");
    // From here on the receipt commits: a timeout that has not struck yet is too late.
    if (!attempt.end(Attempt.State.ENDED)) {
      throw new InboxException(
          ErrorCode.HANDLER_TIMED_OUT,
          "The handler '%s' returned after its time was up.".formatted(handler.key()));
    }
  }

  private record Transaction(Connection connection, Received<Object> delivery)
      implements HandlerTransaction<Object> {}

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
    settle(attempt, cause);
  }

  private boolean decode(Attempt attempt) {
    StoredMessage message = attempt.work.message();
    if (!Arrays.equals(
        message.contentHash(), Hashes.content(message.contentType(), message.content()))) {
      throw new CodecException(
          ErrorCode.PAYLOAD_CORRUPT,
          "The stored content of %s is not what was accepted: it was changed in the database."
              .formatted(Names.shown(message.id())),
          null);
    }
    if (!attempt.handler.type().answersTo(message.type())) {
      throw new CodecException(
          ErrorCode.PAYLOAD_TYPE_REFUSED,
          "Handler '%s' does not take messages of type '%s'. Add the name with .named(\"%s\", …)."
              .formatted(
                  attempt.handler.key(),
                  Names.shown(message.type()),
                  attempt.handler.type().name()),
          null);
    }
    try {
      attempt.decoded(
          payloads.decode(message.content(), message.contentType(), attempt.handler.type().type()));
    } catch (CodecException e) {
      throw e;
    } catch (RuntimeException e) {
      throw new CodecException(
          ErrorCode.PAYLOAD_UNDECODABLE,
          "The codec failed on the content: " + e.getClass().getName(),
          e);
    }
    return true;
  }

  private void completed(Attempt attempt) {
    settler.add(
        new Settlement(attempt.work.delivery(), new Outcome.Completed()),
        events.silent() ? null : () -> tellCompleted(attempt));
  }

  private void tellCompleted(Attempt attempt) {
    if (events.silent()) {
      return;
    }
    Duration lag = Duration.between(attempt.receivedAt(), clock.instant());
    events.tell(
        new InboxEvent.Completed(
            events.inbox(),
            attempt.handler.key(),
            attempt.message(),
            attempt.attempt(),
            attempt.took(),
            lag.isNegative() ? Duration.ZERO : lag));
  }

  private void failed(Attempt attempt, Throwable thrown) {
    // A timed-out transaction settles when its transaction is over, not beside it.
    if (attempt.state() == Attempt.State.TIMED_OUT && attempt.handler.spec().isTransactional()) {
      return;
    }
    settle(attempt, thrown);
  }

  private void settle(Attempt attempt, Throwable thrown) {
    Delivery delivery = attempt.work.delivery();
    try {
      Instant now = clock.instant();
      Failure failure = Failures.of(thrown, now);
      Outcome outcome = judge(attempt, thrown, failure);
      settler.add(new Settlement(delivery, outcome), () -> tellFailed(attempt, outcome, failure));
    } catch (Throwable e) {
      // An attempt that nobody settles would stay open until the process ends.
      settler.add(new Settlement(delivery, new Outcome.LaterUncounted(AFTER_STORE_ERROR)), null);
      LOG.error("The end of an attempt of '{}' could not be judged", attempt.handler.key(), e);
    }
  }

  private Outcome judge(Attempt attempt, Throwable thrown, Failure failure) {
    int failures = attempt.work.delivery().failures() + 1;
    RetryPolicy chosen = attempt.handler.spec().retry();
    RetryPolicy policy = chosen == null ? defaultRetry : chosen;
    if (thrown instanceof CodecException) {
      return new Outcome.Poisoned(failure, false);
    }
    if (thrown instanceof PoisonException) {
      return new Outcome.Poisoned(failure, true);
    }
    if (thrown instanceof RetryLaterException later) {
      if (!later.counted()) {
        return new Outcome.LaterUncounted(bounded(later.delay()));
      }
      return failures >= policy.maxAttempts()
          ? new Outcome.Poisoned(failure, true)
          : new Outcome.RetryAfter(bounded(later.delay()), failure);
    }
    RetryPolicy.Decision decision =
        policy.after(failures, thrown, random(policy, attempt.work.delivery()));
    if (decision instanceof RetryPolicy.Decision.Retry retry) {
      return new Outcome.RetryAfter(retry.delay(), failure);
    }
    return new Outcome.Poisoned(failure, true);
  }

  /** A wait that no store can add to its time would keep every settle of its batch. */
  private static Duration bounded(Duration asked) {
    if (asked.isNegative()) {
      return Duration.ZERO;
    }
    return asked.compareTo(LONGEST_WAIT) > 0 ? LONGEST_WAIT : asked;
  }

  /** Seeded policies give the same waits for the same delivery, whichever thread asks first. */
  private static RandomGenerator random(RetryPolicy policy, Delivery delivery) {
    if (policy.seed().isEmpty()) {
      return ThreadLocalRandom.current();
    }
    return new SplittableRandom(
        policy.seed().getAsLong() + 31 * delivery.seq() + delivery.failures());
  }

  private void tellFailed(Attempt attempt, Outcome outcome, Failure failure) {
    if (outcome instanceof Outcome.LaterUncounted) {
      return; // nothing went wrong: the handler only asked for another time
    }
    String handler = attempt.handler.key();
    if (outcome instanceof Outcome.Poisoned) {
      LOG.warn(
          "Delivery of {} to '{}' is poisoned after attempt {}: {} {}",
          Names.shown(attempt.message().toString()),
          handler,
          attempt.attempt(),
          failure.code().text(),
          failure.type());
      events.tell(
          new InboxEvent.Poisoned(
              events.inbox(), handler, attempt.message(), attempt.attempt(), failure));
    } else {
      Duration next = outcome instanceof Outcome.RetryAfter retry ? retry.delay() : Duration.ZERO;
      events.tell(
          new InboxEvent.Failed(
              events.inbox(), handler, attempt.message(), attempt.attempt(), failure, next));
    }
  }

  /**
   * Cuts what still runs after the grace period: plain attempts are released uncounted, a
   * transaction rolls back with its connection.
   */
  void cut(Consumer<Attempt> interrupt) {
    for (Attempt attempt : running) {
      if (!attempt.end(Attempt.State.CUT)) {
        continue;
      }
      attempt.requestStop();
      interrupt.accept(attempt);
      Delivery delivery = attempt.work.delivery();
      if (attempt.handler.spec().isTransactional()) {
        timeouts.abort(attempt);
        continue;
      }
      int releases = delivery.releases() + 1;
      settler.add(
          new Settlement(delivery, new Outcome.Released()),
          () -> {
            if (releases % 10 == 0) {
              LOG.warn(
                  "Delivery of {} to '{}' was cut by a shutdown for the {}th time; is its handler"
                      + " slower than the grace period?",
                  Names.shown(attempt.message().toString()),
                  attempt.handler.key(),
                  releases);
            }
            events.tell(
                new InboxEvent.Released(
                    events.inbox(), attempt.handler.key(), attempt.message(), releases));
          });
    }
  }

  private static List<Work> sorted(List<Work> group) {
    return group.stream()
        .sorted(
            Comparator.comparingInt((Work work) -> work.delivery().cell().handler())
                .thenComparingLong(work -> work.delivery().seq()))
        .toList();
  }
}
