package dev.pigeonhole.benchmarks.broker;

import dev.pigeonhole.benchmarks.inbox.Messages;
import dev.pigeonhole.benchmarks.subject.Run;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jspecify.annotations.Nullable;

/** A topic of Kafka in which all messages of a run stand; it goes when it is closed. */
public final class LoadedTopic implements AutoCloseable {

  private static final int PARTITIONS = 4;
  private static final int PRODUCER_BATCH_BYTES = 256 * 1024;
  private static final long LIMIT_SECONDS = 60;

  private static final String ID = "pigeonhole-id";
  private static final String TYPE = "pigeonhole-type";
  private static final String CONTENT_TYPE = "content-type";

  private final String bootstrap;
  private final String name;
  private final Admin admin;

  private LoadedTopic(String bootstrap, String name) {
    this.bootstrap = bootstrap;
    this.name = name;
    this.admin = Admin.create(Map.of(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap));
  }

  /** Returns when the broker has confirmed every message. */
  public static LoadedTopic of(Run run, Messages messages) throws Exception {
    LoadedTopic topic = new LoadedTopic(run.broker(), run.schema());
    try {
      NewTopic wanted = new NewTopic(topic.name, PARTITIONS, (short) 1);
      answer(topic.admin.createTopics(List.of(wanted)).all());
      topic.publish(messages);
      return topic;
    } catch (Exception e) {
      topic.close();
      throw e;
    }
  }

  private void publish(Messages messages) throws Exception {
    AtomicReference<@Nullable Exception> failure = new AtomicReference<>();
    Map<String, Object> config =
        Map.of(
            ProducerConfig.BOOTSTRAP_SERVERS_CONFIG,
            bootstrap,
            ProducerConfig.BATCH_SIZE_CONFIG,
            PRODUCER_BATCH_BYTES,
            // A topic that is just there refuses a batch or two. If it takes the one behind, the
            // producer offers the first one in vain until its time is up.
            ProducerConfig.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION,
            1);
    try (KafkaProducer<byte[], byte[]> producer =
        new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
      for (int i = 0; i < messages.count() && failure.get() == null; i++) {
        var unused =
            producer.send(
                record(messages, i),
                (sent, e) -> {
                  if (e != null) {
                    failure.compareAndSet(null, e);
                  }
                });
      }
      producer.flush();
    }
    Exception first = failure.get();
    if (first != null) {
      throw first;
    }
  }

  /** Without a key, for that would ask for an order which nobody else has to keep. */
  private ProducerRecord<byte[], byte[]> record(Messages messages, int index) {
    ProducerRecord<byte[], byte[]> record =
        new ProducerRecord<>(name, index % PARTITIONS, null, messages.payload(index));
    record.headers().add(ID, bytes(messages.id(index)));
    record.headers().add(TYPE, bytes(Messages.NAME));
    record.headers().add(CONTENT_TYPE, bytes(Messages.CONTENT_TYPE));
    return record;
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** The id of a message that was published here. */
  public static String id(ConsumerRecord<byte[], byte[]> record) {
    return new String(record.headers().lastHeader(ID).value(), StandardCharsets.UTF_8);
  }

  public String name() {
    return name;
  }

  /** What no consumer can begin without: where the broker is, and a group, which is new. */
  public Map<String, Object> consumerConfig() {
    return Map.of(
        ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap, ConsumerConfig.GROUP_ID_CONFIG, name);
  }

  /** The group has committed the offsets of all messages. Asked when its consumers have gone. */
  public void checkCommitted(long messages) throws Exception {
    long committed =
        answer(admin.listConsumerGroupOffsets(name).partitionsToOffsetAndMetadata())
            .values()
            .stream()
            .mapToLong(OffsetAndMetadata::offset)
            .sum();
    if (committed != messages) {
      throw new IllegalStateException(
          "The offsets of %d messages are committed instead of %d".formatted(committed, messages));
    }
  }

  private static <T> T answer(KafkaFuture<T> future) throws Exception {
    return future.get(LIMIT_SECONDS, TimeUnit.SECONDS);
  }

  /** The broker deletes the files later, and need not be waited for. */
  @Override
  public void close() {
    admin.deleteTopics(List.of(name));
    admin.close(Duration.ofSeconds(5));
  }
}
