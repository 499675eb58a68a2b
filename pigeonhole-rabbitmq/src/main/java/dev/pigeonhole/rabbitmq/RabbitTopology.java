package dev.pigeonhole.rabbitmq;

import com.rabbitmq.client.AlreadyClosedException;
import com.rabbitmq.client.BuiltinExchangeType;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.ShutdownSignalException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Exchanges, queues and bindings. Whoever owns them declares them; whoever only consumes checks
 * that they are there and as expected, and changes nothing.
 *
 * <pre>{@code
 * RabbitTopology.create()
 *     .exchange("shop", BuiltinExchangeType.TOPIC)
 *     .queue(RabbitQueue.quorum("orders").deadLetters("shop.dead", "orders"))
 *     .bind("orders", "shop", "order.*")
 *     .declare(factory);
 * }</pre>
 *
 * <p>Immutable; each step returns a new one.
 */
public final class RabbitTopology {
  private static final Logger LOG = LoggerFactory.getLogger(RabbitTopology.class);

  private record Exchange(String name, BuiltinExchangeType kind) {}

  private record Binding(String queue, String exchange, String routingKey) {}

  private final List<Exchange> exchanges;
  private final List<RabbitQueue> queues;
  private final List<Binding> bindings;

  private RabbitTopology(
      List<Exchange> exchanges, List<RabbitQueue> queues, List<Binding> bindings) {
    this.exchanges = exchanges;
    this.queues = queues;
    this.bindings = bindings;
  }

  /** Nothing yet. */
  public static RabbitTopology create() {
    return new RabbitTopology(List.of(), List.of(), List.of());
  }

  /** A durable exchange. */
  public RabbitTopology exchange(String name, BuiltinExchangeType kind) {
    return new RabbitTopology(with(exchanges, new Exchange(name, kind)), queues, bindings);
  }

  /** A durable queue. */
  public RabbitTopology queue(RabbitQueue queue) {
    return new RabbitTopology(exchanges, with(queues, queue), bindings);
  }

  /** What is published to the exchange with this key goes to the queue. */
  public RabbitTopology bind(String queue, String exchange, String routingKey) {
    return new RabbitTopology(
        exchanges, queues, with(bindings, new Binding(queue, exchange, routingKey)));
  }

  private static <T> List<T> with(List<T> some, T one) {
    List<T> more = new ArrayList<>(some);
    more.add(one);
    return List.copyOf(more);
  }

  /**
   * Creates what is missing. What is there and differs is left alone.
   *
   * @throws InboxException with {@code PH-RMQ-01} if something differs, {@code PH-RMQ-02} if the
   *     user may not
   * @throws IOException if the broker cannot be reached
   */
  public void declare(ConnectionFactory factory) throws IOException {
    warn();
    try (Connection connection = connect(factory)) {
      for (Exchange exchange : exchanges) {
        on(
            connection,
            "exchange '%s'".formatted(exchange.name()),
            channel -> channel.exchangeDeclare(exchange.name(), exchange.kind(), true));
      }
      for (RabbitQueue queue : queues) {
        on(connection, "queue " + queue, channel -> declare(channel, queue));
      }
      for (Binding binding : bindings) {
        on(
            connection,
            "the binding of queue '%s' to exchange '%s'"
                .formatted(binding.queue(), binding.exchange()),
            channel ->
                channel.queueBind(binding.queue(), binding.exchange(), binding.routingKey()));
      }
    }
  }

  /**
   * Looks whether everything is there and as expected; bindings cannot be looked at.
   *
   * @throws InboxException with {@code PH-RMQ-01} if something is missing or differs, {@code
   *     PH-RMQ-02} if the user may not look
   * @throws IOException if the broker cannot be reached
   */
  public void check(ConnectionFactory factory) throws IOException {
    warn();
    try (Connection connection = connect(factory)) {
      for (Exchange exchange : exchanges) {
        compare(
            connection,
            "exchange '%s'".formatted(exchange.name()),
            channel -> channel.exchangeDeclarePassive(exchange.name()),
            channel -> channel.exchangeDeclare(exchange.name(), exchange.kind(), true));
      }
      for (RabbitQueue queue : queues) {
        compare(
            connection,
            "queue " + queue,
            channel -> channel.queueDeclarePassive(queue.name()),
            channel -> declare(channel, queue));
      }
    }
  }

  /** What is there can only be compared by declaring it once more, which not everybody may. */
  private static void compare(Connection connection, String what, Step look, Step declare)
      throws IOException {
    on(connection, what, look);
    try {
      on(connection, what, declare);
    } catch (InboxException e) {
      if (e.code() != ErrorCode.BROKER_REFUSES) {
        throw e;
      }
      LOG.warn(
          "{}: There is {}, but this user may not compare it: that needs the permission to"
              + " configure. Check it with another user.",
          ErrorCode.BROKER_REFUSES.text(),
          what);
    }
  }

  private static void declare(Channel channel, RabbitQueue queue) throws IOException {
    channel.queueDeclare(queue.name(), true, false, false, queue.arguments());
  }

  private void warn() {
    for (RabbitQueue queue : queues) {
      if (queue.dropsSilently()) {
        LOG.warn(
            "{}: Queue '{}' drops messages that were delivered too often, or have waited too long,"
                + " unless it has a dead-letter exchange. Give it one with .deadLetters(…).",
            ErrorCode.QUEUE_DROPS.text(),
            queue.name());
      }
    }
  }

  private interface Step {
    void on(Channel channel) throws IOException;
  }

  /** On a channel of its own: an error closes it. */
  private static void on(Connection connection, String what, Step step) throws IOException {
    Channel channel = connection.createChannel();
    try {
      step.on(channel);
    } catch (IOException | AlreadyClosedException e) {
      if (e.getCause() instanceof ShutdownSignalException shutdown) {
        throw refused(what, shutdown);
      }
      throw e;
    } finally {
      channel.abort();
    }
  }

  private static InboxException refused(String what, ShutdownSignalException shutdown) {
    String told = String.valueOf(shutdown.getMessage());
    return Closing.isRefusedAccess(shutdown)
        ? new InboxException(
            ErrorCode.BROKER_REFUSES,
            "The broker does not let this user near %s: %s. Give it the permission."
                .formatted(what, told),
            shutdown)
        : new InboxException(
            ErrorCode.QUEUE_DIFFERS,
            "Expected %s, but the broker says: %s. Correct one of the two.".formatted(what, told),
            shutdown);
  }

  private static Connection connect(ConnectionFactory factory) throws IOException {
    try {
      return Factories.own(factory).newConnection("pigeonhole-topology");
    } catch (TimeoutException e) {
      throw new IOException("The broker did not answer in time", e);
    }
  }
}
