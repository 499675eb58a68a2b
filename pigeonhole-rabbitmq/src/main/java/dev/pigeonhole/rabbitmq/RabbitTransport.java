package dev.pigeonhole.rabbitmq;

import com.rabbitmq.client.ConnectionFactory;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.Sent;
import dev.pigeonhole.transport.Transport;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
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
  /** Others may share the channel, and have too large ones, too. */
  private static final int MOST_RESENDS = 3;

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
    List<@Nullable Sent> unwritable = new ArrayList<>(envelopes.size());
    List<Publisher.Outgoing> messages = new ArrayList<>(envelopes.size());
    for (Envelope envelope : envelopes) {
      unwritable.add(write(envelope, messages));
    }
    Iterator<Sent> answers =
        (messages.isEmpty() ? List.<Sent>of() : publish(messages, end)).iterator();
    List<Sent> all = new ArrayList<>(envelopes.size());
    for (Sent each : unwritable) {
      all.add(each == null ? answers.next() : each);
    }
    return all;
  }

  /** Adds what is published of the envelope, or answers why there is nothing. */
  private @Nullable Sent write(Envelope envelope, List<Publisher.Outgoing> messages) {
    String key = routingKey != null ? routingKey : envelope.type().orElse("");
    try {
      messages.add(
          new Publisher.Outgoing(
              exchange, key, Envelopes.out(envelope), Envelopes.bodyOut(envelope)));
      return null;
    } catch (IllegalArgumentException e) {
      return Publisher.unwritable(Publisher.place(exchange, key), e);
    }
  }

  private List<Sent> publish(List<Publisher.Outgoing> messages, long end)
      throws InterruptedException {
    List<Sent> answers = publishOnce(messages, end);
    for (int again = 0; again < MOST_RESENDS; again++) {
      List<Integer> places = new ArrayList<>();
      for (int i = 0; i < messages.size(); i++) {
        if (Publisher.wasBesideTooLargeOne(answers.get(i))) {
          places.add(i);
        }
      }
      if (places.isEmpty() || end - System.nanoTime() <= 0) {
        break;
      }
      List<Sent> next = publishOnce(places.stream().map(messages::get).toList(), end);
      for (int i = 0; i < next.size(); i++) {
        answers.set(places.get(i), next.get(i));
      }
    }
    return answers;
  }

  private List<Sent> publishOnce(List<Publisher.Outgoing> messages, long end)
      throws InterruptedException {
    Publisher publisher = link.publisher(Duration.ofNanos(end - System.nanoTime()));
    return publisher.publish(messages, Duration.ofNanos(end - System.nanoTime()));
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
