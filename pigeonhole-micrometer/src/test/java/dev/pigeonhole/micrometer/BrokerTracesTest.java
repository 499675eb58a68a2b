package dev.pigeonhole.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.kafka.KafkaSource;
import dev.pigeonhole.kafka.KafkaTransport;
import dev.pigeonhole.kafka.StartAt;
import dev.pigeonhole.outbox.Outbox;
import dev.pigeonhole.rabbitmq.RabbitSource;
import dev.pigeonhole.rabbitmq.RabbitTransport;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.KafkaServer;
import dev.pigeonhole.support.RabbitServer;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import dev.pigeonhole.transport.MessageSource;
import dev.pigeonhole.transport.Transport;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.sdk.trace.data.SpanData;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Traces that begin where a message is published and go to another service: two databases, two
 * tracers, and nothing between them but a broker.
 */
class BrokerTracesTest {
  private static final Duration LONG = Duration.ofMinutes(2);
  private static final String CONTENT = "canary-in-content";

  private final Tracing publishing = new Tracing();
  private final Tracing handling = new Tracing();
  private final List<String> seen = new CopyOnWriteArrayList<>();

  enum Broker {
    RABBITMQ {
      @Override
      Wire wire() throws Exception {
        RabbitServer server = RabbitServer.shared();
        ConnectionFactory factory = new ConnectionFactory();
        factory.setPort(server.amqpPort());
        factory.setVirtualHost(server.newVirtualHost());
        try (Connection connection = factory.newConnection()) {
          connection.createChannel().queueDeclare("placed", true, false, false, Map.of());
        }
        return new Wire(
            RabbitTransport.queue(factory, "placed"), RabbitSource.queue(factory, "placed"));
      }
    },
    KAFKA {
      @Override
      Wire wire() {
        KafkaServer server = KafkaServer.shared();
        String topic = "placed-" + UUID.randomUUID();
        server.createTopic(topic, 1);
        Map<String, Object> settings = Map.of("bootstrap.servers", server.bootstrap());
        return new Wire(
            KafkaTransport.topic(settings, topic),
            KafkaSource.topic(
                    Map.of("bootstrap.servers", server.bootstrap(), "group.id", "shop"), topic)
                .startAt(StartAt.EARLIEST));
      }
    };

    abstract Wire wire() throws Exception;
  }

  /** Two ends of a queue or a topic. */
  record Wire(Transport transport, MessageSource source) {}

  /** From publishing to handling; answers the "trace-span" in which it was published. */
  private String passOn(Broker broker, ProcessObservations observing) throws Exception {
    try (TestDatabase here = TestDatabases.open(DatabaseKind.POSTGRES);
        TestDatabase there = TestDatabases.open(DatabaseKind.POSTGRES)) {
      Wire wire = broker.wire();
      Shop shop = Shop.in(here);
      RelayObservations relaying = RelayObservations.in(publishing.registry);
      Outbox outbox =
          Outbox.on(shop.store)
              .codec(Shop.CODEC)
              .lanes(4)
              .route(OrderPlaced.class, wire.transport())
              .stamping(publishing.traces)
              .around(relaying)
              .onSending(relaying)
              .build();
      Message message = Message.of("m-1", new OrderPlaced(CONTENT));
      String request =
          publishing.within("request", () -> shop.commit(tx -> outbox.publish(tx, message)));
      outbox.drain();

      Inbox inbox =
          Inbox.on(Shop.in(there).store)
              .codec(Shop.CODEC)
              .lanes(4)
              .channel(
                  Channel.named("orders")
                      .on(OrderPlaced.class)
                      .handle("reserve-stock", order -> seen.add(handling.current()))
                      .build(),
                  wire.source())
              .stamping(handling.traces)
              .around(observing)
              .build();
      try (RunningInbox running = inbox.start()) {
        Eventually.until(LONG, () -> !handling.spans("process reserve-stock").isEmpty());
      }
      wire.transport().close();
      return request;
    }
  }

  @ParameterizedTest
  @EnumSource
  void aTraceGoesOnThroughABrokerToTheHandler(Broker broker) throws Exception {
    String request = passOn(broker, ProcessObservations.in(handling.registry).inTraceOfMessage());

    SpanData send = publishing.span("send OrderPlaced");
    assertThat(send.getKind()).isEqualTo(SpanKind.PRODUCER);
    assertThat(Tracing.parentOf(send)).isEqualTo(request);
    SpanData process = handling.span("process reserve-stock");
    assertThat(process.getKind()).isEqualTo(SpanKind.CONSUMER);
    assertThat(Tracing.parentOf(process)).isEqualTo(Tracing.id(send));
    assertThat(seen).as("in scope while the handler runs").containsExactly(Tracing.id(process));
  }

  @ParameterizedTest
  @EnumSource
  void anAttemptIsLinkedToWhatWasSentThroughABroker(Broker broker) throws Exception {
    String request = passOn(broker, ProcessObservations.in(handling.registry));

    SpanData send = publishing.span("send OrderPlaced");
    assertThat(Tracing.parentOf(send)).isEqualTo(request);
    SpanData process = handling.span("process reserve-stock");
    assertThat(process.getTraceId()).isNotEqualTo(send.getTraceId());
    assertThat(Tracing.links(process)).containsExactly(Tracing.id(send));
    assertThat(seen).containsExactly(Tracing.id(process));
  }

  @ParameterizedTest
  @EnumSource
  void e28_spansHaveTheIdOfTheirMessageAndNothingOfItsContent(Broker broker) throws Exception {
    passOn(broker, ProcessObservations.in(handling.registry));

    List<SpanData> spans =
        List.of(publishing.span("send OrderPlaced"), handling.span("process reserve-stock"));
    assertThat(spans)
        .extracting(SpanData::toString)
        .allMatch(each -> each.contains("m-1"))
        .noneMatch(each -> each.contains(CONTENT));
  }
}
