package dev.pigeonhole.benchmarks.floor;

import dev.pigeonhole.benchmarks.broker.LoadedTopic;
import dev.pigeonhole.benchmarks.inbox.Completions;
import dev.pigeonhole.benchmarks.inbox.Messages;
import dev.pigeonhole.benchmarks.subject.Run;
import java.sql.SQLException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Kafka's own client as its documentation shows it: poll, one insert for what came, commit, and
 * nothing in between.
 */
final class KafkaConsuming {

  // What the client has by default, and a source of ours as well.
  static final int BATCH = 500;

  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private final Run run;
  private final Messages messages;
  private final PlainTable table;
  private final Completions completions;

  private KafkaConsuming(Run run, Messages messages, PlainTable table) {
    this.run = run;
    this.messages = messages;
    this.table = table;
    this.completions = new Completions(messages, 1);
  }

  static long all(Run run) throws Exception {
    Messages messages = Messages.of(run);
    try (LoadedTopic topic = LoadedTopic.of(run, messages);
        Connections connections = new Connections(run, 1)) {
      PlainTable table = PlainTable.create(connections.get(0));
      new KafkaConsuming(run, messages, table).consume(topic);
      topic.checkCommitted(messages.count());
      return table.check(messages.count());
    }
  }

  private void consume(LoadedTopic topic) throws SQLException {
    Map<String, Object> config = new HashMap<>(topic.consumerConfig());
    config.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
    config.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
    config.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, BATCH);
    try (KafkaConsumer<byte[], byte[]> consumer =
        new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
      consumer.subscribe(List.of(topic.name()));
      int left = messages.count();
      while (left > 0) {
        ConsumerRecords<byte[], byte[]> batch = consumer.poll(PATIENCE);
        if (batch.isEmpty()) {
          throw new IllegalStateException("No message for a minute");
        }
        if (left == messages.count()) {
          run.begin(); // to join the group takes its time, and is not what this is about
        }
        store(batch);
        consumer.commitSync();
        left -= batch.count();
      }
      run.end();
    }
  }

  private void store(ConsumerRecords<byte[], byte[]> batch) throws SQLException {
    String[] ids = new String[batch.count()];
    byte[][] contents = new byte[batch.count()][];
    int next = 0;
    for (ConsumerRecord<byte[], byte[]> record : batch) {
      ids[next] = LoadedTopic.id(record);
      contents[next++] = record.value();
    }
    table.insert(ids, contents);
    for (byte[] content : contents) {
      completions.handled(0, content);
    }
  }
}
