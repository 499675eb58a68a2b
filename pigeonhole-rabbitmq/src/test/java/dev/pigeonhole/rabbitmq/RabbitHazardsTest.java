package dev.pigeonhole.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.BuiltinExchangeType;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.Delivery;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.RabbitServer;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.MessageMapper;
import dev.pigeonhole.transport.Sent;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is known to go wrong between a consumer and RabbitMQ. */
@Timeout(300)
class RabbitHazardsTest {
  private static final Duration QUICK = Duration.ofMillis(20);

  private static int size(int small, int full) {
    return "full".equals(System.getProperty("pigeonhole.size")) ? full : small;
  }

  private final Intake intake = new Intake();
  private final List<RabbitSource> started = new ArrayList<>();
  private TestQueue queue = TestQueue.create();

  @AfterEach
  void stop() {
    intake.open();
    started.forEach(source -> source.stop(Duration.ofSeconds(10)));
    queue.close();
  }

  private RabbitSource start(RabbitSource source) {
    started.add(source);
    source.start(intake);
    return source;
  }

  private void another(TestQueue other) {
    queue.close();
    queue = other;
  }

  private void send(String... ids) {
    for (String id : ids) {
      queue.send(Envelope.of("test", "queue").id(id).type("t").body(new byte[] {1}).build());
    }
  }

  private void send(int count) {
    IntStream.range(0, count).forEach(i -> send("m-" + i));
  }

  private void awaitEmpty() {
    Eventually.until("an empty queue", Intake.LIMIT, () -> queue.unacknowledged() == 0);
  }

  private void awaitTrouble(RabbitSource source, String code) {
    Eventually.until(
        "trouble with " + code,
        Intake.LIMIT,
        () -> source.trouble().filter(it -> it.contains(code)).isPresent());
  }

  private static void awaitNoTrouble(RabbitSource source) {
    Eventually.until("no trouble", Intake.LIMIT, () -> source.trouble().isEmpty());
  }

  @Test
  void rq01_nothingOffersToAcknowledgeWhatWasNotTaken() {
    assertThat(Arrays.stream(RabbitSource.class.getMethods()).map(it -> it.getName()))
        .noneMatch(name -> name.toLowerCase(Locale.ROOT).contains("ack"));
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
    // What had arrived before the cut may be handed in after it, so some cuts find nothing to cut.
    assertThat(queue.proxy().connections()).isGreaterThan(rounds / 2);
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
  void rq06_anOutageOfTheStoreCostsNoDelivery() {
    another(TestQueue.on(RabbitServer.shared(), it -> it.deliveryLimit(3)));
    intake.down(true);
    RabbitSource source = start(queue.source());
    send(20);
    Eventually.until("many tries", Intake.LIMIT, () -> intake.failures() > 4);
    awaitTrouble(source, "the store is down");
    intake.down(false);
    intake.awaitTaken(20);
    awaitEmpty();

    assertThat(intake.offered()).noneMatch(Envelope::redelivered);
    assertThat(queue.putAside()).isEmpty();
    awaitNoTrouble(source);
  }

  @Test
  void rq06_inALongOutageMessagesAreGivenBackOnceAndNotAskedForUntilItIsOver() throws Exception {
    another(TestQueue.on(RabbitServer.shared(), it -> it.deliveryLimit(3)));
    intake.down(true);
    start(queue.source().longestOutage(QUICK).reconnect(QUICK, QUICK));
    send(20);
    Eventually.until("the messages to be given back", Intake.LIMIT, () -> queue.ready() == 20);
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
  void rq08_d103_whatCannotBePutAsideIsKeptAndTheSourceSaysSo() throws Exception {
    String unbound = queue.name() + "-unbound";
    RabbitTopology.create().exchange(unbound, BuiltinExchangeType.DIRECT).declare(queue.straight());
    intake.answer("bad", offer -> Intake.refused());
    RabbitSource source = start(queue.source().deadLetters(unbound));
    send("bad", "good");
    awaitTrouble(source, "PH-RMQ-05");
    assertThat(queue.unacknowledged()).isGreaterThanOrEqualTo(1);

    RabbitTopology.create()
        .bind(queue.name() + "-aside", unbound, queue.name())
        .declare(queue.straight());
    intake.awaitTaken("good");
    awaitEmpty();
    awaitNoTrouble(source);
    assertThat(queue.putAside()).singleElement().satisfies(this::isRefused);
    assertThat(intake.offers("bad")).isEqualTo(1);
  }

  private void isRefused(Delivery delivery) {
    Map<String, Object> headers = delivery.getProperties().getHeaders();
    assertThat(headers.get("pigeonhole-code")).hasToString("PH-ID-03");
    assertThat(headers.get("pigeonhole-reason")).hasToString("PH-ID-03: too long");
    assertThat(headers.get("pigeonhole-queue")).hasToString(queue.name());
  }

  @Test
  void rq08_anExchangeThatIsNotThereIsNoPlaceEither() {
    intake.answer("bad", offer -> Intake.refused());
    RabbitSource source = start(queue.source().deadLetters("nowhere"));
    send("bad");
    awaitTrouble(source, "PH-RMQ-05");
    assertThat(source.trouble().orElseThrow()).contains("nowhere");
    assertThat(queue.unacknowledged()).isEqualTo(1);
  }

  @Test
  void rq08_withoutAnExchangeForThemRefusedMessagesAreKept() {
    intake.answer("bad", offer -> Intake.refused());
    RabbitSource source = start(RabbitSource.queue(queue.proxied(), queue.name()));
    send("bad");
    awaitTrouble(source, "PH-RMQ-05");
    assertThat(source.trouble().orElseThrow()).contains(".deadLetters(…)", "PH-ID-03: too long");
    assertThat(queue.unacknowledged()).isEqualTo(1);
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
  void rq12_whatIsSentIsDurable() throws Exception {
    RabbitTransport transport = RabbitTransport.queue(queue.proxied(), queue.name());
    Envelope envelope = Envelope.of("test", "q").id("m").body(new byte[] {1}).build();
    assertThat(transport.send(List.of(envelope), Intake.LIMIT))
        .containsExactly(new Sent.Confirmed());
    assertThat(queue.arrived())
        .singleElement()
        .satisfies(it -> assertThat(it.getProperties().getDeliveryMode()).isEqualTo(2));
    transport.close();
  }

  @Test
  void rq12_whatIsPutAsideIsDurableHoweverItCame() {
    intake.answer(it -> Intake.refused());
    start(queue.source());
    queue.publish(
        new Publisher.Outgoing(
            "",
            queue.name(),
            new BasicProperties.Builder().messageId("m").deliveryMode(1).build(),
            new byte[0]));
    Eventually.until("it to be put aside", Intake.LIMIT, () -> queue.putAside().size() == 1);
    assertThat(queue.putAside().get(0).getProperties().getDeliveryMode()).isEqualTo(2);
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
  void anIdThatIsNoTextIsPutAside() {
    start(queue.source());
    queue.publish(
        new Publisher.Outgoing(
            "",
            queue.name(),
            new BasicProperties.Builder().messageId("a\uFFFD").deliveryMode(2).build(),
            new byte[0]));
    Eventually.until("it to be put aside", Intake.LIMIT, () -> queue.putAside().size() == 1);

    assertThat(queue.putAside().get(0).getProperties().getHeaders().get("pigeonhole-code"))
        .hasToString("PH-ID-05");
    assertThat(intake.offered()).isEmpty();
  }

  /** A frame has 131,072 bytes, and all headers are in one: none is left for what we add. */
  @Test
  void whatAmqpCannotCarryASecondTimeIsPutAsideWithoutItsHeaders() throws Exception {
    intake.answer("large", offer -> Intake.refused());
    start(queue.source());
    publishWithFullFrame("large");
    Eventually.until("it to be put aside", Intake.LIMIT, () -> queue.putAside().size() == 1);
    send("good");
    intake.awaitTaken("good");
    awaitEmpty();

    Delivery aside = queue.putAside().get(0);
    assertThat(aside.getProperties().getMessageId()).isEqualTo("large");
    assertThat(aside.getBody()).containsExactly(7);
    assertThat(aside.getProperties().getHeaders()).doesNotContainKey("filler");
    assertThat(aside.getProperties().getHeaders().get("pigeonhole-code")).hasToString("PH-ID-03");
    assertThat(aside.getProperties().getHeaders().get("pigeonhole-reason").toString())
        .startsWith("PH-ID-03: too long")
        .contains("headers are left out");
  }

  @Test
  void whatAmqpCannotCarryToTheRetryQueueIsPutAside() throws Exception {
    RabbitTopology.create().queue(RabbitQueue.retryOf(queue.name())).declare(queue.straight());
    intake.answer("large", offer -> Intake.later());
    start(queue.source().withRetry(3, Duration.ofMillis(10)));
    publishWithFullFrame("large");
    Eventually.until("it to be put aside", Intake.LIMIT, () -> queue.putAside().size() == 1);
    awaitEmpty();
    assertThat(intake.offers("large")).isEqualTo(1);
    deleteQueue(RabbitQueue.retryNameOf(queue.name()));
  }

  private void publishWithFullFrame(String id) {
    queue.publish(
        new Publisher.Outgoing(
            "",
            queue.name(),
            new BasicProperties.Builder()
                .messageId(id)
                .deliveryMode(2)
                .headers(Map.of("filler", "x".repeat(130_990)))
                .build(),
            new byte[] {7}));
  }

  @Test
  void aMessageThatAmqpCannotCarryFailsAloneAndShiftsNoConfirms() throws Exception {
    RabbitTransport transport =
        RabbitTransport.exchange(queue.proxied(), "").routingKey(queue.name());
    Envelope good = Envelope.of("test", "q").id("good").type("t").body(new byte[] {1}).build();
    Envelope bad = Envelope.of("test", "q").id("bad").contentType("c".repeat(300)).build();
    List<Sent> answers = transport.send(List.of(bad, good), Intake.LIMIT);
    assertThat(((Sent.Failed) answers.get(0)).cause())
        .isInstanceOf(PoisonException.class)
        .hasMessageStartingWith("PH-MAP-01");
    for (int i = 0; i < 3; i++) {
      assertThat(transport.send(List.of(good), Intake.LIMIT)).containsExactly(new Sent.Confirmed());
    }
    transport.close();
  }

  @Test
  void rq06_aPlaceForRefusedMessagesThatIsFullCostsNoDelivery() throws Exception {
    String full = queue.name() + "-full";
    RabbitTopology.create()
        .queue(
            RabbitQueue.classic(full)
                .argument("x-max-length", 0L)
                .argument("x-overflow", "reject-publish"))
        .declare(queue.straight());
    intake.answer("bad", offer -> Intake.refused());
    RabbitSource source = start(queue.source().deadLetters("", full).reconnect(QUICK, QUICK));
    send("bad");
    awaitTrouble(source, "PH-OBX-04");
    assertThat(queue.proxy().connections())
        .as("of the consumer, and for refused ones")
        .isEqualTo(2);
    assertThat(queue.unacknowledged()).isEqualTo(1);

    deleteQueue(full);
    RabbitTopology.create().queue(RabbitQueue.classic(full)).declare(queue.straight());
    awaitEmpty();
    assertThat(RabbitServer.shared().messages("/", full)).isEqualTo(1);
    assertThat(intake.offers("bad")).as("never given back meanwhile").isEqualTo(1);
    deleteQueue(full);
  }

  @Test
  void whatIsPutAsideCarriesNoOrdersForTheBroker() throws Exception {
    String audit = queue.name() + "-audit";
    RabbitTopology.create().queue(RabbitQueue.classic(audit)).declare(queue.straight());
    intake.answer(it -> Intake.refused());
    start(queue.source());
    queue.publish(
        new Publisher.Outgoing(
            "",
            queue.name(),
            new BasicProperties.Builder()
                .messageId("m")
                .deliveryMode(2)
                .headers(Map.of("CC", List.of(audit)))
                .build(),
            new byte[0]));
    Eventually.until("it to be put aside", Intake.LIMIT, () -> queue.putAside().size() == 1);
    assertThat(queue.putAside().get(0).getProperties().getHeaders()).doesNotContainKey("CC");
    assertThat(RabbitServer.shared().messages("/", audit)).as("copies for others").isEqualTo(1);
    deleteQueue(audit);
  }

  @Test
  void d99_aQueueThatIsNotThereIsAskedForUntilItIs() throws Exception {
    String missing = queue.name() + "-missing";
    RabbitSource source =
        start(RabbitSource.queue(queue.proxied(), missing).reconnect(QUICK, QUICK));
    awaitTrouble(source, "PH-RMQ-01");
    assertThat(source.trouble().orElseThrow()).contains(missing);

    RabbitTopology.create().queue(RabbitQueue.classic(missing)).declare(queue.straight());
    awaitNoTrouble(source);
    deleteQueue(missing);
  }

  @Test
  void d100_aUserWithoutThePermissionIsTold() {
    String server = "stranger-" + queue.name();
    RabbitServer.shared().ctl("add_user", server, "secret");
    RabbitServer.shared().ctl("set_permissions", server, "", "", "");
    ConnectionFactory stranger = queue.proxied();
    stranger.setUsername(server);
    stranger.setPassword("secret");
    RabbitSource source = start(RabbitSource.queue(stranger, queue.name()).reconnect(QUICK, QUICK));
    awaitTrouble(source, "PH-RMQ-02");
    assertThat(source.trouble().orElseThrow()).contains(queue.name()).doesNotContain("secret");
    RabbitServer.shared().ctl("delete_user", server);
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
    Eventually.until("a consumer", Intake.LIMIT, () -> consumers(name) == 1);
    deleteQueue(name);
    Eventually.until(
        "the end to be noticed",
        Intake.LIMIT,
        () ->
            source
                .trouble()
                .filter(it -> it.contains("PH-RMQ-06") || it.contains("PH-RMQ-01"))
                .isPresent());
    topology.declare(queue.straight());
    awaitNoTrouble(source);
    Eventually.until("a consumer", Intake.LIMIT, () -> consumers(name) == 1);
    deleteQueue(name);
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

  private void deleteQueue(String name) throws Exception {
    try (Connection connection = queue.straight().newConnection();
        Channel channel = connection.createChannel()) {
      channel.queueDelete(name);
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
      Eventually.until("trouble", Intake.LIMIT, () -> source.trouble().isPresent());
    }
  }

  @Test
  void whatIsForLaterWaitsInTheRetryQueueAndComesBack() throws Exception {
    RabbitTopology.create().queue(RabbitQueue.retryOf(queue.name())).declare(queue.straight());
    intake.answer("slow", offer -> offer < 3 ? Intake.later() : Intake.DONE);
    start(queue.source().withRetry(5, Duration.ofMillis(100)));
    send("slow", "good");
    intake.awaitTaken("slow", "good");
    awaitEmpty();

    assertThat(intake.offers("slow")).isEqualTo(3);
    assertThat(queue.putAside()).isEmpty();
    deleteQueue(queue.name() + ".retry");
  }

  @Test
  void whatIsForLaterTooOftenIsPutAsideWithTheLastReason() throws Exception {
    RabbitTopology.create().queue(RabbitQueue.retryOf(queue.name())).declare(queue.straight());
    intake.answer("slow", offer -> Intake.later());
    start(queue.source().withRetry(2, Duration.ofMillis(50)));
    send("slow");
    Eventually.until("it to be put aside", Intake.LIMIT, () -> queue.putAside().size() == 1);
    awaitEmpty();

    assertThat(intake.offers("slow")).as("once, and two retries").isEqualTo(3);
    Map<String, Object> headers = queue.putAside().get(0).getProperties().getHeaders();
    assertThat(headers.get("pigeonhole-reason")).hasToString("not yet");
    assertThat(headers)
        .as("whoever moves it back means it")
        .doesNotContainKey("pigeonhole-retries");
    deleteQueue(queue.name() + ".retry");
  }

  @Test
  void whatHasNoRetryQueueIsKeptAndTheSourceSaysSo() {
    intake.answer("slow", offer -> Intake.later());
    RabbitSource source = start(queue.source().withRetry(2, Duration.ofMillis(50)));
    send("slow");
    awaitTrouble(source, "PH-RMQ-05");
    assertThat(source.trouble().orElseThrow()).contains(queue.name() + ".retry");
    assertThat(queue.unacknowledged()).isEqualTo(1);
  }
}
