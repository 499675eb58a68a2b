package dev.pigeonhole.benchmarks.broker;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import dev.pigeonhole.benchmarks.inbox.Messages;
import dev.pigeonhole.benchmarks.subject.Run;
import java.io.IOException;
import java.util.Map;

/**
 * A queue of RabbitMQ in which all messages of a run wait; it goes when it is closed. Nobody looks
 * whether it is empty then. Without acknowledgements not even a prefetch more would have come; and
 * of the last ones, a quorum queue forgets some when their channel closes at once.
 */
public final class LoadedQueue implements AutoCloseable {

  private static final int DURABLE = 2;

  // To wait for each message alone would take minutes.
  private static final int CONFIRMED_TOGETHER = 1_000;

  private static final long CONFIRM_MILLIS = 60_000;

  private final ConnectionFactory factory;
  private final Connection connection;
  private final String name;

  private LoadedQueue(ConnectionFactory factory, Connection connection, String name) {
    this.factory = factory;
    this.connection = connection;
    this.name = name;
  }

  /** Returns when the broker has confirmed every message. */
  public static LoadedQueue of(Run run, Messages messages) throws Exception {
    ConnectionFactory factory = new ConnectionFactory();
    factory.setUri(run.broker());
    LoadedQueue queue = new LoadedQueue(factory, factory.newConnection("bench"), run.schema());
    try {
      queue.publish(messages);
      return queue;
    } catch (Exception e) {
      queue.close();
      throw e;
    }
  }

  private void publish(Messages messages) throws Exception {
    try (Channel channel = connection.createChannel()) {
      // Where messages that matter wait; a classic queue has less to do.
      channel.queueDeclare(name, true, false, false, Map.of("x-queue-type", "quorum"));
      channel.confirmSelect();
      for (int i = 0; i < messages.count(); i++) {
        channel.basicPublish("", name, properties(messages.id(i)), messages.payload(i));
        if ((i + 1) % CONFIRMED_TOGETHER == 0) {
          channel.waitForConfirmsOrDie(CONFIRM_MILLIS);
        }
      }
      channel.waitForConfirmsOrDie(CONFIRM_MILLIS);
    }
  }

  private static BasicProperties properties(String id) {
    return new BasicProperties.Builder()
        .messageId(id)
        .type(Messages.NAME)
        .contentType(Messages.CONTENT_TYPE)
        .deliveryMode(DURABLE)
        .build();
  }

  public ConnectionFactory factory() {
    return factory;
  }

  public String name() {
    return name;
  }

  @Override
  public void close() throws IOException {
    try (connection) {
      if (connection.isOpen()) {
        connection.createChannel().queueDelete(name);
      }
    }
  }
}
