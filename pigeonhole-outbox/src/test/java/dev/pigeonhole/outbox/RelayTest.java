package dev.pigeonhole.outbox;

import static dev.pigeonhole.outbox.Office.ONCE;
import static dev.pigeonhole.outbox.Office.PATIENCE;
import static dev.pigeonhole.outbox.Office.POSTGRES;
import static dev.pigeonhole.outbox.Office.SERVERS;
import static dev.pigeonhole.outbox.Office.order;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Message;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.event.InboxListener;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.MessageMapper;
import dev.pigeonhole.transport.Sent;
import dev.pigeonhole.transport.Transport;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.ServiceConfigurationError;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Nothing is called sent that was not confirmed, and nothing that was staged is lost. */
class RelayTest {

  private static DeliveryView find(Outbox outbox, String id) {
    return outbox.admin().find("outbox", id, "OrderPlaced").orElseThrow();
  }

  @ParameterizedTest
  @MethodSource(SERVERS)
  void ob01_ob02_whatWasNotConfirmedGoesOutAgainUnderTheSameIdUntilItIs(TestDatabase database) {
    Office office = Office.in(database);
    Outbox outbox = office.timed().route(OrderPlaced.class, office.transport.failing()).build();
    String id = office.commit(connection -> outbox.publish(connection, order(1)));
    for (int attempt = 1; attempt <= 3; attempt++) {
      outbox.drain();
      assertThat(find(outbox, id).state()).isNotEqualTo(DeliveryState.COMPLETED);
      assertThat(find(outbox, id).failures()).isEqualTo(attempt);
      office.clock.advance(Duration.ofMinutes(1));
    }
    office.transport.confirming();
    outbox.drain();
    outbox.drain();

    assertThat(office.transport.givenIds()).containsExactly(id, id, id, id);
    assertThat(find(outbox, id).state()).isEqualTo(DeliveryState.COMPLETED);
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void oneThatFailsKeepsNoneOfTheOthers(TestDatabase database) {
    Office office = Office.in(database);
    office.transport.answering(
        envelope ->
            envelope.id().orElseThrow().equals("bad")
                ? new Sent.Failed(new IllegalStateException("not this one"))
                : new Sent.Confirmed());
    Outbox outbox = office.timed().route(OrderPlaced.class, office.transport).build();
    office.commit(
        connection ->
            outbox.publish(
                connection, List.of(order(1).id("a"), order(2).id("bad"), order(3).id("b"))));
    outbox.drain();

    assertThat(office.transport.confirmedIds()).containsExactlyInAnyOrder("a", "b");
    assertThat(find(outbox, "bad").failures()).isEqualTo(1);
  }

  @ParameterizedTest
  @MethodSource(SERVERS)
  void whatNobodyTakesIsPoisonedSeenAndSentWhenAnOperatorSaysSo(TestDatabase database) {
    Office office = Office.in(database);
    office.transport.answering(envelope -> new Sent.Unroutable("no queue is bound."));
    List<InboxEvent> told = new CopyOnWriteArrayList<>();
    Outbox outbox =
        office.outbox().route(OrderPlaced.class, office.transport).listener(told::add).build();
    office.commit(connection -> outbox.publish(connection, order(1).id("m-1")));
    outbox.drain();

    assertThat(find(outbox, "m-1").state()).isEqualTo(DeliveryState.POISONED);
    assertThat(find(outbox, "m-1").lastFailure().orElseThrow().code())
        .isEqualTo(ErrorCode.UNROUTABLE);
    assertThat(find(outbox, "m-1").lastFailure().orElseThrow().message())
        .contains("scripted:test")
        .contains("no queue is bound");
    assertThat(told).anyMatch(InboxEvent.Poisoned.class::isInstance);

    office.transport.confirming();
    assertThat(
            outbox.admin().as("alice").retry("outbox", "m-1", "OrderPlaced", "the queue is bound"))
        .isTrue();
    outbox.drain();
    assertThat(office.transport.confirmedIds()).containsExactly("m-1");
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void ob06_whatTheOtherSideWillNeverTakeIsPoisonedAloneAndHoldsNobodyUp(TestDatabase database) {
    Office office = Office.in(database);
    office.transport.answering(
        envelope ->
            envelope.id().orElseThrow().equals("huge")
                ? new Sent.Failed(
                    new PoisonException(ErrorCode.PAYLOAD_TOO_LARGE, "over 1 MB.", null))
                : new Sent.Confirmed());
    Outbox outbox = office.sending();
    office.commit(
        connection -> outbox.publish(connection, List.of(order(1).id("huge"), order(2).id("m"))));
    outbox.drain();

    assertThat(office.transport.confirmedIds()).containsExactly("m");
    assertThat(find(outbox, "huge").state()).isEqualTo(DeliveryState.POISONED);
    assertThat(find(outbox, "huge").lastFailure().orElseThrow().code())
        .isEqualTo(ErrorCode.PAYLOAD_TOO_LARGE);
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void aMapperThatThrowsPoisonsItsOwnMessage(TestDatabase database) {
    Office office = Office.in(database);
    MessageMapper picky =
        new MessageMapper() {
          @Override
          public Message toMessage(Envelope envelope) {
            throw new AssertionError("nothing comes in");
          }

          @Override
          public Envelope toEnvelope(Message message, String transport, String destination) {
            if ("bad".equals(message.id())) {
              throw new IllegalArgumentException("cannot");
            }
            if ("odd".equals(message.id())) {
              throw new ServiceConfigurationError("x");
            }
            return MessageMapper.plain().toEnvelope(message, transport, destination);
          }
        };
    Outbox outbox =
        office
            .outbox()
            .route(Route.of(OrderPlaced.class).mappedBy(picky), office.transport)
            .build();
    office.commit(
        connection ->
            outbox.publish(
                connection, List.of(order(1).id("bad"), order(2).id("m"), order(3).id("odd"))));
    outbox.drain();

    assertThat(office.transport.confirmedIds()).containsExactly("m");
    for (String id : List.of("bad", "odd")) {
      assertThat(find(outbox, id).state()).isEqualTo(DeliveryState.POISONED);
      assertThat(find(outbox, id).lastFailure().orElseThrow().code())
          .isEqualTo(ErrorCode.ENVELOPE_UNMAPPABLE);
    }
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void aFailedOneHoldsThoseBehindItInItsKeyAndNobodyElse(TestDatabase database) {
    Office office = Office.in(database);
    AtomicBoolean down = new AtomicBoolean(true);
    office.transport.answering(
        envelope ->
            down.get() && envelope.id().orElseThrow().equals("a-1")
                ? new Sent.Failed(new IllegalStateException("not now"))
                : new Sent.Confirmed());
    Outbox outbox =
        office
            .timed()
            .route(Route.of(OrderPlaced.class).orderedBy(OrderPlaced::customer), office.transport)
            .build();
    office.commit(
        connection -> {
          for (String id : List.of("a-1", "a-2", "a-3", "b-1", "b-2")) {
            outbox.publish(connection, Message.of(id, new OrderPlaced(id, id.substring(0, 1))));
          }
          return null;
        });
    outbox.drain();
    assertThat(office.transport.confirmedIds()).containsExactly("b-1", "b-2");

    down.set(false);
    office.clock.advance(Duration.ofMinutes(1));
    outbox.drain();
    assertThat(office.transport.confirmedIds()).containsExactly("b-1", "b-2", "a-1", "a-2", "a-3");
  }

  @ParameterizedTest
  @MethodSource(SERVERS)
  void ob03_severalRelaysThatFailAndComeAndGoKeepTheOrderOfEachKey(TestDatabase database)
      throws Exception {
    Office office = Office.in(database);
    int many = Size.of(300, 5_000);
    Random random = new Random(42);
    office.transport.answering(
        envelope ->
            random.nextInt(10) == 0
                ? new Sent.Failed(new IllegalStateException("flaky"))
                : new Sent.Confirmed());
    Outbox publishing = relay(office);
    List<String> expected = new ArrayList<>();
    for (int i = 0; i < many; i++) {
      String id = "m-" + i;
      expected.add(id);
      String key = "k-" + i % 7;
      office.commit(
          connection -> publishing.publish(connection, Message.of(id, new OrderPlaced(id, key))));
    }
    RunningInbox first = relay(office).start();
    RunningInbox second = relay(office).start();
    Eventually.until(PATIENCE, () -> office.transport.confirmedIds().size() > many / 3);
    first.close();
    try (RunningInbox third = relay(office).start()) {
      Eventually.until(
          "all to be confirmed",
          PATIENCE,
          () -> office.transport.confirmedIds().size() >= many && third.healthy());
      second.close();
    }

    for (int key = 0; key < 7; key++) {
      int mine = key;
      assertThat(office.transport.confirmedIds().stream().filter(id -> number(id) % 7 == mine))
          .containsExactlyElementsOf(
              expected.stream().filter(id -> number(id) % 7 == mine).toList());
    }
  }

  private static int number(String id) {
    return Integer.parseInt(id.substring(2));
  }

  private static Outbox relay(Office office) {
    return office
        .outbox()
        .route(Route.of(OrderPlaced.class).orderedBy(OrderPlaced::customer), office.transport)
        .retry(RetryPolicy.fixed(Duration.ofMillis(5)).maxAttempts(1_000))
        // They stop properly; if one were taken for dead, what it sends would be sent again.
        .beats(Duration.ofMillis(200), Duration.ofMinutes(5))
        .polling(Duration.ofMillis(5), Duration.ofMillis(20))
        .build();
  }

  @ParameterizedTest
  @MethodSource(SERVERS)
  void ob05_anOtherSideThatIsDownPausesTheRouteAndPoisonsNothing(TestDatabase database) {
    Office office = Office.in(database);
    office.transport.failing();
    List<InboxEvent> told = new CopyOnWriteArrayList<>();
    int many = Size.of(2_000, database.kind() == DatabaseKind.POSTGRES ? 1_000_000 : 100_000);
    Outbox outbox =
        office
            .outbox()
            .route(OrderPlaced.class, office.transport)
            .retry(RetryPolicy.fixed(Duration.ofMillis(10)).maxAttempts(3))
            .polling(Duration.ofMillis(5), Duration.ofMillis(20))
            .listener(InboxListener.create().onHandlerPaused(told::add).onHandlerResumed(told::add))
            .build();
    for (int from = 0; from < many; from += 500) {
      int first = from;
      office.commit(
          connection ->
              outbox.publish(
                  connection,
                  IntStream.range(first, Math.min(first + 500, many))
                      .mapToObj(Office::order)
                      .toList()));
    }
    try (RunningInbox running = outbox.start()) {
      Eventually.until(
          "the route to be paused", PATIENCE, () -> running.healthy() && !told.isEmpty());
      int before = office.transport.given().size();
      Eventually.until(
          "some probes", PATIENCE, () -> office.transport.given().size() > before + 10);
      assertThat(outbox.admin().poisoned(10)).isEmpty();

      office.transport.confirming();
      Eventually.until(
          "all to be confirmed",
          PATIENCE,
          () -> outbox.admin().deliveries().in(DeliveryState.PENDING).count().value() == 0);
    }
    assertThat(office.transport.confirmedIds().stream().distinct()).hasSize(many);
    assertThat(outbox.admin().poisoned(10)).isEmpty();
    assertThat(told).anyMatch(InboxEvent.HandlerResumed.class::isInstance);
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void aTransportGetsItsTimeAndIsClosedAtTheEnd(TestDatabase database) {
    Office office = Office.in(database);
    Outbox outbox =
        office
            .outbox()
            .route(OrderPlaced.class, office.transport)
            .sendTimeout(Duration.ofSeconds(7))
            .maxBatch(2)
            .build();
    office.commit(connection -> outbox.publish(connection, List.of(order(1), order(2), order(3))));
    try (RunningInbox running = outbox.start()) {
      Eventually.until(
          PATIENCE, () -> running.healthy() && office.transport.confirmedIds().size() == 3);
      assertThat(office.transport.closed()).isZero();
    }
    assertThat(office.transport.timeouts()).containsOnly(Duration.ofSeconds(7));
    assertThat(office.transport.closed()).isEqualTo(1);
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void aTransportIsGivenAHundredAndThirtySecondsUnlessToldOtherwise(TestDatabase database) {
    Office office = Office.in(database);
    Outbox usual = office.outbox().route(OrderPlaced.class, office.transport).build();
    office.commit(
        connection ->
            usual.publish(connection, IntStream.range(0, 450).mapToObj(Office::order).toList()));
    usual.drain();
    assertThat(Collections.max(office.transport.sizes())).isEqualTo(100);
    assertThat(office.transport.timeouts()).containsOnly(Duration.ofSeconds(30));

    Scripted other = new Scripted();
    Outbox pairs = office.outbox().route(OrderPlaced.class, other).maxBatch(2).build();
    office.commit(
        connection ->
            pairs.publish(connection, IntStream.range(0, 20).mapToObj(Office::order).toList()));
    pairs.drain();
    assertThat(other.confirmedIds()).hasSize(20);
    assertThat(Collections.max(other.sizes())).isEqualTo(2);
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void whatFailsIsSentAgainAfterASecondAndThenAfterTwiceTheTimeUpToAMinute(TestDatabase database) {
    Office office = Office.in(database);
    Outbox outbox = office.timed().route(OrderPlaced.class, office.transport.failing()).build();
    String id = office.commit(connection -> outbox.publish(connection, order(1)));
    for (int seconds : List.of(1, 2, 4, 8, 16, 32, 60, 60, 60)) {
      outbox.drain();
      Duration wait = Duration.between(office.clock.now(), find(outbox, id).due().orElseThrow());
      assertThat(wait) // a half of it is left to chance
          .isBetween(Duration.ofMillis(seconds * 500L), Duration.ofSeconds(seconds));
      office.clock.advance(wait);
    }
    assertThat(find(outbox, id).failures()).isEqualTo(9);
    assertThat(OutboxBuilder.PATIENT.maxAttempts()).isEqualTo(1_000);
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void theTwentiethFailureInARowPausesARoute(TestDatabase database) {
    Office office = Office.in(database);
    AtomicInteger failures = new AtomicInteger();
    office.transport.answering(
        envelope ->
            failures.getAndDecrement() > 0
                ? new Sent.Failed(new IllegalStateException("not now"))
                : new Sent.Confirmed());
    List<String> told = new CopyOnWriteArrayList<>();
    Outbox outbox =
        office
            .outbox()
            .route(OrderPlaced.class, office.transport)
            .retry(RetryPolicy.fixed(Duration.ofMillis(1)).maxAttempts(1_000))
            .polling(Duration.ofMillis(5), Duration.ofMillis(20))
            .listener(
                InboxListener.create()
                    .onHandlerPaused(it -> told.add(failures.get() + ": " + it.reason())))
            .build();
    try (RunningInbox running = outbox.start()) {
      for (int inARow : List.of(19, 20)) {
        failures.set(inARow);
        String id = office.commit(connection -> outbox.publish(connection, order(1)));
        outbox.wake();
        Eventually.until(
            PATIENCE, () -> running.healthy() && office.transport.confirmedIds().contains(id));
      }
    }
    assertThat(told).containsExactly("0: it failed 20 times in a row");
  }

  /** It takes ten seconds more than it was given before anybody loses patience. */
  @ParameterizedTest
  @MethodSource(POSTGRES)
  void aTransportThatDoesNotKeepToItsTimeIsStopped(TestDatabase database) throws Exception {
    Office office = Office.in(database);
    CountDownLatch never = new CountDownLatch(1);
    CountDownLatch stopped = new CountDownLatch(1);
    office.transport.answering(
        envelope -> {
          try {
            never.await();
          } catch (InterruptedException e) {
            stopped.countDown();
          }
          return new Sent.Confirmed();
        });
    Outbox outbox =
        office
            .outbox()
            .route(OrderPlaced.class, office.transport)
            .sendTimeout(Duration.ofMillis(1))
            .retry(ONCE)
            .build();
    office.commit(connection -> outbox.publish(connection, order(1).id("m-1")));
    try (RunningInbox running = outbox.start()) {
      assertThat(stopped.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
      Eventually.until(
          PATIENCE,
          () -> running.healthy() && find(outbox, "m-1").state() == DeliveryState.POISONED);
    } finally {
      never.countDown();
    }
    assertThat(find(outbox, "m-1").lastFailure().orElseThrow().code())
        .isEqualTo(ErrorCode.HANDLER_TIMED_OUT);
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void whatIsConfirmedIsForgottenAfterItsTime(TestDatabase database) {
    Office office = Office.in(database);
    Outbox outbox =
        office
            .timed()
            .route(OrderPlaced.class, office.transport)
            .keepReceipts(Duration.ofDays(1))
            .build();
    office.commit(connection -> outbox.publish(connection, order(1)));
    outbox.drain();
    assertThat(office.staged()).isEqualTo(1);

    office.clock.advance(Duration.ofDays(2));
    outbox.drain();
    outbox.drain();
    assertThat(office.staged()).isZero();
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void whatTheTransportSaysNothingOfIsNotSent(TestDatabase database) {
    Office office = Office.in(database);
    office.transport.answering(
        envelope -> envelope.id().orElseThrow().equals("silent") ? null : new Sent.Confirmed());
    Outbox outbox = office.timed().route(OrderPlaced.class, office.transport).build();
    office.commit(
        connection -> outbox.publish(connection, List.of(order(1).id("a"), order(2).id("silent"))));
    outbox.drain();

    assertThat(find(outbox, "a").state()).isEqualTo(DeliveryState.COMPLETED);
    assertThat(find(outbox, "silent").state()).isNotEqualTo(DeliveryState.COMPLETED);
    assertThat(find(outbox, "silent").failures()).isEqualTo(1);
    assertThat(find(outbox, "silent").lastFailure().orElseThrow().message())
        .contains("scripted:test");
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void whoeverAnswersForFewerHasSentNone(TestDatabase database) {
    Office office = Office.in(database);
    Transport silent =
        new Transport() {
          @Override
          public String kind() {
            return "short";
          }

          @Override
          public String destination() {
            return "test";
          }

          @Override
          public List<Sent> send(List<Envelope> envelopes, Duration timeout) {
            return List.of();
          }

          @Override
          public void close() {}
        };
    Outbox outbox = office.timed().route(OrderPlaced.class, silent).build();
    office.commit(
        connection -> outbox.publish(connection, List.of(order(1).id("a"), order(2).id("b"))));
    outbox.drain();

    for (String id : List.of("a", "b")) {
      assertThat(find(outbox, id).state()).isNotEqualTo(DeliveryState.COMPLETED);
    }
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void drainingSaysHowManyAttemptsItTookAndLeavesNoTransportOpen(TestDatabase database) {
    Office office = Office.in(database);
    Outbox outbox = office.sending();
    office.commit(connection -> outbox.publish(connection, List.of(order(1), order(2), order(3))));

    assertThat(outbox.drain()).isEqualTo(3);
    assertThat(office.transport.confirmedIds()).hasSize(3);
    assertThat(office.transport.closed()).isEqualTo(1);
    assertThat(outbox.drain()).isZero();
    assertThat(office.transport.closed()).isEqualTo(2);
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void drainingWhatRunsIsRefusedAndTakesNoTransportAway(TestDatabase database) {
    Office office = Office.in(database);
    Outbox outbox = office.sending();
    try (RunningInbox running = outbox.start()) {
      Eventually.until(PATIENCE, running::healthy);
      assertThatThrownBy(outbox::drain).hasMessageStartingWith("PH-RUN-02");
      assertThat(office.transport.closed()).isZero();
    }
    assertThat(office.transport.closed()).isEqualTo(1);
  }
}
