package dev.pigeonhole.rabbitmq;

import com.rabbitmq.client.ConnectionFactory;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.Sent;
import dev.pigeonhole.transport.Transport;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Sends to an exchange or a queue of RabbitMQ. A message is sent when the broker has confirmed it
 * and a queue has it; what no queue takes is unroutable. Messages are durable.
 *
 * <pre>{@code
 * Transport orders = RabbitTransport.exchange(factory, "shop").routingKey("order.placed");
 * }</pre>
 */
public final class RabbitTransport implements Transport {
  private final ConnectionFactory factory;
  private final String exchange;
  private final @Nullable String routingKey;
  private final Link link;

  private RabbitTransport(ConnectionFactory factory, String exchange, @Nullable String routingKey) {
    this.factory = factory;
    this.exchange = Objects.requireNonNull(exchange, "exchange");
    this.routingKey = routingKey;
    this.link = new Link(new Connector(factory, List.of()), "pigeonhole-publisher");
  }

  /**
   * To this exchange, with the type of each message as its routing key; see {@link #routingKey}.
   *
   * @param factory is copied; the transport has a connection of its own
   */
  public static RabbitTransport exchange(ConnectionFactory factory, String exchange) {
    return new RabbitTransport(Factories.own(factory), exchange, null);
  }

  /** Straight to this queue, without an exchange of one's own. */
  public static RabbitTransport queue(ConnectionFactory factory, String queue) {
    return new RabbitTransport(Factories.own(factory), "", Objects.requireNonNull(queue, "queue"));
  }

  /** The same with this routing key for all messages, and a connection of its own. */
  public RabbitTransport routingKey(String key) {
    return new RabbitTransport(factory, exchange, Objects.requireNonNull(key, "key"));
  }

  @Override
  public String kind() {
    return Names.TRANSPORT;
  }

  @Override
  public String destination() {
    return exchange.isEmpty() ? String.valueOf(routingKey) : exchange;
  }

  @Override
  public List<Sent> send(List<Envelope> envelopes, Duration timeout) throws InterruptedException {
    if (envelopes.isEmpty()) {
      return List.of();
    }
    long end = System.nanoTime() + timeout.toNanos();
    List<Publisher.Outgoing> messages = envelopes.stream().map(this::outgoing).toList();
    Publisher publisher = link.publisher(timeout);
    return publisher.publish(messages, Duration.ofNanos(end - System.nanoTime()));
  }

  private Publisher.Outgoing outgoing(Envelope envelope) {
    String key = routingKey != null ? routingKey : envelope.type().orElse("");
    return new Publisher.Outgoing(
        exchange, key, Envelopes.out(envelope), Envelopes.bodyOut(envelope));
  }

  @Override
  public void close() {
    link.close();
  }

  @Override
  public String toString() {
    return kind() + ":" + destination();
  }
}
