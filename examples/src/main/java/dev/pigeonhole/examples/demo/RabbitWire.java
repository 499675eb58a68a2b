package dev.pigeonhole.examples.demo;

import com.rabbitmq.client.BuiltinExchangeType;
import com.rabbitmq.client.ConnectionFactory;
import dev.pigeonhole.examples.OrderPlaced;
import dev.pigeonhole.rabbitmq.RabbitQueue;
import dev.pigeonhole.rabbitmq.RabbitSource;
import dev.pigeonhole.rabbitmq.RabbitTopology;
import dev.pigeonhole.rabbitmq.RabbitTransport;
import dev.pigeonhole.transport.MessageSource;
import dev.pigeonhole.transport.Transport;
import java.io.IOException;

/** An exchange of the shop, and the queue from which workers take its orders. */
final class RabbitWire implements Wire {

  private static final String EXCHANGE = "shop";
  private static final String DEAD = "shop.dead";
  private static final String QUEUE = "orders";
  private static final String DEAD_QUEUE = "orders.dead";

  private final ConnectionFactory factory = new ConnectionFactory();

  RabbitWire(int port) {
    factory.setHost("127.0.0.1");
    factory.setPort(port);
  }

  void declare() throws IOException {
    RabbitTopology.create()
        .exchange(EXCHANGE, BuiltinExchangeType.TOPIC)
        .exchange(DEAD, BuiltinExchangeType.DIRECT)
        // Two workers at once would overtake each other on their way to the store.
        .queue(
            RabbitQueue.quorum(QUEUE)
                .deadLetters(DEAD, QUEUE)
                .argument("x-single-active-consumer", true))
        .queue(RabbitQueue.quorum(DEAD_QUEUE).deadLetters("", DEAD_QUEUE))
        .bind(QUEUE, EXCHANGE, OrderPlaced.class.getSimpleName())
        .bind(DEAD_QUEUE, DEAD, QUEUE)
        .declare(factory);
  }

  @Override
  public Transport transport() {
    return RabbitTransport.exchange(factory, EXCHANGE);
  }

  @Override
  public MessageSource source() {
    return RabbitSource.queue(factory, QUEUE).deadLetters(DEAD);
  }
}
