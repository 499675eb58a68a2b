package dev.pigeonhole.proofs;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.BuiltinExchangeType;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import dev.pigeonhole.support.FaultProxy;
import dev.pigeonhole.support.JavaProcess;
import dev.pigeonhole.support.RabbitServer;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A quorum queue and a queue for what is put aside. The proof sends straight to the broker; workers
 * receive through a proxy.
 */
final class RabbitBroker implements SourceBroker {
  private static final String HOST = "/";
  private static final int CONFIRM_MILLIS = 10_000;
  private static final int DURABLE = 2;

  private final RabbitServer server;
  private final FaultProxy proxy;
  private final String queue;
  private final AtomicInteger returned = new AtomicInteger();
  private Connection connection; // of the thread that sends
  private Channel channel;

  RabbitBroker(RabbitServer server, String queue) throws IOException, TimeoutException {
    this.server = server;
    this.proxy = FaultProxy.to("127.0.0.1", server.amqpPort());
    this.queue = queue;
    try (Connection first = factory().newConnection("declare");
        Channel declaring = first.createChannel()) {
      declaring.exchangeDeclare(exchange(), BuiltinExchangeType.FANOUT, true);
      declaring.queueDeclare(aside(queue), true, false, false, Map.of());
      declaring.queueBind(aside(queue), exchange(), "");
      declaring.queueDeclare(
          queue,
          true,
          false,
          false,
          Map.of("x-queue-type", "quorum", "x-dead-letter-exchange", exchange()));
    }
    server.writeQueues();
  }

  private static String aside(String queue) {
    return queue + "-aside";
  }

  private String exchange() {
    return queue + "-dead";
  }

  ConnectionFactory factory() {
    ConnectionFactory factory = new ConnectionFactory();
    factory.setHost("127.0.0.1");
    factory.setPort(server.amqpPort());
    factory.setAutomaticRecoveryEnabled(false);
    return factory;
  }

  String queue() {
    return queue;
  }

  RabbitServer server() {
    return server;
  }

  FaultProxy proxy() {
    return proxy;
  }

  @Override
  public void send(String id) throws IOException, TimeoutException, InterruptedException {
    if (channel == null || !channel.isOpen()) {
      connect();
    }
    BasicProperties properties =
        new BasicProperties.Builder()
            .messageId(id)
            .type(SourceWorker.TYPE)
            .contentType(SourceWorker.TEXT)
            .deliveryMode(DURABLE)
            .build();
    channel.basicPublish("", queue, true, properties, id.getBytes(UTF_8));
    channel.waitForConfirmsOrDie(CONFIRM_MILLIS);
  }

  private void connect() throws IOException, TimeoutException {
    disconnect();
    connection = factory().newConnection("producer");
    channel = connection.createChannel();
    channel.addReturnListener(message -> returned.incrementAndGet());
    channel.confirmSelect();
  }

  private void disconnect() {
    if (connection != null) {
      connection.abort(1_000);
    }
  }

  /** How many the broker has confirmed without having a queue for them. */
  int returned() {
    return returned.get();
  }

  @Override
  public JavaProcess.Builder worker(Object... first) {
    return JavaProcess.of(RabbitWorker.class).args(first).args(proxy.port(), queue, exchange());
  }

  @Override
  public int consumers() {
    return Integer.parseInt(withConsumers("length(Consumers)."));
  }

  /** There was no consumer to strike at. */
  static final class NobodyThereException extends Exception {
    private static final long serialVersionUID = 1L;
  }

  /** As after an acknowledgement that the broker does not understand. */
  void closeChannel() throws NobodyThereException {
    withSomeConsumer(
        "ok = rabbit_channel:do(element(1, Consumer), {'basic.ack', 1 bsl 40, false})");
  }

  /** The broker forgets the consumer and tells it so, as when the queue moves to another node. */
  void cancelConsumer() throws NobodyThereException {
    withSomeConsumer(
        """
        Channel = element(1, Consumer), Tag = element(2, Consumer), \
        {dictionary, Words} = erlang:process_info(Channel, dictionary), \
        [Supervisor | _] = proplists:get_value('$ancestors', Words), \
        {writer, Writer, _, _} = lists:keyfind(writer, 1, supervisor:which_children(Supervisor)), \
        ok = rabbit_channel:do(Channel, {'basic.cancel', Tag, true}), \
        ok = rabbit_writer:send_command(Writer, {'basic.cancel', Tag, true})""");
  }

  private void withSomeConsumer(String expressions) throws NobodyThereException {
    String answer =
        withConsumers(
            """
            try [Consumer | _] = Consumers, %s of _ -> struck catch _:_ -> nobody end."""
                .formatted(expressions));
    if (!answer.equals("struck")) {
      throw new NobodyThereException();
    }
  }

  private String withConsumers(String expressions) {
    return server.eval(
        """
        {ok, Queue} = rabbit_amqqueue:lookup(rabbit_misc:r(<<"%s">>, queue, <<"%s">>)), \
        Consumers = rabbit_amqqueue:consumers(Queue), %s"""
            .formatted(HOST, queue, expressions));
  }

  @Override
  public long left() {
    return server.messages(HOST, queue);
  }

  @Override
  public long aside() {
    return server.messages(HOST, aside(queue));
  }

  @Override
  public void close() {
    disconnect();
    proxy.close();
  }
}
