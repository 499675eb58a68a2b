package dev.pigeonhole.examples.docs;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.rabbitmq.client.BuiltinExchangeType;
import com.rabbitmq.client.ConnectionFactory;
import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.examples.docs.Shop.OrderPlaced;
import dev.pigeonhole.rabbitmq.RabbitQueue;
import dev.pigeonhole.rabbitmq.RabbitSource;
import dev.pigeonhole.rabbitmq.RabbitTopology;
import dev.pigeonhole.rabbitmq.RabbitTransport;
import dev.pigeonhole.support.RabbitServer;
import dev.pigeonhole.testkit.MemoryStore;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.Sent;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** RabbitMQ, as the documentation shows it. */
class DocSnippetsRabbitTest {
  private final MemoryStore store = MemoryStore.create();

  private static ConnectionFactory factory() {
    ConnectionFactory factory = new ConnectionFactory();
    factory.setHost("127.0.0.1");
    factory.setPort(RabbitServer.shared().amqpPort());
    return factory;
  }

  @Test
  void fromAnExchangeThroughAQueueToAHandler() throws IOException, InterruptedException {
    ConnectionFactory factory = factory();
    // snippet:rabbit-topology
    RabbitTopology topology =
        RabbitTopology.create()
            .exchange("shop", BuiltinExchangeType.TOPIC)
            .exchange("shop.dead", BuiltinExchangeType.DIRECT)
            .queue(RabbitQueue.quorum("orders").deadLetters("shop.dead", "orders"))
            .queue(RabbitQueue.retryOf("orders"))
            .queue(RabbitQueue.classic("orders.dead"))
            .bind("orders", "shop", "order.*")
            .bind("orders.dead", "shop.dead", "orders");
    topology.declare(factory); // or topology.check(factory)
    // end
    topology.check(factory);
    BlockingQueue<OrderPlaced> handled = new LinkedBlockingQueue<>();
    Channel channel =
        Channel.named("orders")
            .on(OrderPlaced.class)
            .named("order.placed")
            .handle("note", handled::add)
            .build();
    // snippet:rabbit-source
    RabbitSource orders =
        RabbitSource.queue(factory, "orders") //
            .deadLetters("shop.dead");
    Inbox inbox = Inbox.on(store).channel(channel, orders).build();
    // end
    // snippet:rabbit-transport
    RabbitTransport events = RabbitTransport.exchange(factory, "shop");
    // end
    try (RunningInbox running = inbox.start()) {
      Envelope order =
          Envelope.of("rabbitmq", "shop")
              .id("m-1")
              .type("order.placed")
              .contentType("application/json")
              .body("{\"order\":\"o-1\",\"customer\":\"c-1\"}".getBytes(UTF_8))
              .build();
      assertThat(events.send(List.of(order), Duration.ofSeconds(30)))
          .containsExactly(new Sent.Confirmed());
      assertThat(handled.poll(300, TimeUnit.SECONDS)).isNotNull();
    } finally {
      events.close();
    }
  }
}
