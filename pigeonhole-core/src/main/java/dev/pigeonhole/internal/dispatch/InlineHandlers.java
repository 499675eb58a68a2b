package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Failure;
import dev.pigeonhole.Interceptor;
import dev.pigeonhole.Interceptor.End;
import dev.pigeonhole.MessageHandler;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.TransactionalHandler;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.internal.registry.BoundHandler;
import dev.pigeonhole.internal.registry.Names;
import dev.pigeonhole.internal.registry.Payloads;
import dev.pigeonhole.internal.registry.Spans;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.Guards;
import dev.pigeonhole.store.Guards.Verdict;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.store.StoredMessage;
import dev.pigeonhole.transport.Publisher;
import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs inline handlers where their messages are handed in: each in a transaction of its own with
 * its receipt, in the order of declaration. One that fails neither undoes nor skips the others.
 */
public final class InlineHandlers {
  private static final Logger LOG = LoggerFactory.getLogger(InlineHandlers.class);

  /** For another copy of the message. */
  private static final Duration PATIENCE = Duration.ofSeconds(5);

  private static final Duration TIME_LIMIT = Duration.ofSeconds(30);

  /**
   * What came of one message.
   *
   * @param ran whether some handler was run
   * @param differs the message, if its id is known with other content or another type; otherwise
   *     null. The handlers behind the one that found this were not run
   * @param known when a handler had finished it before
   * @param failures of those that have not finished it, by their keys; what differs is none
   */
  public record Outcome(
      boolean ran,
      @Nullable NewMessage differs,
      @Nullable Instant known,
      Map<String, Failure> failures) {}

  private final Guards guards;
  private final Payloads payloads;
  private final Events events;
  private final Interception interception;
  private final InstantSource clock;
  private final @Nullable Publisher outbox;
  private final LogLimit logLimit = new LogLimit(20, Duration.ofSeconds(1));

  /**
   * @param outbox where handlers publish; null for nowhere
   */
  public InlineHandlers(
      Guards guards,
      Payloads payloads,
      Events events,
      List<Interceptor> interceptors,
      InstantSource clock,
      @Nullable Publisher outbox) {
    this.guards = guards;
    this.payloads = payloads;
    this.events = events;
    this.interception = new Interception(interceptors);
    this.clock = clock;
    this.outbox = outbox;
  }

  /**
   * @param joined null for transactions of our own
   */
  public Outcome run(@Nullable Connection joined, List<InlineCall> calls) {
    AtomicBoolean interrupted = new AtomicBoolean();
    try {
      return run(joined, calls, interrupted);
    } finally {
      if (interrupted.get()) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /**
   * @param interrupted is set if a handler was; the others run without that, for it would break
   *     their way to the database, and in H2 the database itself
   */
  private Outcome run(
      @Nullable Connection joined, List<InlineCall> calls, AtomicBoolean interrupted) {
    Map<String, Failure> failures = new LinkedHashMap<>();
    boolean ran = false;
    Instant known = null;
    for (InlineCall call : calls) {
      BoundHandler handler = call.handler();
      NewMessage message = call.message();
      MessageRef ref = new MessageRef(message.source(), message.id());
      Guards.Request request =
          new Guards.Request(message, handler.id(), null, PATIENCE, within(handler), null);
      AtomicReference<@Nullable Attempt> last = new AtomicReference<>();
      Guards.Work work =
          (connection, as) -> {
            Attempt attempt = attempt(handler, as, message, joined == null);
            ended(last.getAndSet(attempt), End.RELEASED, null); // the store has tried it before
            return call(attempt, connection, joined == null);
          };
      long began = System.nanoTime();
      try {
        Verdict verdict =
            joined == null ? guards.run(request, work) : guards.join(joined, request, work);
        Duration took = since(began);
        if (verdict instanceof Verdict.Differs) {
          return new Outcome(ran, message, null, failures);
        }
        if (verdict instanceof Verdict.Ran) {
          ran = true;
          ended(last.get(), End.COMPLETED, null);
          tellOutbox(last.get(), joined == null);
          events.tell(new InboxEvent.GuardRan(events.inbox(), handler.key(), ref, took));
        } else if (verdict instanceof Verdict.Known repeat) {
          known = repeat.at();
          events.tell(
              new InboxEvent.GuardRepeated(
                  events.inbox(), handler.key(), ref, repeat.state(), took));
        } else {
          failures.put(handler.key(), busy(handler, took));
          events.tell(new InboxEvent.GuardBusy(events.inbox(), handler.key(), ref, took));
        }
      } catch (Guards.WorkFailedException e) {
        Throwable cause = e.getCause() == null ? e : e.getCause();
        Failure failure = Failures.of(cause, clock.instant());
        failures.put(handler.key(), failure);
        ended(last.get(), failure.isFinal() ? End.POISONED : End.RETRIED, cause);
        logFailed(handler, ref, failure);
        events.tell(
            new InboxEvent.GuardFailed(events.inbox(), handler.key(), ref, failure, since(began)));
        if (cause instanceof InterruptedException) {
          interrupted.set(true);
        }
      } catch (StoreException e) {
        events.guardFailed(handler.key(), ref, e, since(began));
        throw e;
      } finally {
        ended(last.get(), End.RELEASED, null); // unless one of the above has said it
      }
    }
    return new Outcome(ran, null, known, failures);
  }

  /** As of a stored attempt that is tried again: the source does that here. */
  private void logFailed(BoundHandler handler, MessageRef ref, Failure failure) {
    int leftOut = logLimit.leftOutBefore(System.nanoTime());
    if (leftOut < 0) {
      return;
    }
    LOG.info(
        "The inline handler '{}' failed; its source is to bring {} again: {}{}",
        handler.key(),
        Names.shown(ref.toString()),
        Failures.line(failure),
        leftOut == 0 ? "" : " (" + leftOut + " failures before this one were not logged)");
    LOG.debug("It failed with {}", failure.stack());
  }

  private Failure busy(BoundHandler handler, Duration waited) {
    return Failures.of(
        ErrorCode.GUARD_BUSY,
        "Another copy of the message was still with '%s' after %s. It is no failure: offer it again."
            .formatted(handler.key(), Spans.shown(waited)),
        clock.instant());
  }

  /** What a caller has yet to commit, nobody can find. */
  private static void tellOutbox(@Nullable Attempt attempt, boolean committed) {
    if (attempt != null && committed) {
      attempt.outgoing().committed();
    }
  }

  private static void ended(@Nullable Attempt attempt, End end, @Nullable Throwable cause) {
    if (attempt != null) {
      attempt.ended(end, cause);
    }
  }

  private static Duration since(long began) {
    return Duration.ofNanos(System.nanoTime() - began);
  }

  private static Duration within(BoundHandler handler) {
    Duration given = handler.spec().timeout();
    return given == null ? TIME_LIMIT : given;
  }

  private Attempt attempt(BoundHandler handler, HandlerId as, NewMessage message, boolean own) {
    StoredMessage received = message.stored(0, 0, clock.instant());
    Cell cell = new Cell(message.lane(), as.family());
    Delivery delivery = Delivery.fresh(cell, 0, 0, as.keyId(), null);
    Attempt attempt =
        new Attempt(
            events.inbox(),
            new Work(delivery, received, null, 0, 0, 0),
            handler,
            own ? within(handler) : null,
            new Breaker(null),
            () -> false);
    attempt.publishTo(outbox);
    return attempt;
  }

  private Guards.@Nullable Answer call(Attempt attempt, Connection connection, boolean own)
      throws Exception {
    BoundHandler handler = attempt.handler;
    StoredMessage received = attempt.work.message();
    try (TransactionWatch watch =
        new TransactionWatch(handler.key(), within(handler), own ? connection : null)) {
      try {
        attempt.decoded(
            payloads.decode(
                received.content(), received.contentType(), handler.type(), received.type()));
        attempt.started();
        interception.call(attempt, () -> invoke(handler, attempt, connection));
        attempt.outgoing().stageAll(attempt, connection);
      } catch (Exception e) {
        attempt.outgoing().close();
        watch.refuseIfStruck(e);
        throw e;
      }
      watch.returned();
      watch.refuseIfStruck(null);
      return null;
    }
  }

  private static void invoke(BoundHandler handler, Attempt attempt, Connection connection)
      throws Exception {
    TransactionalHandler<Object> transactional = handler.spec().transactional();
    if (transactional != null) {
      transactional.handle(
          attempt.payload(), new TransactionalRunner.Transaction(connection, attempt));
    } else {
      MessageHandler<Object> plain = Objects.requireNonNull(handler.spec().plain());
      plain.handle(attempt);
    }
  }
}
