package dev.pigeonhole.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;

import com.rabbitmq.client.ConnectionFactory;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.RabbitServer;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.Sent;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a broker does to everybody: it ends, freezes, blocks, and loses patience. */
@Timeout(600)
class RabbitBrokerFaultsTest {
  private static final Duration QUICK = Duration.ofMillis(100);

  /** More than the sockets between us and a broker hold. */
  private static final int LARGE = 30_000_000;

  private static RabbitServer server;

  private final Intake intake = new Intake();
  private TestQueue queue;
  private RabbitSource source;

  @BeforeAll
  static void startServer() {
    server = RabbitServer.start();
  }

  @AfterAll
  static void closeServer() {
    server.close();
  }

  @BeforeEach
  void declare() {
    queue = TestQueue.on(server, it -> it);
  }

  @AfterEach
  void stop() {
    intake.open();
    if (source != null) {
      source.stop(Duration.ofSeconds(10));
    }
    queue.close();
  }

  private void start(ConnectionFactory factory) {
    source = RabbitSource.queue(factory, queue.name()).reconnect(QUICK, QUICK);
    source.start(intake);
  }

  private void send(String... ids) {
    for (String id : ids) {
      queue.send(Envelope.of("test", "queue").id(id).type("t").body(new byte[] {1}).build());
    }
  }

  private static Envelope envelope(String id) {
    return Envelope.of("rabbitmq", "queue").id(id).body(new byte[] {1}).build();
  }

  @Test
  void rq07_aBrokerThatLosesPatienceWithASlowHandlerDeliversAgainAndNothingIsLost() {
    patience(500, 200);
    try {
      intake.close();
      start(queue.straight());
      send("slow");
      intake.awaitOffered("slow");
      Eventually.until("the broker to take it back", Intake.LIMIT, () -> queue.ready() == 1);
    } finally {
      patience(1_800_000, 60_000);
    }
    intake.open();
    intake.awaitTaken("slow");
    send("next");
    intake.awaitTaken("next");
    Eventually.until("an empty queue", Intake.LIMIT, () -> queue.unacknowledged() == 0);
    assertThat(intake.offers("slow")).isEqualTo(2);
  }

  /**
   * After how long without an acknowledgement a channel is closed, and how often that is looked at.
   */
  private static void patience(int millis, int look) {
    server.eval(
        "application:set_env(rabbit, consumer_timeout, %d), application:set_env(rabbit, channel_tick_interval, %d)."
            .formatted(millis, look));
  }

  @Test
  void rq09_d104_aBlockedConnectionIsNoConfirmAndIsOverWhenTheAlarmIs() throws Exception {
    RabbitTransport transport = RabbitTransport.queue(queue.straight(), queue.name());
    assertThat(transport.send(List.of(envelope("before")), Intake.LIMIT))
        .hasOnlyElementsOfType(Sent.Confirmed.class);
    server.raiseAlarm();
    try {
      Eventually.until(
          "a word of the alarm",
          Intake.LIMIT,
          () -> outcome(transport, "blocked").contains("blocked the connection"));
    } finally {
      server.clearAlarm();
    }
    Eventually.until(
        "the end of the alarm",
        Intake.LIMIT,
        () -> outcome(transport, "after").equals("confirmed"));
    transport.close();
  }

  @Test
  void rq09_aLargeMessageThatABlockedBrokerDoesNotReadEndsItsSendInTime() throws Exception {
    RabbitTransport transport = RabbitTransport.queue(queue.straight(), queue.name());
    assertThat(transport.send(List.of(envelope("before")), Intake.LIMIT))
        .hasOnlyElementsOfType(Sent.Confirmed.class);
    Envelope large = Envelope.of("test", "queue").id("large").body(new byte[LARGE]).build();
    server.raiseAlarm();
    try {
      CompletableFuture<List<Sent>> sending =
          CompletableFuture.supplyAsync(() -> send(transport, large));
      assertThat(sending.get(Intake.LIMIT.toSeconds(), TimeUnit.SECONDS))
          .hasOnlyElementsOfType(Sent.Failed.class);
      Eventually.until(
          "a word of the alarm",
          Intake.LIMIT,
          () -> outcome(transport, "next").contains("blocked the connection"));
    } finally {
      server.clearAlarm();
    }
    Eventually.until(
        "the end of the alarm",
        Intake.LIMIT,
        () -> outcome(transport, "after").equals("confirmed"));
    transport.close();
  }

  private static List<Sent> send(RabbitTransport transport, Envelope envelope) {
    try {
      return transport.send(List.of(envelope), Duration.ofSeconds(2));
    } catch (InterruptedException e) {
      throw new IllegalStateException("interrupted", e);
    }
  }

  @Test
  void rq09_aSourceThatPutsALargeMessageAsideEndsWhenItIsStoppedInAnAlarm() throws Exception {
    queue.send(Envelope.of("test", "queue").id("large").body(new byte[LARGE]).build());
    server.raiseAlarm();
    try {
      source = queue.source().longestParking(Duration.ofHours(1)); // so that no time ends it
      source.start(intake);
      Eventually.until(
          "the broker to read no more of it",
          Intake.LIMIT,
          () -> server.eval("rabbit_networking:connection_info_all([state]).").contains("blocked"));
      source.stop(Duration.ofMillis(100));
      Eventually.until("its thread to end", Intake.LIMIT, () -> !isConsuming());
    } finally {
      server.clearAlarm();
    }
    assertThat(queue.unacknowledged()).as("kept").isEqualTo(1);
  }

  @Test
  void rq09_consumingGoesOnInAnAlarm() throws Exception {
    String[] ids = IntStream.range(0, 20).mapToObj(i -> "m-" + i).toArray(String[]::new);
    intake.answer("bad", offer -> Intake.refused());
    source = queue.source().prefetch(5);
    source.start(intake);
    send("bad"); // so that there is a connection which publishes
    Eventually.until("it to be put aside", Intake.LIMIT, () -> queue.putAside().size() == 1);
    intake.close();
    send(ids);
    RabbitTransport transport = alarm();
    try {
      intake.open();
      intake.awaitTaken(ids);
      Eventually.until("an empty queue", Intake.LIMIT, () -> queue.unacknowledged() == 0);
      assertThat(source.trouble()).isEmpty();
      assertThat(outcome(transport, "still")).contains("blocked the connection");
    } finally {
      server.clearAlarm();
    }
    transport.close();
  }

  @Test
  void rq09_whatIsRefusedInAnAlarmIsKeptAndTheRestWaitsForItsEnd() throws Exception {
    String[] ids = IntStream.range(0, 20).mapToObj(i -> "m-" + i).toArray(String[]::new);
    intake.answer("bad", offer -> Intake.refused());
    intake.close();
    source = queue.source().prefetch(5).longestParking(Duration.ofSeconds(2));
    source.start(intake);
    send("bad");
    send(ids);
    RabbitTransport transport = alarm();
    try {
      intake.open();
      Eventually.until(
          "trouble",
          Intake.LIMIT,
          () -> source.trouble().filter(it -> it.startsWith("PH-OBX-04: ")).isPresent());
      assertThat(source.trouble().orElseThrow()).contains("in an alarm");
      assertThat(intake.taken()).doesNotContain("m-19");
      assertThat(queue.ready()).as("never handed out").isGreaterThanOrEqualTo(12);
    } finally {
      server.clearAlarm();
    }
    intake.awaitTaken(ids);
    Eventually.until("an empty queue", Intake.LIMIT, () -> queue.unacknowledged() == 0);
    Eventually.until("no trouble", Intake.LIMIT, () -> source.trouble().isEmpty());
    assertThat(queue.putAside())
        .as("once or again, as nobody knew whether it had arrived")
        .anyMatch(it -> it.getProperties().getMessageId().equals("bad"));
    assertThat(intake.offers("bad")).as("never given back meanwhile").isEqualTo(1);
    transport.close();
  }

  /** Begins one, and returns when somebody who publishes was told. */
  private RabbitTransport alarm() throws InterruptedException {
    RabbitTransport transport = RabbitTransport.queue(queue.straight(), queue.aside());
    server.raiseAlarm();
    Eventually.until(
        "a word of the alarm",
        Intake.LIMIT,
        () -> outcome(transport, "word").contains("blocked the connection"));
    return transport;
  }

  private boolean isConsuming() {
    return Thread.getAllStackTraces().keySet().stream()
        .anyMatch(it -> it.getName().equals("pigeonhole-rabbitmq-" + queue.name() + "-1"));
  }

  private static String outcome(RabbitTransport transport, String id) throws InterruptedException {
    try {
      Sent sent = transport.send(List.of(envelope(id)), Duration.ofSeconds(1)).get(0);
      return sent instanceof Sent.Failed failed
          ? String.valueOf(failed.cause().getMessage())
          : "confirmed";
    } catch (RuntimeException e) {
      return String.valueOf(e.getMessage());
    }
  }

  @Test
  void rq12_whatWasConfirmedSurvivesTheCrashOfTheBroker() {
    intake.close();
    start(queue.straight());
    send("a", "b");
    intake.awaitOffered("a");
    server.writeQueues();
    server.crash();
    server.restart();
    intake.open();
    intake.awaitTaken("a", "b");
    Eventually.until("an empty queue", Intake.LIMIT, () -> queue.unacknowledged() == 0);
    queue.reconnect();
    send("c");
    intake.awaitTaken("c");
  }

  @Test
  void rq13_aFrozenBrokerIsNoticedByItsSilence() {
    ConnectionFactory factory = queue.straight();
    factory.setRequestedHeartbeat(1);
    factory.setHandshakeTimeout(1_000);
    start(factory);
    send("before");
    intake.awaitTaken("before");
    server.pause();
    try {
      Eventually.until("trouble", Intake.LIMIT, () -> source.trouble().isPresent());
    } finally {
      server.resume();
    }
    queue.reconnect();
    send("after");
    intake.awaitTaken("after");
    Eventually.until("no trouble", Intake.LIMIT, () -> source.trouble().isEmpty());
  }
}
