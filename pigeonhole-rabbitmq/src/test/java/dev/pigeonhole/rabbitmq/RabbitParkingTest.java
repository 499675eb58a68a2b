package dev.pigeonhole.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.BuiltinExchangeType;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.Delivery;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.RabbitServer;
import java.math.BigDecimal;
import java.time.Duration;
import java.time.Instant;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** What is refused or for later: it waits where it can be seen, and nothing passes by unseen. */
class RabbitParkingTest extends SourceTests {
  @Test
  void rq08_d103_whatCannotBePutAsideIsKeptAndTheSourceSaysSo() throws Exception {
    String unbound = queue.name() + "-unbound";
    RabbitTopology.create().exchange(unbound, BuiltinExchangeType.DIRECT).declare(queue.straight());
    intake.answer("bad", offer -> Intake.refused());
    RabbitSource source = start(queue.source().deadLetters(unbound));
    send("bad", "good");
    assertThat(awaitTrouble(source, "PH-RMQ-05")).contains(unbound, "bind a queue to it");
    waitUnacknowledged("m-0", "m-1", "m-2");

    RabbitTopology.create().bind(queue.aside(), unbound, queue.name()).declare(queue.straight());
    intake.awaitTaken("good", "m-0", "m-1", "m-2");
    awaitEmpty();
    awaitNoTrouble(source);
    assertThat(queue.putAside()).singleElement().satisfies(this::isRefused);
    assertThat(intake.offers("bad")).isEqualTo(1);
  }

  /** They are handed out, as far as the prefetch lets them, and wait behind what has no place. */
  private void waitUnacknowledged(String... ids) throws Exception {
    send(ids);
    Eventually.until("them to be handed out", Intake.LIMIT, () -> queue.ready() == 0);
    for (String id : ids) {
      assertThat(intake.offers(id)).isZero();
    }
    assertThat(queue.unacknowledged()).isGreaterThan(ids.length);
  }

  private void isRefused(Delivery delivery) {
    Map<String, Object> headers = delivery.getProperties().getHeaders();
    assertThat(headers.get("pigeonhole-code")).hasToString("PH-ID-03");
    assertThat(headers.get("pigeonhole-reason")).hasToString("PH-ID-03: too long");
    assertThat(headers.get("pigeonhole-queue")).hasToString(queue.name());
  }

  @Test
  void rq05_rq08_noMoreThanThePrefetchWaitsBehindWhatHasNoPlace() throws Exception {
    intake.answer("bad", offer -> Intake.refused());
    RabbitSource source = start(queue.source().deadLetters("nowhere").prefetch(5));
    send("bad");
    awaitTrouble(source, "PH-RMQ-05");
    send(20);
    Eventually.until("five to be handed out", Intake.LIMIT, () -> queue.ready() == 16);
    assertThat(queue.unacknowledged()).isEqualTo(21);
    assertThat(intake.offered()).hasSize(1);
  }

  @Test
  void rq08_whatHadNoPlaceWhenItsConnectionWasLostIsPutAsideOnce() throws Exception {
    String unbound = queue.name() + "-unbound";
    RabbitTopology.create().exchange(unbound, BuiltinExchangeType.DIRECT).declare(queue.straight());
    intake.answer("bad", offer -> Intake.refused());
    RabbitSource source = start(queue.source().deadLetters(unbound).reconnect(QUICK, QUICK));
    send("bad");
    awaitTrouble(source, "PH-RMQ-05");
    queue.proxy().cut();
    Eventually.until("it to come again", Intake.LIMIT, () -> intake.offers("bad") == 2);

    RabbitTopology.create().bind(queue.aside(), unbound, queue.name()).declare(queue.straight());
    awaitEmpty();
    assertThat(queue.putAside()).hasSize(1);
    deleteExchange(unbound);
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
  void d100_whoMayNotPublishToTheExchangeForThemIsTold() {
    String user = "reader-" + queue.name();
    RabbitServer.shared().addReader(user, "secret", "/", queue.name());
    ConnectionFactory reader = queue.proxied();
    reader.setUsername(user);
    reader.setPassword("secret");
    intake.answer("bad", offer -> Intake.refused());
    RabbitSource source =
        start(RabbitSource.queue(reader, queue.name()).deadLetters(queue.deadLetters()));
    send("bad");
    assertThat(awaitTrouble(source, "PH-RMQ-02"))
        .contains("exchange '" + queue.deadLetters() + "'", "Give it the permission")
        .doesNotContain("alarm", "secret");
    assertThat(queue.unacknowledged()).isEqualTo(1);
    RabbitServer.shared().deleteUser(user);
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
    assertThat(awaitTrouble(source, "PH-OBX-04")).contains("has no room");
    assertThat(queue.proxy().connections())
        .as("of the consumer, and for refused ones")
        .isEqualTo(2);
    assertThat(queue.unacknowledged()).isEqualTo(1);
    waitUnacknowledged("m-0", "m-1", "m-2");

    deleteQueue(full);
    RabbitTopology.create().queue(RabbitQueue.classic(full)).declare(queue.straight());
    awaitEmpty();
    assertThat(RabbitServer.shared().messages("/", full)).isEqualTo(1);
    assertThat(intake.offers("bad")).as("never given back meanwhile").isEqualTo(1);
    intake.awaitTaken("m-0", "m-1", "m-2");
    deleteQueue(full);
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
  void whatIsPutAsideIsAsItCameButForWhatABrokerWouldActOn() {
    Date time = Date.from(Instant.parse("2026-01-02T03:04:05Z"));
    BasicProperties properties =
        new BasicProperties.Builder()
            .messageId("m")
            .type("order.placed")
            .contentType("application/json")
            .contentEncoding("gzip")
            .correlationId("c-17")
            .replyTo("answers")
            .appId("checkout")
            .clusterId("west")
            .priority(3)
            .timestamp(time)
            .deliveryMode(2)
            .userId("guest")
            .expiration("3600000")
            .headers(
                Map.of(
                    "tenant",
                    "acme",
                    "bytes",
                    new byte[] {0, -1},
                    "table",
                    Map.of("list", List.of(1, 2L, true, 0.5), "time", time),
                    "price",
                    new BigDecimal("1.25")))
            .build();
    byte[] body = {0, 1, -1};
    intake.answer(it -> Intake.refused());
    start(queue.source());
    queue.publish(new Publisher.Outgoing("", queue.aside(), properties, body)); // to compare with
    queue.publish(new Publisher.Outgoing("", queue.name(), properties, body));
    Eventually.until("it to be put aside", Intake.LIMIT, () -> queue.putAside().size() == 2);

    Delivery came = queue.putAside().get(0);
    Delivery aside = queue.putAside().get(1);
    isRefused(aside);
    assertThat(aside.getBody()).isEqualTo(body);
    assertThat(aside.getProperties().builder().headers(null).build())
        .isEqualTo(
            came.getProperties().builder().headers(null).userId(null).expiration(null).build());
    assertThat(theirs(aside)).usingRecursiveComparison().isEqualTo(theirs(came));
  }

  private static Map<String, Object> theirs(Delivery delivery) {
    Map<String, Object> headers = new TreeMap<>(delivery.getProperties().getHeaders());
    headers.keySet().removeIf(Names::isOurs);
    return headers;
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

  /** The client reads three bytes for each that is no UTF-8, and writes names of up to 255. */
  @Test
  void whatHasANameThatIsNoTextIsPutAsideWithoutItsHeaders() {
    intake.answer("odd", offer -> Intake.refused());
    start(queue.source());
    RabbitServer.shared()
        .eval(
            """
            rabbit_basic:publish(rabbit_misc:r(<<"/">>, exchange, <<>>), <<"%s">>, \
            [{message_id, <<"odd">>}, {type, <<"t">>}, {delivery_mode, 2}, \
            {headers, [{binary:copy(<<255>>, 255), longstr, <<"x">>}]}], <<7>>)."""
                .formatted(queue.name()));
    send("good");
    intake.awaitTaken("good");
    awaitEmpty();

    Delivery aside = queue.putAside().get(0);
    assertThat(aside.getProperties().getMessageId()).isEqualTo("odd");
    assertThat(aside.getBody()).containsExactly(7);
    assertThat(aside.getProperties().getHeaders().keySet()).allMatch(Names::isOurs);
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
  void whatComesBackLooksAsIfItHadComeThroughItsExchange() throws Exception {
    String topic = queue.name() + "-topic";
    RabbitTopology.create()
        .queue(RabbitQueue.retryOf(queue.name()))
        .exchange(topic, BuiltinExchangeType.TOPIC)
        .bind(queue.name(), topic, "order.*")
        .declare(queue.straight());
    intake.answer("slow", offer -> offer < 3 ? Intake.later() : Intake.refused());
    start(queue.source().withRetry(5, Duration.ofMillis(10)));
    queue.publish(
        new Publisher.Outgoing(
            topic,
            "order.placed",
            new BasicProperties.Builder().messageId("slow").deliveryMode(2).build(),
            new byte[0]));
    Eventually.until("it to be put aside", Intake.LIMIT, () -> queue.putAside().size() == 1);
    Delivery aside = queue.putAside().get(0);
    queue.publish(new Publisher.Outgoing("", queue.name(), aside.getProperties(), aside.getBody()));
    Eventually.until("it to come again", Intake.LIMIT, () -> intake.offers("slow") == 4);

    assertThat(intake.offered())
        .as("at first, two times later, and moved back")
        .allSatisfy(
            it -> {
              assertThat(it.properties().get("exchange")).isEqualTo(topic);
              assertThat(it.properties().get("routing-key")).isEqualTo("order.placed");
              assertThat(it.headers().asMap()).isEmpty();
            });
    deleteQueue(queue.name() + ".retry");
    deleteExchange(topic);
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
