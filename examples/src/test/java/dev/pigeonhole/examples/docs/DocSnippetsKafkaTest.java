package dev.pigeonhole.examples.docs;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.examples.docs.Shop.Mailer;
import dev.pigeonhole.examples.docs.Shop.OrderPlaced;
import dev.pigeonhole.kafka.KafkaSource;
import dev.pigeonhole.kafka.KafkaTransport;
import dev.pigeonhole.testkit.MemoryStore;
import dev.pigeonhole.transport.Disposition;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.MessageMapper;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Kafka, as the documentation shows it; the module itself runs it with a broker. */
class DocSnippetsKafkaTest {
  private final String brokers = "127.0.0.1:9092";
  private final MemoryStore store = MemoryStore.create();

  private static Channel channel() {
    Mailer mailer = new Mailer();
    // snippet:kafka-ordered
    Channel channel =
        Channel.named("orders")
            .mappedBy(MessageMapper.plain().orderedByKey())
            .on(OrderPlaced.class)
            .named("order.placed")
            .handle("send-receipt", mailer::sendReceipt)
            .build();
    // end
    return channel;
  }

  @Test
  void aSourceForAChannel() {
    Channel channel = channel();
    // snippet:kafka-source
    KafkaSource orders =
        KafkaSource.topic(Map.of("bootstrap.servers", brokers, "group.id", "shipping"), "orders")
            .parkingIn("orders.parked");
    Inbox inbox = Inbox.on(store).channel(channel, orders).build();
    // end
    // snippet:kafka-transport
    KafkaTransport events =
        KafkaTransport.topic(Map.of("bootstrap.servers", brokers), "order-events");
    // end
    assertThat(events.destination()).isEqualTo("order-events");
    Envelope record =
        Envelope.of("kafka", "orders")
            .id("m-1")
            .type("order.placed")
            .key("c-1")
            .contentType("application/json")
            .body("{\"order\":\"o-1\",\"customer\":\"c-1\"}".getBytes(UTF_8))
            .build();

    assertThat(orders.name()).isEqualTo("kafka:orders");
    assertThat(inbox.acceptor("orders").accept(List.of(record)))
        .containsExactly(new Disposition.Done());
  }
}
