package dev.pigeonhole.internal.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.RetryLaterException;
import dev.pigeonhole.codec.CodecException;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.internal.registry.Backoff;
import dev.pigeonhole.internal.registry.BoundHandler;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.Deliveries;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.SettleResult;
import dev.pigeonhole.store.StoreException;
import java.lang.ref.WeakReference;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** How attempts are judged, and what is told and logged of it. */
class EndingsTest {
  private final Logger logger = (Logger) LoggerFactory.getLogger(Endings.class);
  private final ListAppender<ILoggingEvent> log = new ListAppender<>();
  private final List<InboxEvent> told = new ArrayList<>();
  private final List<Settled> settled = new ArrayList<>();
  private boolean broken;
  private final Settler settler =
      new Settler(
          takesEverything(),
          new Events("inbox", List.of()),
          100,
          settled::addAll,
          (rows, lasting) -> {});
  private final Endings endings =
      new Endings(
          settler,
          new Events("shop", List.of(told::add)),
          new Backoff(
              Duration.ofSeconds(7),
              Duration.ofSeconds(7),
              false,
              false,
              new Backoff.Limits(3, 2),
              List.of(),
              OptionalLong.empty()),
          this::now);
  private final Attempt attempt = Handlers.attempt(Handlers.plain("h", received -> {}), 7);

  private static Deliveries takesEverything() {
    return (Deliveries)
        Proxy.newProxyInstance(
            EndingsTest.class.getClassLoader(),
            new Class<?>[] {Deliveries.class},
            (self, method, args) -> SettleResult.allRecorded());
  }

  @BeforeEach
  void listen() {
    log.start();
    logger.addAppender(log);
    logger.setLevel(Level.DEBUG);
  }

  @AfterEach
  void stop() {
    logger.detachAppender(log);
    logger.setLevel(null);
  }

  private Instant now() {
    if (broken) {
      broken = false;
      throw new OutOfMemoryError("for the test");
    }
    return Instant.EPOCH;
  }

  private Outcome failedWith(Throwable thrown) {
    endings.failed(attempt, thrown);
    settler.flushAll();
    assertThat(settled).hasSize(1);
    return settled.get(0).settlement().outcome();
  }

  private List<String> logged(Level level) {
    return log.list.stream()
        .filter(event -> event.getLevel() == level)
        .map(ILoggingEvent::getFormattedMessage)
        .toList();
  }

  @Test
  void aFailureThatWillBeTriedAgainIsOneLineWithoutItsStack() {
    assertThat(failedWith(new IllegalStateException("out of\n stock")))
        .isInstanceOf(Outcome.RetryAfter.class);

    assertThat(logged(Level.INFO))
        .singleElement()
        .asString()
        .contains(
            "Attempt 1 to deliver", "1 of 3 failures", "m-7", "'h'", "the next one is in 7 s:")
        .contains("PH-HND-01", "java.lang.IllegalStateException: out of stock");
    assertThat(log.list).allMatch(event -> event.getThrowableProxy() == null);
    assertThat(logged(Level.DEBUG)).singleElement().asString().contains("\tat ");
  }

  @Test
  void aFloodOfFailuresDoesNotFloodTheLog() {
    long began = System.nanoTime();
    for (int i = 0; i < 1_000; i++) {
      endings.failed(attempt, new IllegalStateException("no"));
    }
    settler.flushAll();
    long seconds = Duration.ofNanos(System.nanoTime() - began).toSeconds();

    assertThat(told).hasSize(1_000);
    assertThat(logged(Level.INFO)).as("20 a second").hasSizeBetween(20, (int) (20 * (seconds + 1)));
  }

  @Test
  void aPoisonedDeliveryIsLoggedWithCodeAndText() {
    failedWith(new InboxException(ErrorCode.TX_LOST, "the transaction is another"));
    assertThat(logged(Level.INFO)).singleElement().asString().contains("PH-TX-05");

    settled.clear();
    failedWith(new PoisonException("no such account"));
    assertThat(logged(Level.WARN))
        .singleElement()
        .asString()
        .contains("m-7", "'h'", "PH-HND-04", "no such account");
  }

  @Test
  void contentThatCannotBeReadIsPoisonedUncounted() {
    assertThat(failedWith(unreadable()))
        .isInstanceOfSatisfying(
            Outcome.Poisoned.class,
            poisoned -> {
              assertThat(poisoned.counted()).isFalse();
              assertThat(poisoned.failure().code()).isEqualTo(ErrorCode.PAYLOAD_UNDECODABLE);
            });
    assertThat(logged(Level.WARN)).singleElement().asString().contains("not even JSON");
  }

  @Test
  void aHandlerThatCannotReadSomethingElseHasFailedLikeAnyOther() {
    attempt.decoded("this one could be read");
    assertThat(failedWith(unreadable()))
        .isInstanceOfSatisfying(
            Outcome.RetryAfter.class,
            retry -> {
              assertThat(retry.failure().code()).isEqualTo(ErrorCode.HANDLER_FAILED);
              assertThat(retry.failure().type()).isEqualTo(CodecException.class.getName());
            });
  }

  private static CodecException unreadable() {
    return new CodecException(ErrorCode.PAYLOAD_UNDECODABLE, "not even JSON", null);
  }

  /** What nobody settles would stay open until the process ends. */
  @Test
  void anErrorWhileAnUncountedAttemptIsJudgedDoesNotLeaveItOpen() {
    broken = true;
    endings.storeFailed(
        attempt,
        new StoreException(
            StoreException.Kind.TRANSIENT, ErrorCode.DATABASE_TRANSIENT, "deadlock", null));
    settler.flushAll();

    assertThat(settled).hasSize(1);
    assertThat(settled.get(0).settlement().outcome()).isInstanceOf(Outcome.LaterUncounted.class);
  }

  /** An outcome may wait for long; thousands of them would fill the memory. */
  @Test
  void anOutcomeThatWaitsDoesNotKeepTheMessageInMemory() {
    BoundHandler handler = Handlers.plain("h", received -> {});
    List<WeakReference<Attempt>> ended = new ArrayList<>();
    List<Consumer<Attempt>> ends =
        List.of(
            endings::completed,
            one -> endings.failed(one, new IllegalStateException("no")),
            endings::released,
            one ->
                endings.storeFailed(
                    one,
                    new StoreException(
                        StoreException.Kind.TRANSIENT,
                        ErrorCode.DATABASE_TRANSIENT,
                        "deadlock",
                        null)));
    for (Consumer<Attempt> end : ends) {
      Attempt one = Handlers.attempt(handler, 100 + ended.size());
      end.accept(one);
      ended.add(new WeakReference<>(one));
    }
    for (int tries = 0;
        tries < 100 && ended.stream().anyMatch(one -> !one.refersTo(null));
        tries++) {
      System.gc();
    }
    assertThat(ended).allMatch(one -> one.refersTo(null));
    assertThat(settler.idle()).isFalse();
  }

  @Test
  void whoAsksForLaterHasNotFailed() {
    assertThat(failedWith(RetryLaterException.uncounted(Duration.ofMinutes(1))))
        .isInstanceOf(Outcome.LaterUncounted.class);
    assertThat(told).isEmpty();
    assertThat(log.list).allMatch(event -> event.getLevel() == Level.DEBUG);
    assertThat(logged(Level.DEBUG))
        .singleElement()
        .asString()
        .contains("Attempt 1 to deliver", "does not count", "PT1M");
  }

  @Test
  void whoThrowsAfterBeingToldToStopHasNotFailed() {
    attempt.decoded("x");
    attempt.requestStop();
    assertThat(failedWith(new IllegalStateException("half done")))
        .isInstanceOf(Outcome.Released.class);
    assertThat(told).singleElement().isInstanceOf(InboxEvent.Released.class);

    settled.clear();
    assertThat(failedWith(unreadable())).isInstanceOf(Outcome.Released.class);
  }

  @Test
  void aStopDoesNotChangeWhatIsSaidOfTheMessage() {
    attempt.requestStop();
    assertThat(failedWith(new PoisonException("no"))).isInstanceOf(Outcome.Poisoned.class);
    settled.clear();
    assertThat(failedWith(RetryLaterException.after(Duration.ofMinutes(1))))
        .isInstanceOf(Outcome.RetryAfter.class);
    settled.clear();
    assertThat(failedWith(unreadable())).isInstanceOf(Outcome.Poisoned.class);
  }

  @Test
  void aTimeoutIsCountedAlthoughItAsksTheHandlerToStop() {
    attempt.end(Attempt.State.TIMED_OUT);
    attempt.requestStop();
    assertThat(failedWith(Runner.tookTooLong(attempt, null)))
        .isInstanceOf(Outcome.RetryAfter.class);
  }

  @Test
  void clm10_everyTenthReleaseOfADeliveryIsWarnedAbout() {
    for (int releases = 0; releases < 20; releases++) {
      Delivery row = new Delivery(new Cell(0, 1), 7, 0, 1, 0, 0, releases, null, 0, false);
      endings.released(Handlers.attempt(Handlers.plain("h", received -> {}), row));
    }
    settler.flushAll();

    assertThat(told)
        .hasSize(20)
        .allMatch(InboxEvent.Released.class::isInstance)
        .extracting(event -> ((InboxEvent.Released) event).releases())
        .startsWith(1, 2, 3)
        .endsWith(19, 20);
    assertThat(logged(Level.WARN))
        .hasSize(2)
        .allMatch(line -> line.contains("m-7") && line.contains("'h'"));
    assertThat(logged(Level.WARN).get(0))
        .contains("10 of its attempts have not counted", "raise stopGrace");
    assertThat(logged(Level.WARN).get(1)).contains("20 of its attempts");
  }

  @Test
  void theLineOfAnUncountedAttemptIsTrueBeyondTheLimit() {
    Delivery row = new Delivery(new Cell(0, 1), 7, 0, 1, 0, 0, 5, null, 0, false);
    endings.storeFailed(
        Handlers.attempt(Handlers.plain("h", received -> {}), row),
        new StoreException(
            StoreException.Kind.PERMANENT, ErrorCode.DATABASE_ERROR, "no such column", null));
    settler.flushAll();

    assertThat(settled)
        .singleElement()
        .extracting(each -> each.settlement().outcome())
        .isInstanceOf(Outcome.Uncounted.class);
    assertThat(logged(Level.WARN))
        .singleElement()
        .asString()
        .contains("(uncounted=6 maxUncounted=2)", "PH-DB-17");
  }

  @Test
  void theTimeOfACompletionIsThatOfItsAttempt() {
    attempt.started();
    attempt.end(Attempt.State.ENDED);
    Duration took = attempt.took();
    endings.completed(attempt);
    settler.flushAll();

    assertThat(told)
        .singleElement()
        .isInstanceOfSatisfying(
            InboxEvent.Completed.class, event -> assertThat(event.took()).isEqualTo(took));
  }
}
