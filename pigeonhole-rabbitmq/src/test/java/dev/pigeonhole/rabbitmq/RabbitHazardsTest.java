package dev.pigeonhole.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.Ports;
import dev.pigeonhole.support.RabbitServer;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.MessageMapper;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What is known to go wrong between a consumer and RabbitMQ. */
class RabbitHazardsTest extends SourceTests {
  @Test
  void rq01_nothingOffersToAcknowledgeWhatWasNotTaken() {
    assertThat(Arrays.stream(RabbitSource.class.getMethods()).map(it -> it.getName()))
        .noneMatch(name -> name.toLowerCase(Locale.ROOT).contains("ack"));
  }

  @Test
  void rq01_whatIsHandedOutIsTheBrokersUntilItIsTaken() {
    intake.close();
    start(queue.source());
    send("m");
    intake.awaitOffered("m");
    assertThat(queue.unacknowledged()).isEqualTo(1);

    intake.open();
    intake.awaitTaken("m");
    awaitEmpty();
  }

  @Test
  void rq02_rq03_aConnectionThatIsCutWhileMessagesAreTakenLosesNoneAndTheConsumerLives() {
    int rounds = size(25, 500);
    RabbitSource source = start(queue.source().reconnect(QUICK, QUICK));
    for (int i = 0; i < rounds; i++) {
      intake.close();
      send("a-" + i);
      Eventually.until("the source to hand something in", Intake.LIMIT, intake::isBusy);
      send("b-" + i, "c-" + i);
      queue.proxy().cut();
      intake.open();
      Eventually.until("the batch to end", Intake.LIMIT, () -> !intake.isBusy());
    }
    send("last");
    intake.awaitTaken(3 * rounds + 1);
    awaitEmpty();
    // What had arrived before a cut may be handed in after it, and the next two cuts find nothing.
    assertThat(queue.proxy().connections()).isGreaterThan(rounds / 4);
    assertThat(queue.putAside()).isEmpty();
    awaitNoTrouble(source);
  }

  @Test
  void rq02_rq04_onlyWhatWasTakenIsAcknowledgedByTheConsumersThreadOnItsOwnChannel() {
    Spy spy = new Spy(queue.proxied(), id -> intake.taken().contains(id));
    start(RabbitSource.queue(spy, queue.name()).reconnect(QUICK, QUICK));
    for (int i = 0; i < 5; i++) {
      intake.close();
      send("a-" + i, "b-" + i);
      Eventually.until("the source to hand something in", Intake.LIMIT, intake::isBusy);
      queue.proxy().cut();
      intake.open();
    }
    intake.awaitTaken(10);
    awaitEmpty();

    isSound(spy);
  }

  @Test
  void rq02_whatIsForLaterIsNotAcknowledgedWithWhatCameAfterIt() {
    Spy spy = new Spy(queue.proxied(), id -> intake.taken().contains(id));
    intake.answer(
        it -> {
          String id = it.id().orElseThrow();
          return id.endsWith("7") && intake.offers(id) < 3 ? Intake.later() : Intake.DONE;
        });
    start(RabbitSource.queue(spy, queue.name()).prefetch(30));
    send(100);
    intake.awaitTaken(100);
    awaitEmpty();

    isSound(spy);
    assertThat(spy.acks().stream().flatMap(ack -> ack.ids().stream()))
        .as("each once, and none that was never delivered")
        .containsExactlyInAnyOrderElementsOf(
            IntStream.range(0, 100).mapToObj(i -> "m-" + i).toList());
  }

  @Test
  void aBatchIsAcknowledgedWithOneFrame() throws Exception {
    Spy spy = new Spy(queue.proxied(), id -> intake.taken().contains(id));
    intake.close();
    start(RabbitSource.queue(spy, queue.name()).prefetch(60));
    send("first");
    intake.awaitOffered("first");
    send(50);
    Eventually.until("all to be handed out", Intake.LIMIT, () -> queue.ready() == 0);
    intake.open();
    intake.awaitTaken(51);
    awaitEmpty();

    isSound(spy);
    assertThat(spy.acks()).hasSize(intake.batches());
  }

  private void isSound(Spy spy) {
    assertThat(spy.acks())
        .isNotEmpty()
        .allSatisfy(
            ack -> {
              assertThat(ack.ids()).as("messages of this channel").isNotEmpty();
              assertThat(ack.untaken()).isEmpty();
              assertThat(ack.thread()).isEqualTo("pigeonhole-rabbitmq-" + queue.name() + "-1");
            });
  }

  @Test
  void rq05_noMoreThanThePrefetchIsOutsideTheBroker() throws Exception {
    intake.close();
    start(queue.source().prefetch(20));
    send(100);
    intake.awaitOffered("m-0");

    Eventually.until("twenty to be handed out", Intake.LIMIT, () -> queue.ready() == 80);
    assertThat(queue.unacknowledged()).isEqualTo(100);
    intake.open();
    intake.awaitTaken(100);
    awaitEmpty();
  }

  @Test
  void rq05_withoutAWord250AreOutsideTheBrokerAndNoMoreThan200TakenTogether() throws Exception {
    intake.close();
    start(queue.source());
    send("first");
    intake.awaitOffered("first");
    send(300);
    Eventually.until("250 to be handed out", Intake.LIMIT, () -> queue.ready() == 51);
    intake.open();
    intake.awaitTaken(301);

    assertThat(intake.largestBatch()).isGreaterThan(1).isLessThanOrEqualTo(200);
  }

  /** Each batch that is handed in pauses the source or lets it go on, from its own thread. */
  @Test
  void rq05_whatIsKeptOverPausesIsNoMoreThanThePrefetch() throws Exception {
    AtomicBoolean full = new AtomicBoolean();
    AtomicInteger turns = new AtomicInteger();
    RabbitSource source = queue.source().prefetch(20);
    start(
        source,
        envelopes -> {
          if (full.get() && turns.incrementAndGet() % 2 == 1) {
            source.pause("a test");
          } else {
            source.resume();
          }
          return envelopes.stream().map(it -> Intake.later()).toList();
        });
    send(100);
    Eventually.until("twenty to be handed out", Intake.LIMIT, () -> queue.ready() == 80);
    full.set(true);
    Eventually.until("three pauses, and what follows", Intake.LIMIT, () -> turns.get() > 6);

    assertThat(queue.ready()).isEqualTo(80);
  }

  @Test
  void rq06_anOutageOfTheStoreCostsNoDelivery() {
    another(TestQueue.on(RabbitServer.shared(), it -> it.deliveryLimit(3)));
    intake.down(true);
    RabbitSource source = start(queue.source());
    send(20);
    Eventually.until("many tries", Intake.LIMIT, () -> intake.failures() > 4);
    assertThat(awaitTrouble(source, "the store is down"))
        .startsWith("PH-DB-01: ")
        .contains(queue.name(), "Look at its store");
    intake.down(false);
    intake.awaitTaken(20);
    awaitEmpty();

    assertThat(intake.offered()).noneMatch(Envelope::redelivered);
    assertThat(queue.putAside()).isEmpty();
    awaitNoTrouble(source);
  }

  @Test
  void rq06_anErrorOfTheInboxCostsNoDelivery() {
    another(TestQueue.on(RabbitServer.shared(), it -> it.deliveryLimit(3)));
    AtomicInteger tries = new AtomicInteger();
    AtomicBoolean broken = new AtomicBoolean(true);
    RabbitSource source =
        start(
            queue.source().reconnect(QUICK, QUICK),
            envelopes -> {
              tries.incrementAndGet();
              if (broken.get()) {
                throw new NoClassDefFoundError("Gone");
              }
              return intake.accept(envelopes);
            });
    send(20);
    Eventually.until("more tries than deliveries", Intake.LIMIT, () -> tries.get() > 4);
    String said = awaitTrouble(source, "NoClassDefFoundError");
    broken.set(false);
    awaitEmpty();

    assertThat(queue.putAside()).isEmpty();
    assertThat(intake.taken()).hasSize(20);
    assertThat(intake.offered()).noneMatch(Envelope::redelivered);
    assertThat(said).startsWith("PH-RMQ-07: ").contains(queue.name(), "Look at class path");
    awaitNoTrouble(source);
  }

  @Test
  void rq06_inALongOutageMessagesAreGivenBackOnceAndNotAskedForUntilItIsOver() throws Exception {
    another(TestQueue.on(RabbitServer.shared(), it -> it.deliveryLimit(3)));
    intake.down(true);
    start(queue.source().longestOutage(QUICK).reconnect(QUICK, QUICK));
    send(20);
    Eventually.until(
        "the messages to be given back", // and not: to be handed out for the first time
        Intake.LIMIT,
        () -> intake.failures() > 0 && queue.ready() == 20);
    int failures = intake.failures();
    Eventually.until("one more try", Intake.LIMIT, () -> intake.failures() > failures);
    assertThat(queue.ready()).as("still with the broker").isEqualTo(20);
    intake.down(false);
    intake.awaitTaken(20);
    awaitEmpty();

    assertThat(queue.putAside()).isEmpty();
    assertThat(intake.offered())
        .extracting(it -> it.properties().get("x-delivery-count"))
        .as("deliveries before")
        .contains(1L)
        .doesNotContain(2L, 3L);
  }

  @Test
  void rq10_withASingleActiveConsumerTheOrderSurvivesLostConnections() {
    another(
        TestQueue.on(RabbitServer.shared(), it -> it.argument("x-single-active-consumer", true)));
    int count = size(300, 3_000);
    start(queue.source().prefetch(10).reconnect(QUICK, QUICK));
    start(queue.source().prefetch(10).reconnect(QUICK, QUICK));
    for (int i = 0; i < count; i++) {
      send("m-" + i);
      if (i % (count / 5) == 7) {
        queue.proxy().cut();
      }
    }
    intake.awaitTaken(count);

    assertThat(intake.taken())
        .containsExactlyElementsOf(IntStream.range(0, count).mapToObj(i -> "m-" + i).toList());
  }

  @Test
  void rq10_withASingleActiveConsumerTheOrderSurvivesAStop() throws Exception {
    another(
        TestQueue.on(RabbitServer.shared(), it -> it.argument("x-single-active-consumer", true)));
    int count = 300;
    intake.close();
    RabbitSource active = start(queue.source().prefetch(10));
    Eventually.until("a consumer", Intake.LIMIT, () -> queue.allConsumers() == 1);
    start(queue.source().prefetch(10));
    Eventually.until("one that waits", Intake.LIMIT, () -> queue.allConsumers() == 2);
    send("m-0");
    intake.awaitOffered("m-0");
    IntStream.range(1, count).forEach(i -> send("m-" + i));
    Eventually.until("ten to be handed out", Intake.LIMIT, () -> queue.ready() == count - 10);
    Thread stopping = new Thread(() -> active.stop(Intake.LIMIT));
    stopping.start();
    Eventually.until(
        "it to wait for what is being taken",
        Intake.LIMIT,
        () -> stopping.getState() == Thread.State.TIMED_WAITING);
    intake.open();
    intake.awaitTaken(count);
    stopping.join();

    assertThat(intake.taken())
        .containsExactlyElementsOf(IntStream.range(0, count).mapToObj(i -> "m-" + i).toList());
  }

  @Test
  void rq14_theIdMayBeInAHeader() {
    start(queue.source());
    queue.publish(
        new Publisher.Outgoing(
            "",
            queue.name(),
            new BasicProperties.Builder().headers(Map.of("event-id", "e-1")).build(),
            new byte[0]));
    intake.awaitTaken("");

    Envelope envelope = intake.offered().get(0);
    assertThat(envelope.id()).isEmpty();
    assertThat(MessageMapper.plain().type("t").idFrom("event-id").toMessage(envelope).id())
        .isEqualTo("e-1");
  }

  @Test
  void d99_aQueueThatIsNotThereIsAskedForUntilItIs() throws Exception {
    String missing = queue.name() + "-missing";
    RabbitSource source =
        start(RabbitSource.queue(queue.proxied(), missing).reconnect(QUICK, QUICK));
    assertThat(awaitTrouble(source, "PH-RMQ-01")).contains(missing, "Declare it");

    RabbitTopology.create().queue(RabbitQueue.classic(missing)).declare(queue.straight());
    awaitNoTrouble(source);
    deleteQueue(missing);
  }

  @Test
  void d100_aUserWithoutThePermissionIsTold() {
    String server = "stranger-" + queue.name();
    RabbitServer.shared().addReader(server, "secret", "/", "");
    ConnectionFactory stranger = queue.proxied();
    stranger.setUsername(server);
    stranger.setPassword("secret");
    RabbitSource source = start(RabbitSource.queue(stranger, queue.name()).reconnect(QUICK, QUICK));
    assertThat(awaitTrouble(source, "PH-RMQ-02"))
        .contains(queue.name(), "Correct the login")
        .doesNotContain("secret");
    RabbitServer.shared().deleteUser(server);
  }

  @Test
  void d105_aDeletedQueueIsReportedAndFoundAgain() throws Exception {
    String name = queue.name() + "-gone";
    RabbitTopology topology = RabbitTopology.create().queue(RabbitQueue.classic(name));
    topology.declare(queue.straight());
    RabbitSource source =
        start(
            RabbitSource.queue(queue.proxied(), name)
                .reconnect(Duration.ofMillis(300), Duration.ofMillis(300)));
    Duration never = Duration.ofDays(1); // so that no later trouble hides the first
    RabbitSource patient = start(RabbitSource.queue(queue.proxied(), name).reconnect(never, never));
    Eventually.until("both consumers", Intake.LIMIT, () -> consumers(name) == 2);
    deleteQueue(name);
    assertThat(awaitTrouble(patient, "PH-RMQ-06")).contains(name, "Declare it again");
    Eventually.until("the end to be noticed", Intake.LIMIT, () -> source.trouble().isPresent());
    topology.declare(queue.straight());
    awaitNoTrouble(source);
    Eventually.until("a consumer", Intake.LIMIT, () -> consumers(name) == 1);
    deleteQueue(name);
  }

  @Test
  void aBrokerThatCannotBeReachedIsNamedWithAWayOut() {
    ConnectionFactory nobody = queue.straight();
    nobody.setPort(Ports.free());
    RabbitSource never = start(RabbitSource.queue(nobody, queue.name()).reconnect(QUICK, QUICK));
    assertThat(awaitTrouble(never, "PH-RMQ-07"))
        .contains(queue.name(), "127.0.0.1:" + nobody.getPort(), "refused", "Look at the broker");

    RabbitSource source = start(queue.source().reconnect(QUICK, QUICK));
    send("before");
    intake.awaitTaken("before");
    queue.proxy().refuse(true);
    queue.proxy().cut();
    assertThat(awaitTrouble(source, "PH-RMQ-07")).contains("Look at the broker");
    queue.proxy().refuse(false);
    send("after");
    intake.awaitTaken("after");
    awaitNoTrouble(source);
  }

  @Test
  void severalConsumersShareTheQueue() {
    start(queue.source().consumers(3));
    Eventually.until("three of them", Intake.LIMIT, () -> queue.consumers() == 3);
    send(50);
    intake.awaitTaken(50);
    awaitEmpty();
  }

  private long consumers(String name) throws Exception {
    try (Connection connection = queue.straight().newConnection();
        Channel channel = connection.createChannel()) {
      return channel.queueDeclarePassive(name).getConsumerCount();
    }
  }

  @Test
  void d106_garbageFromTheOtherSideIsAnotherReasonToConnectAgain() throws Exception {
    AtomicInteger connections = new AtomicInteger();
    try (ServerSocket garbage = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
      Thread server =
          new Thread(
              () -> {
                while (true) {
                  try (Socket socket = garbage.accept()) {
                    connections.incrementAndGet();
                    socket
                        .getOutputStream()
                        .write("\1\0\0\0\0\0\5garbage".repeat(20).getBytes(StandardCharsets.UTF_8));
                  } catch (IOException e) {
                    return;
                  }
                }
              });
      server.start();
      ConnectionFactory factory = queue.proxied();
      factory.setPort(garbage.getLocalPort());
      factory.setHandshakeTimeout(1_000);
      RabbitSource source =
          start(RabbitSource.queue(factory, queue.name()).reconnect(QUICK, QUICK));
      Eventually.until("three tries", Intake.LIMIT, () -> connections.get() >= 3);
      awaitTrouble(source, "PH-RMQ-07");
    }
  }
}
