package dev.pigeonhole.benchmarks.floor;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Delivery;
import dev.pigeonhole.benchmarks.broker.LoadedQueue;
import dev.pigeonhole.benchmarks.inbox.Completions;
import dev.pigeonhole.benchmarks.inbox.Messages;
import dev.pigeonhole.benchmarks.subject.Run;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * RabbitMQ's own client with an insert for each batch, and nothing in between. Prefetch, size,
 * patience and acknowledgement of a batch are those that a source of ours has, so that neither wins
 * by them.
 */
final class RabbitConsuming {

  static final int PREFETCH = 250;
  static final int BATCH = 200;
  static final int GATHER_MILLIS = 5;

  private static final long PATIENCE_SECONDS = 60;

  private final Run run;
  private final Messages messages;
  private final PlainTable table;
  private final Completions completions;
  private final BlockingQueue<Delivery> waiting = new LinkedBlockingQueue<>();

  private RabbitConsuming(Run run, Messages messages, PlainTable table) {
    this.run = run;
    this.messages = messages;
    this.table = table;
    this.completions = new Completions(messages, 1);
  }

  static long all(Run run) throws Exception {
    Messages messages = Messages.of(run);
    try (LoadedQueue queue = LoadedQueue.of(run, messages);
        Connections connections = new Connections(run, 1)) {
      PlainTable table = PlainTable.create(connections.get(0));
      new RabbitConsuming(run, messages, table).consume(queue);
      return table.check(messages.count());
    }
  }

  private void consume(LoadedQueue queue) throws Exception {
    try (com.rabbitmq.client.Connection connection = queue.factory().newConnection("raw")) {
      Channel channel = connection.createChannel();
      channel.basicQos(PREFETCH);
      channel.basicConsume(
          queue.name(), false, (tag, delivery) -> waiting.add(delivery), (tag, signal) -> {});
      int left = messages.count();
      while (left > 0) {
        List<Delivery> batch = gather();
        if (left == messages.count()) {
          run.begin(); // to connect takes its time, and is not what this is about
        }
        store(batch);
        channel.basicAck(batch.get(batch.size() - 1).getEnvelope().getDeliveryTag(), true);
        left -= batch.size();
      }
      run.end();
    }
  }

  private List<Delivery> gather() throws InterruptedException {
    @Nullable Delivery next = waiting.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
    if (next == null) {
      throw new IllegalStateException("No message for a minute");
    }
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(GATHER_MILLIS);
    List<Delivery> batch = new ArrayList<>(BATCH);
    while (next != null) {
      batch.add(next);
      waiting.drainTo(batch, BATCH - batch.size());
      next =
          batch.size() == BATCH
              ? null
              : waiting.poll(end - System.nanoTime(), TimeUnit.NANOSECONDS);
    }
    return batch;
  }

  private void store(List<Delivery> batch) throws SQLException {
    String[] ids = new String[batch.size()];
    byte[][] contents = new byte[batch.size()][];
    for (int i = 0; i < ids.length; i++) {
      ids[i] = batch.get(i).getProperties().getMessageId();
      contents[i] = batch.get(i).getBody();
    }
    table.insert(ids, contents);
    for (byte[] content : contents) {
      completions.handled(0, content);
    }
  }
}
