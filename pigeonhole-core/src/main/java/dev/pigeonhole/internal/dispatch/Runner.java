package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.MessageHandler;
import dev.pigeonhole.codec.CodecException;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.internal.registry.BatchSpec;
import dev.pigeonhole.internal.registry.Hashes;
import dev.pigeonhole.internal.registry.Names;
import dev.pigeonhole.internal.registry.Payloads;
import dev.pigeonhole.store.CrashPoints;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.Settlement;
import dev.pigeonhole.store.StoredMessage;
import dev.pigeonhole.store.Transactions;
import dev.pigeonhole.transport.Publisher;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs attempts: decodes a copy of the payload, calls the handler, and leaves it to {@link Endings}
 * to judge how that went. Whatever a handler throws ends its own attempt and nothing else.
 */
final class Runner {
  /** What an attempt needs of the engine around it. */
  interface Surroundings {
    /**
     * Whether this node may start the work: it has beaten lately, is not stopping, and has not been
     * taken for dead since it took the work's cell.
     */
    boolean mayStart(Work work);

    /** A slot has begun with it. */
    void begun(Delivery delivery);

    /** Whether a slot has begun with it and its outcome is not recorded yet. */
    boolean hasBegun(Delivery delivery);

    /** The work was handed to a slot but not begun. */
    void notStarted(Work work);

    /** A transactional unit has committed: the delivery is settled already. */
    void completedInTransaction(Settlement settlement);

    /** The rows were not ours to run: somebody else has or had them. */
    void notOurs(Delivery delivery);

    /**
     * Finds out whether the row is still at its version with no transaction holding it, and
     * answers, possibly on another thread.
     */
    void askWhetherFree(Delivery delivery, Consumer<Boolean> answer);

    /** The JVM is out of memory: stop this node while it can still be stopped. */
    void fatal(Throwable error);
  }

  private static final Logger LOG = LoggerFactory.getLogger(Runner.class);

  private final Payloads payloads;
  private final Interception interception;
  private final Endings endings;
  private final Timeouts timeouts;
  private final Events events;
  private final BooleanSupplier stopping;
  private final Surroundings surroundings;
  private final Set<Attempt> running = ConcurrentHashMap.newKeySet();
  private final BatchRunner batches;
  private final @Nullable Publisher outbox;
  private final PublishingEnd publishing;
  private final @Nullable TransactionalRunner transactional;

  /**
   * @param transactions null for a store without them
   * @param outbox where handlers publish; null for nowhere
   */
  Runner(
      Payloads payloads,
      Interception interception,
      @Nullable Transactions transactions,
      @Nullable Publisher outbox,
      Endings endings,
      Timeouts timeouts,
      Events events,
      BooleanSupplier stopping,
      Surroundings surroundings) {
    this.payloads = payloads;
    this.interception = interception;
    this.endings = endings;
    this.timeouts = timeouts;
    this.events = events;
    this.stopping = stopping;
    this.surroundings = surroundings;
    this.outbox = outbox;
    this.publishing = new PublishingEnd(transactions, endings, surroundings);
    this.batches = new BatchRunner(this, interception, timeouts);
    this.transactional =
        transactions == null
            ? null
            : new TransactionalRunner(
                transactions, this, interception, timeouts, endings, surroundings);
  }

  /** Attempts under way now. */
  Set<Attempt> running() {
    return running;
  }

  /** Runs a group to its end on the calling thread; of one, unless the handler shares commits. */
  void run(HandlerLine line, List<Work> group) {
    try {
      runGroup(line, group);
    } catch (OutOfMemoryError e) { // of ours: what has no end yet may be read again
      giveBack(group);
      reportFatal(e);
      LOG.error("Attempts of '{}' could not be run", line.handler.key(), e);
    }
  }

  /** All but those whose attempt is over: their outcome is on its way. */
  private void giveBack(List<Work> group) {
    for (int i = 0; i < group.size(); i++) {
      Work work = group.get(i);
      boolean over = surroundings.hasBegun(work.delivery());
      for (Attempt attempt : running) {
        if (attempt.work == work) {
          over = attempt.hasOutcome();
          running.remove(attempt);
        }
      }
      if (!over) {
        surroundings.notStarted(work);
      }
    }
  }

  private void runGroup(HandlerLine line, List<Work> group) {
    if (!mayStart(group)) {
      group.forEach(surroundings::notStarted);
    } else if (line.handler.spec().batch() != null) {
      batches.run(line, line.handler.spec().batch(), group);
    } else if (!line.handler.spec().isTransactional()) {
      group.forEach(work -> runPlain(line, work));
    } else if (transactional != null) {
      transactional.run(line, group);
    } else {
      group.forEach(work -> end(line, begin(line, work), withoutTransactions(line)));
    }
  }

  /**
   * Inboxes are not built with such a handler; if one is, its deliveries shall not wait silently.
   */
  private static IllegalStateException withoutTransactions(HandlerLine line) {
    return new IllegalStateException(
        "handler '%s' needs a transaction, and the store has none".formatted(line.handler.key()));
  }

  private void runPlain(HandlerLine line, Work work) {
    if (!surroundings.mayStart(work)) {
      surroundings.notStarted(work);
      return;
    }
    Attempt attempt = begin(line, work);
    if (!surroundings.mayStart(work)) {
      abandon(attempt); // a stop that began in between has not seen it running
      return;
    }
    Throwable thrown = null;
    try {
      startClock(line, attempt, () -> {});
      CrashPoints.reach("run.before-handler");
      MessageHandler<Object> plain =
          Objects.requireNonNull(line.handler.spec().plain(), "neither plain nor transactional");
      decode(attempt);
      interception.call(attempt, () -> plain.handle(attempt));
      CrashPoints.reach("run.after-handler");
    } catch (Throwable e) {
      thrown = e;
    }
    end(line, attempt, thrown);
  }

  /** Makes the attempt known to a shutdown, which may stop it. */
  Attempt begin(HandlerLine line, Work work) {
    Attempt attempt = new Attempt(events.inbox(), work, line.handler, line.breaker, stopping);
    attempt.publishTo(outbox);
    running.add(attempt);
    surroundings.begun(work.delivery());
    return attempt;
  }

  /**
   * The time of an attempt is the handler's own: waiting for the store does not count.
   *
   * @param aborted is called when the connection was taken away from one that took too long
   */
  void startClock(HandlerLine line, Attempt attempt, Runnable aborted) {
    attempt.started();
    Duration timeout = line.handler.spec().timeout();
    if (timeout != null) {
      timeouts.watch(attempt, timeout, () -> timedOut(line, attempt), aborted);
    }
  }

  /** The opposite of {@link #begin}: the handler was not called. */
  void abandon(Attempt attempt) {
    attempt.leave();
    timeouts.forget(attempt);
    running.remove(attempt);
    surroundings.notStarted(attempt.work);
  }

  private void end(HandlerLine line, Attempt attempt, @Nullable Throwable thrown) {
    attempt.leave();
    timeouts.forget(attempt);
    timeouts.tidyThread();
    settle(attempt, thrown);
    if (attempt.state() == Attempt.State.TIMED_OUT) {
      slotFreed(line);
    }
    reportFatal(thrown);
  }

  /** A stuck attempt has ended after all. */
  void slotFreed(HandlerLine line) {
    int stuckNow = line.slotFreed();
    events.tell(new InboxEvent.Unstuck(events.inbox(), line.handler.key(), stuckNow));
  }

  /** Writes down how a plain attempt ended, unless a timeout or a stop has done so already. */
  void settle(Attempt attempt, @Nullable Throwable thrown) {
    boolean ours = attempt.end(Attempt.State.ENDED);
    try {
      if (ours && thrown != null) {
        endings.failed(attempt, thrown);
      } else if (ours && attempt.outgoing().isWaiting()) {
        publishing.complete(attempt);
      } else if (ours) {
        endings.completed(attempt);
      }
      attempt.endedSomehow();
    } catch (Throwable e) {
      endings.lost(attempt, e);
      if (!(e instanceof OutOfMemoryError)) {
        throw e;
      }
    } finally {
      running.remove(attempt); // last: a stop that sees nothing running must find its outcome
    }
  }

  /** It has no end but this one: whatever the handler does from now on is refused. */
  void failedByTimeout(Attempt attempt) {
    try {
      endings.failed(attempt, tookTooLong(attempt, null));
    } catch (Throwable e) {
      endings.lost(attempt, e);
    }
  }

  /** Whether all of them may be started. */
  boolean mayStart(List<Work> group) {
    return group.stream().allMatch(surroundings::mayStart);
  }

  void reportFatal(@Nullable Throwable thrown) {
    if (thrown instanceof OutOfMemoryError) {
      surroundings.fatal(thrown);
    }
  }

  /** On the timer's thread. The slot is replaced; whatever the handler still does is refused. */
  void timedOut(HandlerLine line, Attempt attempt) {
    int stuckNow;
    synchronized (attempt) { // so that a handler which returns just now frees the slot after this
      if (!attempt.end(Attempt.State.TIMED_OUT)) {
        return;
      }
      stuckNow = line.slotStuck();
    }
    if (!line.handler.spec().isTransactional()) { // else it settles when its transaction is over
      failedByTimeout(attempt);
    }
    events.tell(
        new InboxEvent.Stuck(events.inbox(), line.handler.key(), attempt.message(), stuckNow));
    line.wakeWorkers();
  }

  /** What a handler has failed with that was told to stop. */
  static InboxException tookTooLong(Attempt attempt, @Nullable Throwable cause) {
    return new InboxException(
        ErrorCode.HANDLER_TIMED_OUT,
        ("The attempt took longer than %s, the limit of handler '%s'. It was told to stop. Make the"
                + " handler faster, or give it more time with within(…).")
            .formatted(attempt.handler.spec().timeout(), attempt.handler.key()),
        cause);
  }

  /** Gives the attempt a payload of its own. */
  void decode(Attempt attempt) {
    StoredMessage message = attempt.work.message();
    boolean missing = message.content() == null;
    if (!Arrays.equals(
        message.contentHash(), Hashes.content(message.contentType(), message.content()))) {
      if (missing) {
        throw new CodecException(
            ErrorCode.PAYLOAD_DROPPED,
            ("The content of %s is gone: keepPayload dropped it before this handler had it. Send"
                    + " the message again under a new id, or keep payloads for longer.")
                .formatted(Names.shown(message.id())),
            null);
      }
      throw new CodecException(
          ErrorCode.PAYLOAD_CORRUPT,
          ("The stored content of %s is not what was accepted: it was changed in the database."
                  + " Restore it from a backup, or send the message again under a new id.")
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
    BatchSpec batch = attempt.handler.spec().batch();
    if (batch != null && batch.encoded()) {
      byte[] content = message.content();
      attempt.decoded(content == null ? null : content.clone());
      return;
    }
    try {
      attempt.decoded(
          payloads.decode(
              message.content(), message.contentType(), attempt.handler.type(), message.type()));
    } catch (CodecException e) {
      throw e;
    } catch (RuntimeException e) {
      throw new CodecException(
          ErrorCode.PAYLOAD_UNDECODABLE,
          "The codec failed on the content: %s. Correct the content, or the codec, and retry."
              .formatted(e.getClass().getName()),
          e);
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
      if (attempt.handler.spec().isTransactional()) {
        timeouts.abort(attempt);
      } else {
        endings.released(attempt);
      }
    }
  }
}
