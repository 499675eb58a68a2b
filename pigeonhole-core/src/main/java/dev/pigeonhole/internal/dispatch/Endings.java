package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Failure;
import dev.pigeonhole.Interceptor.End;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.RetryLaterException;
import dev.pigeonhole.codec.CodecException;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.internal.registry.Backoff;
import dev.pigeonhole.internal.registry.BoundHandler;
import dev.pigeonhole.internal.registry.Names;
import dev.pigeonhole.internal.registry.Spans;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.Settlement;
import dev.pigeonhole.store.StoreException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.spi.LoggingEventBuilder;

/**
 * Decides the outcome of attempts, hands it to the settler, and notifies the listeners once it is
 * recorded.
 */
final class Endings {
  private static final Logger LOG = LoggerFactory.getLogger(Endings.class);
  private static final Duration AFTER_ERROR_OF_OURS = Duration.ofMillis(500);

  private final Settler settler;
  private final Events events;
  private final Backoff defaultRetry;
  private final InstantSource clock;
  private final LogLimit logLimit = new LogLimit(20, Duration.ofSeconds(1));
  private final Consumer<Attempt> soonAgain = this::soonAgain;
  private final Consumer<Attempt> completedWithoutEvent = this::completedWithoutEvent;
  private final LogLimit uncountedLogLimit = new LogLimit(20, Duration.ofSeconds(1));

  Endings(Settler settler, Events events, Backoff defaultRetry, InstantSource clock) {
    this.settler = settler;
    this.events = events;
    this.defaultRetry = defaultRetry;
    this.clock = clock;
  }

  void completed(Attempt attempt) {
    try {
      goOn(attempt);
      attempt.ended(End.COMPLETED, null);
    } finally {
      // Without a settle the attempt would stay open until the process ends.
      try {
        settle(attempt, new Outcome.Completed(), events.silent() ? null : completion(attempt));
      } catch (OutOfMemoryError e) { // the handler has run, so nothing but this is true
        Memory.tell(attempt, completedWithoutEvent);
        throw e;
      }
    }
  }

  private void completedWithoutEvent(Attempt attempt) {
    settle(attempt, new Outcome.Completed(), null);
  }

  /** For an attempt whose receipt has committed with its effects. */
  void committed(Attempt attempt) {
    goOn(attempt);
    attempt.ended(End.COMPLETED, null);
    tellCompleted(Told.of(attempt));
  }

  private void goOn(Attempt attempt) {
    if (attempt.breaker.succeeded()) {
      LOG.info("Handler '{}' of inbox {} works again", attempt.handler.key(), events.inbox());
      events.tell(new InboxEvent.HandlerResumed(events.inbox(), attempt.handler.key()));
    }
  }

  private Runnable completion(Attempt attempt) {
    Told told = Told.of(attempt);
    return () -> tellCompleted(told);
  }

  private void tellCompleted(Told told) {
    if (events.silent()) {
      return;
    }
    Duration lag = Duration.between(told.receivedAt(), clock.instant());
    events.tell(
        new InboxEvent.Completed(
            events.inbox(),
            told.handler().key(),
            told.message(),
            told.attempt(),
            told.took(),
            lag.isNegative() ? Duration.ZERO : lag));
  }

  /** Poisons the delivery or schedules a retry, by the policy of its handler. */
  void failed(Attempt attempt, Throwable thrown) {
    if (gaveWay(attempt, thrown)) {
      released(attempt);
      return;
    }
    try {
      Instant now = clock.instant();
      Failure failure = failure(attempt, thrown, now);
      Outcome outcome = judge(attempt, thrown, failure);
      attempt.ended(end(attempt, outcome), thrown);
      Told told = Told.of(attempt);
      settle(attempt, outcome, () -> tellFailed(told, outcome, failure));
    } catch (Throwable e) {
      lost(attempt, e);
    }
  }

  /**
   * Handles an error at the end of an attempt that the handler has not caused. If the settler has
   * no outcome of the attempt, it does not count and the delivery is run again; without a settle it
   * would stay open until the process ends.
   */
  void lost(Attempt attempt, Throwable why) {
    if (!attempt.hasOutcome()) {
      Memory.tell(attempt, soonAgain);
    }
    try {
      LOG.error(
          "No outcome for an attempt because of an internal error: handler={}",
          attempt.handler.key(),
          why);
    } catch (OutOfMemoryError e) {
      // The settler has the outcome; only the line is lost.
    }
  }

  private void soonAgain(Attempt attempt) {
    settle(attempt, new Outcome.LaterUncounted(AFTER_ERROR_OF_OURS), null);
  }

  private void settle(Attempt attempt, Outcome outcome, @Nullable Runnable event) {
    settler.add(new Settlement(attempt.work.delivery(), outcome), event);
    attempt.outcomeRecorded();
  }

  private static End end(Attempt attempt, Outcome outcome) {
    if (attempt.state() == Attempt.State.TIMED_OUT) {
      return End.TIMED_OUT;
    }
    return outcome instanceof Outcome.Poisoned ? End.POISONED : End.RETRIED;
  }

  /** Poisons a delivery without an attempt, because none could succeed. */
  void hopeless(
      Delivery row, BoundHandler handler, MessageRef message, ErrorCode code, String text) {
    Failure failure = Failures.of(code, text, clock.instant());
    settler.add(
        new Settlement(row, poisoned(handler, failure, false)),
        () -> {
          line(LOG.atWarn(), "poisoned", handler.key(), message, row.attempt(), failure)
              .log(
                  "Delivery of {} to '{}' is poisoned: {}",
                  Names.shown(message.toString()),
                  handler.key(),
                  Failures.line(failure));
          tellPoisoned(handler, message, row.attempt(), failure);
        });
  }

  /**
   * Handles an error of the store, which has rolled back the attempt. The attempt does not count as
   * a failure of the handler until {@code maxUncounted} attempts of the delivery are uncounted:
   * after that the handler probably causes the error itself. A permanent error of the store never
   * counts, and neither does an attempt that ended before the handler was called.
   *
   * <p>If the connection was lost, the transaction may have committed: then the store refuses this
   * outcome. While the server still holds the row, the outcome waits.
   */
  void storeFailed(Attempt attempt, StoreException e) {
    Delivery delivery = attempt.work.delivery();
    Backoff policy = policy(attempt.handler);
    int runs = delivery.releases() + 1;
    if (runs > policy.maxUncounted()
        && e.kind() != StoreException.Kind.PERMANENT
        && attempt.hasStarted()) {
      failed(attempt, e);
      return;
    }
    try {
      Failure failure = Failures.of(e, clock.instant());
      Duration wait = policy.delayAfterUncounted(runs, random(policy, delivery));
      attempt.ended(End.RELEASED, null);
      Told told = Told.of(attempt);
      settle(
          attempt,
          new Outcome.Uncounted(wait, failure),
          () -> tellUncounted(told, runs, failure, wait));
    } catch (Throwable error) {
      lost(attempt, error);
    }
  }

  /** Releases an attempt that a shutdown has cut, or that ended because of the stop request. */
  void released(Attempt attempt) {
    try {
      int releases = attempt.work.delivery().releases() + 1;
      attempt.ended(End.RELEASED, null);
      Told told = Told.of(attempt);
      settle(attempt, new Outcome.Released(), () -> tellReleased(told, releases));
    } catch (Throwable error) {
      lost(attempt, error);
    }
  }

  /**
   * Whether the handler threw because of a stop request. The exception does not show the reason, so
   * every exception after the request is taken for its consequence. The exceptions are a decision
   * of the handler, content that cannot be decoded, and a timeout, which requests a stop as well.
   */
  private static boolean gaveWay(Attempt attempt, Throwable thrown) {
    return attempt.stopRequested()
        && attempt.state() != Attempt.State.TIMED_OUT
        && !decides(thrown)
        && !(thrown instanceof CodecException && !attempt.decoded());
  }

  /** Whether the handler decides the outcome of the delivery with this exception. */
  static boolean decides(Throwable thrown) {
    return thrown instanceof PoisonException || thrown instanceof RetryLaterException;
  }

  /** A codec error after the message was decoded is an ordinary failure of the handler. */
  private static Failure failure(Attempt attempt, Throwable thrown, Instant now) {
    return thrown instanceof CodecException && attempt.decoded()
        ? Failures.of(ErrorCode.HANDLER_FAILED, thrown, now)
        : Failures.of(thrown, now);
  }

  private Outcome judge(Attempt attempt, Throwable thrown, Failure failure) {
    int failures = attempt.work.delivery().failures() + 1;
    Backoff policy = policy(attempt.handler);
    if (thrown instanceof CodecException && !attempt.decoded()) {
      return poisoned(attempt.handler, failure, false);
    }
    if (thrown instanceof PoisonException) {
      return poisoned(attempt.handler, failure, true);
    }
    if (thrown instanceof RetryLaterException later) {
      if (!later.counted()) {
        return new Outcome.LaterUncounted(bounded(later.delay()));
      }
      Outcome outcome =
          failures >= policy.maxAttempts()
              ? poisoned(attempt.handler, failure, true)
              : new Outcome.RetryAfter(bounded(later.delay()), failure);
      return unlessPaused(attempt, policy, outcome, failure);
    }
    Optional<Duration> wait =
        policy.after(failures, thrown, random(policy, attempt.work.delivery()));
    Outcome outcome =
        wait.isPresent()
            ? new Outcome.RetryAfter(wait.get(), failure)
            : poisoned(attempt.handler, failure, true);
    return policy.poisons(thrown) ? outcome : unlessPaused(attempt, policy, outcome, failure);
  }

  private static Outcome poisoned(BoundHandler handler, Failure failure, boolean counted) {
    return new Outcome.Poisoned(failure, counted, handler.onPoison());
  }

  /** Returns this outcome, or one that does not count if the handler was paused already. */
  private Outcome unlessPaused(Attempt attempt, Backoff policy, Outcome outcome, Failure failure) {
    Breaker breaker = attempt.breaker;
    Breaker.Verdict verdict = breaker.failed(attempt.work.delivery());
    if (verdict == Breaker.Verdict.COUNTS) {
      return outcome;
    }
    if (verdict == Breaker.Verdict.TOO_LATE) {
      return new Outcome.LaterUncounted(breaker.left(System.nanoTime()));
    }
    Duration wait = policy.delayAfter(breaker.waits() + 1, ThreadLocalRandom.current());
    breaker.waitFor(wait, System.nanoTime());
    String handler = attempt.handler.key();
    if (verdict == Breaker.Verdict.STILL_FAILS) {
      LOG.info(
          "Handler '{}' still fails and is tried again in {}: {}",
          handler,
          Spans.shown(wait),
          Failures.line(failure));
      return new Outcome.LaterUncounted(wait);
    }
    String reason = "it failed %d times in a row".formatted(attempt.handler.spec().pausingAfter());
    line(LOG.atWarn(), "handler-paused", handler, Told.of(attempt), failure)
        .log(
            "Handler '{}' of inbox {} is paused on this node: {}. It is tried again in {}; the last"
                + " failure was: {}",
            handler,
            events.inbox(),
            reason,
            Spans.shown(wait),
            Failures.line(failure));
    events.tell(new InboxEvent.HandlerPaused(events.inbox(), handler, reason));
    return outcome;
  }

  private Backoff policy(BoundHandler handler) {
    Backoff chosen = handler.spec().retry();
    return chosen == null ? defaultRetry : chosen;
  }

  /** Limits a wait to what every store can add to its time; else the whole batch would fail. */
  private static Duration bounded(Duration asked) {
    if (asked.isNegative()) {
      return Duration.ZERO;
    }
    return asked.compareTo(Spans.LONGEST_WAIT) > 0 ? Spans.LONGEST_WAIT : asked;
  }

  /** Seeded policies give the same waits for the same delivery, in whatever order threads run. */
  private static RandomGenerator random(Backoff policy, Delivery delivery) {
    if (policy.seed().isEmpty()) {
      return ThreadLocalRandom.current();
    }
    return new SplittableRandom(
        policy.seed().getAsLong() + 31 * delivery.seq() + delivery.failures());
  }

  private void tellFailed(Told told, Outcome outcome, Failure failure) {
    if (outcome instanceof Outcome.LaterUncounted uncounted) {
      // The handler asked for a later attempt, or failed while it was paused: neither counts.
      LOG.debug(
          "Attempt {} to deliver {} to '{}' does not count; the next one is in {}: {}",
          told.attempt(),
          Names.shown(told.message().toString()),
          told.handler().key(),
          Spans.shown(uncounted.delay()),
          Failures.line(failure));
      return;
    }
    String handler = told.handler().key();
    if (outcome instanceof Outcome.Poisoned) {
      line(LOG.atWarn(), "poisoned", handler, told, failure)
          .log(
              "Delivery of {} to '{}' is poisoned after attempt {}: {}",
              Names.shown(told.message().toString()),
              handler,
              told.attempt(),
              Failures.line(failure));
      tellPoisoned(told.handler(), told.message(), told.attempt(), failure);
    } else {
      Duration next = outcome instanceof Outcome.RetryAfter retry ? retry.delay() : Duration.ZERO;
      logFailed(told, failure, next);
      events.tell(
          new InboxEvent.Failed(
              events.inbox(), handler, told.message(), told.attempt(), failure, next));
    }
  }

  /** Adds the key-value pairs of a line for programs; the text of the line is for people. */
  private LoggingEventBuilder line(
      LoggingEventBuilder line, String event, String handler, Told told, Failure failure) {
    return line(line, event, handler, told.message(), told.attempt(), failure);
  }

  private LoggingEventBuilder line(
      LoggingEventBuilder line,
      String event,
      String handler,
      MessageRef message,
      int attempt,
      Failure failure) {
    return line.addKeyValue("pigeonhole.event", event)
        .addKeyValue(LogContext.INBOX, events.inbox())
        .addKeyValue(LogContext.HANDLER, handler)
        .addKeyValue(LogContext.MESSAGE, Names.shown(message.id()))
        .addKeyValue(LogContext.ATTEMPT, attempt)
        .addKeyValue("pigeonhole.code", failure.code().text());
  }

  private void tellPoisoned(
      BoundHandler handler, MessageRef message, int attempt, Failure failure) {
    events.tell(new InboxEvent.Poisoned(events.inbox(), handler.key(), message, attempt, failure));
  }

  private void logFailed(Told told, Failure failure, Duration next) {
    int leftOut = logLimit.leftOutBefore(System.nanoTime());
    if (leftOut < 0) {
      return;
    }
    line(LOG.atInfo(), "attempt-failed", told.handler().key(), told, failure)
        .log(
            "Attempt {} to deliver {} to '{}' failed ({} of {} failures); the next one is in {}: {}{}",
            told.attempt(),
            Names.shown(told.message().toString()),
            told.handler().key(),
            told.failures() + 1,
            policy(told.handler()).maxAttempts(),
            Spans.shown(next),
            Failures.line(failure),
            leftOut == 0 ? "" : " (" + leftOut + " failures before this one were not logged)");
    LOG.debug("It failed with {}", failure.stack());
  }

  private void tellUncounted(Told told, int runs, Failure failure, Duration next) {
    int leftOut = uncountedLogLimit.leftOutBefore(System.nanoTime());
    if (leftOut >= 0) {
      line(LOG.atWarn(), "attempt-uncounted", told.handler().key(), told, failure)
          .log(
              "Attempt uncounted: the database failed during attempt {} to deliver {} to '{}'"
                  + " (uncounted={} maxUncounted={}); next attempt in {}: {}{}",
              told.attempt(),
              Names.shown(told.message().toString()),
              told.handler().key(),
              runs,
              policy(told.handler()).maxUncounted(),
              Spans.shown(next),
              Failures.line(failure),
              leftOut == 0 ? "" : " (" + leftOut + " before this one were not logged)");
      LOG.debug("It failed with {}", failure.stack());
    }
    events.tell(
        new InboxEvent.Uncounted(
            events.inbox(), told.handler().key(), told.message(), runs, failure, next));
  }

  private void tellReleased(Told told, int releases) {
    if (releases % 10 == 0) {
      LOG.warn(
          "Delivery of {} to '{}' was cut by a shutdown; {} of its attempts have not counted, because"
              + " of shutdowns or errors of the database. If shutdowns are the cause, raise"
              + " stopGrace.",
          Names.shown(told.message().toString()),
          told.handler().key(),
          releases);
    }
    events.tell(
        new InboxEvent.Released(events.inbox(), told.handler().key(), told.message(), releases));
  }
}
