package dev.pigeonhole.rabbitmq;

import com.rabbitmq.client.BuiltinExchangeType;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.Delivery;
import com.rabbitmq.client.GetResponse;
import dev.pigeonhole.support.FaultProxy;
import dev.pigeonhole.support.RabbitServer;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.Sent;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeoutException;
import java.util.function.UnaryOperator;

/**
 * A queue that nobody else knows, an exchange with a queue for what is put aside, and two ways to
 * them: one straight, for the test, and one through a proxy, for what is tested.
 */
final class TestQueue implements AutoCloseable {
  private static final Duration LIMIT = Duration.ofMinutes(3);
  private static final String HOST = "/";

  private final RabbitServer server;
  private final FaultProxy proxy;
  private Connection connection; // asks only, so that a broker in an alarm still answers
  private Connection publishing;
  private Publisher publisher;
  private final String name;
  private final List<Delivery> arrived = new ArrayList<>();

  private TestQueue(RabbitServer server, UnaryOperator<RabbitQueue> arguments) {
    this.server = server;
    this.name = "q-" + UUID.randomUUID().toString().substring(0, 8);
    this.proxy = FaultProxy.to("127.0.0.1", server.amqpPort());
    try {
      RabbitTopology.create()
          .exchange(deadLetters(), BuiltinExchangeType.FANOUT)
          .queue(RabbitQueue.classic(aside()))
          .bind(aside(), deadLetters(), "")
          .queue(arguments.apply(RabbitQueue.quorum(name)).deadLetters(deadLetters(), name))
          .declare(straight());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    reconnect();
  }

  /** After the end of the broker, which has ended the connection of the test as well. */
  void reconnect() {
    try {
      connection = straight().newConnection("test");
      publishing = straight().newConnection("test-publisher");
      publisher = new Publisher(publishing);
    } catch (IOException | TimeoutException e) {
      throw new IllegalStateException("Cannot use the broker", e);
    }
  }

  /** A quorum queue of the server that all tests share. */
  static TestQueue create() {
    return on(RabbitServer.shared(), queue -> queue);
  }

  static TestQueue on(RabbitServer server, UnaryOperator<RabbitQueue> arguments) {
    return new TestQueue(server, arguments);
  }

  String name() {
    return name;
  }

  String deadLetters() {
    return name + "-dead";
  }

  /** The queue behind them. */
  String aside() {
    return name + "-aside";
  }

  FaultProxy proxy() {
    return proxy;
  }

  /** Past the proxy. */
  ConnectionFactory straight() {
    return factory(server.amqpPort());
  }

  /** Through the proxy. */
  ConnectionFactory proxied() {
    return factory(proxy.port());
  }

  private static ConnectionFactory factory(int port) {
    ConnectionFactory factory = new ConnectionFactory();
    factory.setHost("127.0.0.1");
    factory.setPort(port);
    return factory;
  }

  RabbitSource source() {
    return RabbitSource.queue(proxied(), name).deadLetters(deadLetters());
  }

  void send(Envelope envelope) {
    publish(new Publisher.Outgoing("", name, Envelopes.out(envelope), Envelopes.bodyOut(envelope)));
  }

  void publish(Publisher.Outgoing message) {
    try {
      List<Sent> answers = publisher.publish(List.of(message), LIMIT);
      if (!(answers.get(0) instanceof Sent.Confirmed)) {
        throw new IllegalStateException("Not confirmed: " + answers);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted", e);
    }
  }

  long unacknowledged() {
    return server.messages(HOST, name);
  }

  /** How many the broker has not handed out. */
  long ready() {
    return server.ready(HOST, name);
  }

  /** How many consume it. */
  long consumers() {
    return server.consumers(HOST, name);
  }

  /** The same with those that wait until another one is gone. */
  long allConsumers() {
    return Long.parseLong(
        server.eval(
            """
            {ok, Queue} = rabbit_amqqueue:lookup(rabbit_misc:r(<<"%s">>, queue, <<"%s">>)), \
            length(rabbit_amqqueue:consumers(Queue))."""
                .formatted(HOST, name)));
  }

  /** What was put aside, as it lies there; it stays. */
  List<Delivery> putAside() {
    try {
      Channel channel = connection.createChannel();
      try {
        List<Delivery> all = new ArrayList<>();
        for (GetResponse next = channel.basicGet(aside(), false);
            next != null;
            next = channel.basicGet(aside(), false)) {
          all.add(new Delivery(next.getEnvelope(), next.getProps(), next.getBody()));
        }
        return all;
      } finally {
        channel.abort();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Everything that has arrived in the queue until now; it is taken out. */
  List<Delivery> arrived() {
    try (Channel channel = connection.createChannel()) {
      for (GetResponse next = channel.basicGet(name, true);
          next != null;
          next = channel.basicGet(name, true)) {
        arrived.add(new Delivery(next.getEnvelope(), next.getProps(), next.getBody()));
      }
      return List.copyOf(arrived);
    } catch (IOException | TimeoutException e) {
      throw new IllegalStateException("Cannot read the queue", e);
    }
  }

  @Override
  public void close() {
    try (Channel channel = connection.createChannel()) {
      channel.queueDelete(name);
      channel.queueDelete(aside());
      channel.exchangeDelete(deadLetters());
    } catch (IOException | TimeoutException e) {
      throw new IllegalStateException("Cannot remove the queue", e);
    } finally {
      connection.abort();
      publishing.abort();
      proxy.close();
    }
  }
}
