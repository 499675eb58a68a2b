package dev.pigeonhole.examples.docs;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.rabbitmq.client.ConnectionFactory;
import dev.pigeonhole.Message;
import dev.pigeonhole.cloudevents.CloudEventMapper;
import dev.pigeonhole.kafka.KafkaSource;
import dev.pigeonhole.kafka.KafkaTransport;
import dev.pigeonhole.rabbitmq.RabbitQueue;
import dev.pigeonhole.rabbitmq.RabbitSource;
import dev.pigeonhole.rabbitmq.RabbitTopology;
import dev.pigeonhole.rabbitmq.RabbitTransport;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.KafkaServer;
import dev.pigeonhole.support.RabbitServer;
import dev.pigeonhole.transport.Disposition;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.MessageSource;
import dev.pigeonhole.transport.Sent;
import dev.pigeonhole.transport.Transport;
import dev.pigeonhole.webhook.OutgoingHttp;
import dev.pigeonhole.webhook.Signature;
import dev.pigeonhole.webhook.Webhook;
import dev.pigeonhole.webhook.WebhookServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Events of ours leave by a real transport and come back by the source of the same kind. */
class CloudEventsOverTheWireTest {
  private static final Duration LIMIT = Duration.ofMinutes(3);
  private static final List<byte @Nullable []> DATA =
      Arrays.asList(null, new byte[0], "{\"order\": \"o-1\"}".getBytes(UTF_8));

  private final BlockingQueue<Envelope> arrived = new LinkedBlockingQueue<>();

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void rabbitMq(boolean structured) throws IOException, InterruptedException {
    ConnectionFactory factory = new ConnectionFactory();
    factory.setHost("127.0.0.1");
    factory.setPort(RabbitServer.shared().amqpPort());
    String queue = "events-" + structured;
    RabbitTopology.create().queue(RabbitQueue.classic(queue)).declare(factory);
    arriveAsTheyLeft(
        structured, RabbitTransport.queue(factory, queue), RabbitSource.queue(factory, queue));
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void kafka(boolean structured) throws InterruptedException {
    String topic = "events-" + structured;
    KafkaServer.shared().createTopic(topic, 1);
    Map<String, Object> settings = Map.of("bootstrap.servers", KafkaServer.shared().bootstrap());
    arriveAsTheyLeft(
        structured,
        KafkaTransport.topic(settings, topic),
        KafkaSource.topic(
            Map.of("bootstrap.servers", KafkaServer.shared().bootstrap(), "group.id", topic),
            topic));
  }

  /** In binary mode the signature of ours would not cover the attributes. */
  @Test
  void http() throws InterruptedException {
    String secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    WebhookServer server =
        WebhookServer.on(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .serving(
                Webhook.at("/hooks")
                    .verifiedBy(Signature.standardWebhooks(secret))
                    .contentTypes("application/cloudevents+json"));
    server.start(this::take);
    try {
      arriveAsTheyLeft(
          true,
          OutgoingHttp.create()
              .allowPorts(server.port())
              .unsafeAllowHttp()
              .unsafeAllowPrivateAddresses()
              .signedWith(secret)
              .to(URI.create("http://127.0.0.1:" + server.port() + "/hooks"))
              .transport());
    } finally {
      server.stop(LIMIT);
    }
  }

  private void arriveAsTheyLeft(boolean structured, Transport transport, MessageSource source)
      throws InterruptedException {
    source.start(this::take);
    try {
      arriveAsTheyLeft(structured, transport);
    } finally {
      source.stop(LIMIT);
    }
  }

  private void arriveAsTheyLeft(boolean structured, Transport transport)
      throws InterruptedException {
    CloudEventMapper mapper = CloudEventMapper.create();
    CloudEventMapper out = structured ? mapper.structured() : mapper;
    for (byte[] data : DATA) {
      Message message =
          Message.encoded("e-1", "com.shop.order.placed", data, "application/json")
              .from("/shop")
              .orderedBy("c-1")
              .occurredAt(Instant.parse("2026-01-02T03:04:05.678Z"))
              .header("ce-subject", "o-1");
      Envelope sent = out.toEnvelope(message, transport.kind(), transport.destination());
      // A busy broker may answer too late at first.
      Eventually.passes(
          LIMIT,
          () ->
              assertThat(transport.send(List.of(sent), LIMIT))
                  .containsExactly(new Sent.Confirmed()));
      Envelope envelope = arrived.poll(LIMIT.toSeconds(), TimeUnit.SECONDS);
      assertThat(envelope).isNotNull();
      Message read = mapper.toMessage(envelope);
      assertThat(read.payload()).as("data").isEqualTo(data);
      assertThat(read)
          .extracting(
              Message::id,
              Message::source,
              Message::type,
              Message::contentType,
              Message::orderingKey,
              Message::occurredAt)
          .containsExactly(
              message.id(),
              message.source(),
              message.type(),
              message.contentType(),
              message.orderingKey(),
              message.occurredAt());
      assertThat(read.headers().get("ce-subject")).isEqualTo("o-1");
    }
    transport.close();
  }

  private List<Disposition> take(List<Envelope> envelopes) {
    arrived.addAll(envelopes);
    return envelopes.stream().<Disposition>map(it -> new Disposition.Done()).toList();
  }
}
