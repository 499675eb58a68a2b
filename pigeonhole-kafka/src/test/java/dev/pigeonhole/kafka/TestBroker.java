package dev.pigeonhole.kafka;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.pigeonhole.support.KafkaServer;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.Sent;
import dev.pigeonhole.transport.Transport;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** A real broker, a group of its own, and what tests ask and tell it. */
final class TestBroker implements AutoCloseable {
  private static final Duration LIMIT = Duration.ofMinutes(3);

  final String group = "group-" + UUID.randomUUID();
  private final KafkaServer server;
  private final String bootstrap;
  private final Admin admin;
  private final Producer<byte[], byte[]> producer;

  private TestBroker(KafkaServer server) {
    this.server = server;
    this.bootstrap = server.bootstrap();
    this.admin =
        Admin.create(
            Map.of(
                "bootstrap.servers",
                bootstrap,
                "request.timeout.ms",
                (int) LIMIT.toMillis(),
                "default.api.timeout.ms",
                (int) LIMIT.toMillis()));
    this.producer =
        new KafkaProducer<>(
            Map.<String, Object>of(
                "bootstrap.servers", bootstrap, "linger.ms", 0, "max.block.ms", LIMIT.toMillis()),
            new ByteArraySerializer(),
            new ByteArraySerializer());
  }

  /** On the broker that all tests of this JVM share. */
  static TestBroker shared() {
    return on(KafkaServer.shared());
  }

  static TestBroker on(KafkaServer server) {
    return new TestBroker(server);
  }

  Admin admin() {
    return admin;
  }

  String bootstrap() {
    return bootstrap;
  }

  /** What a user gives to a source, and shorter waits where nothing happens. */
  Map<String, Object> config() {
    return new HashMap<>(
        Map.of(
            "bootstrap.servers",
            bootstrap,
            "group.id",
            group,
            "heartbeat.interval.ms",
            100,
            "fetch.max.wait.ms",
            50));
  }

  /** A new topic with a name of its own. */
  String topic(int partitions) {
    String name = "topic-" + UUID.randomUUID();
    create(name, partitions, Map.of());
    return name;
  }

  /** Returns when each of its partitions can be written to. */
  void create(String name, int partitions, Map<String, String> settings) {
    server.createTopic(name, partitions, settings);
  }

  static Envelope.Builder envelope(String topic, String id) {
    return Envelope.of("kafka", topic)
        .id(id)
        .type("thing.happened")
        .contentType("application/json")
        .body(("{\"id\":\"" + id + "\"}").getBytes(UTF_8));
  }

  void send(String topic, int partition, String... ids) {
    for (String id : ids) {
      send(partition, envelope(topic, id).build());
    }
  }

  static ProducerRecord<byte[], byte[]> record(Envelope envelope) {
    return RecordWriter.write(envelope, envelope.destination());
  }

  void send(int partition, Envelope envelope) {
    ProducerRecord<byte[], byte[]> record = record(envelope);
    send(
        new ProducerRecord<>(
            record.topic(), partition, record.key(), record.value(), record.headers()));
  }

  /** Returns when the broker has it. */
  void send(ProducerRecord<byte[], byte[]> record) {
    get(producer.send(record));
  }

  /** One that other producers have no room for. */
  void sendLarge(ProducerRecord<byte[], byte[]> record) {
    try (var other =
        new KafkaProducer<>(
            Map.<String, Object>of(
                "bootstrap.servers",
                bootstrap,
                "max.request.size",
                100_000_000,
                "buffer.memory",
                100_000_000),
            new ByteArraySerializer(),
            new ByteArraySerializer())) {
      get(other.send(record));
    }
  }

  /**
   * Returns the answer of the brokers. A transport waits a second for what it asks them first; a
   * busy broker may take longer, so it is sent again then, as by the outbox.
   */
  static List<Sent> answers(Transport transport, Envelope... envelopes)
      throws InterruptedException {
    long end = System.nanoTime() + LIMIT.toNanos();
    List<Sent> sent = transport.send(List.of(envelopes), LIMIT);
    while (sent.stream().anyMatch(TestBroker::isTooLate) && System.nanoTime() - end < 0) {
      sent = transport.send(List.of(envelopes), LIMIT);
    }
    return sent;
  }

  private static boolean isTooLate(Sent sent) {
    return sent instanceof Sent.Failed failed
        && failed.cause().getCause() instanceof org.apache.kafka.common.errors.TimeoutException;
  }

  static List<TopicPartition> partitions(String topic, int count) {
    return IntStream.range(0, count).mapToObj(i -> new TopicPartition(topic, i)).toList();
  }

  /** What the group has committed, 0 where it has nothing. */
  long committed(TopicPartition partition) {
    Map<TopicPartition, OffsetAndMetadata> all =
        get(admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata());
    OffsetAndMetadata offset = all.get(partition);
    return offset == null ? 0 : offset.offset();
  }

  void setOffset(TopicPartition partition, OffsetAndMetadata offset) {
    get(admin.alterConsumerGroupOffsets(group, Map.of(partition, offset)).all());
  }

  /** Who is in the group; whoever leaves and comes back has another id. */
  Set<String> members() {
    return get(admin.describeConsumerGroups(List.of(group)).all()).get(group).members().stream()
        .map(MemberDescription::consumerId)
        .collect(Collectors.toSet());
  }

  /** Which partitions each of its instances has, those that are away included. */
  Map<String, Set<TopicPartition>> assignments() {
    return get(admin.describeConsumerGroups(List.of(group)).all()).get(group).members().stream()
        .collect(
            Collectors.toMap(
                each -> each.groupInstanceId().orElseThrow(),
                each -> each.assignment().topicPartitions()));
  }

  boolean exists(String topic) {
    return get(admin.listTopics().names()).contains(topic);
  }

  int partitionsOf(String topic) {
    return get(admin.describeTopics(List.of(topic)).allTopicNames()).get(topic).partitions().size();
  }

  long end(TopicPartition partition) {
    Map<TopicPartition, ListOffsetsResultInfo> all =
        get(admin.listOffsets(Map.of(partition, OffsetSpec.latest())).all());
    return all.get(partition).offset();
  }

  /** How many records the group has not committed. */
  long lag(String topic, int partitions) {
    return partitions(topic, partitions).stream()
        .mapToLong(each -> end(each) - committed(each))
        .sum();
  }

  /** All records of a topic with one partition. */
  List<ConsumerRecord<byte[], byte[]>> read(String topic) {
    TopicPartition partition = new TopicPartition(topic, 0);
    List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
    try (var consumer =
        new KafkaConsumer<>(
            Map.<String, Object>of("bootstrap.servers", bootstrap, "fetch.max.wait.ms", 50),
            new ByteArrayDeserializer(),
            new ByteArrayDeserializer())) {
      consumer.assign(List.of(partition));
      consumer.seekToBeginning(List.of(partition));
      long end = end(partition);
      while (consumer.position(partition) < end) {
        consumer.poll(Duration.ofMillis(100)).forEach(records::add);
      }
    }
    return records;
  }

  static String header(ConsumerRecord<byte[], byte[]> record, String name) {
    Header header = record.headers().lastHeader(name);
    return header == null ? "" : new String(header.value(), UTF_8);
  }

  static <T> T get(Future<T> future) {
    try {
      return future.get(300, TimeUnit.SECONDS);
    } catch (ExecutionException | TimeoutException e) {
      throw new AssertionError("The broker did not do it", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("Interrupted while waiting for the broker", e);
    }
  }

  @Override
  public void close() {
    producer.close(Duration.ofSeconds(1));
    admin.close(Duration.ofSeconds(1));
  }
}
