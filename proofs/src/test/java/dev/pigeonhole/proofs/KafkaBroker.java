package dev.pigeonhole.proofs;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.pigeonhole.support.FaultProxy;
import dev.pigeonhole.support.JavaProcess;
import dev.pigeonhole.support.KafkaServer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A topic, a topic for what is put aside, and one group. The proof sends straight to the broker;
 * workers receive through a proxy.
 */
final class KafkaBroker implements SourceBroker {
  /** After how long the group gives up a member that says nothing. */
  static final int SESSION_MILLIS = 3_000;

  private static final String STRANGER = "stranger";
  private static final int PARTITIONS = 6;
  private static final int CONFIRM_MILLIS = 10_000;

  private final KafkaServer server;
  private final FaultProxy proxy;
  private final String topic;
  private final Admin admin;
  private final KafkaProducer<String, String> producer;

  KafkaBroker(KafkaServer server, FaultProxy proxy, String topic) {
    this.server = server;
    this.proxy = proxy;
    this.topic = topic;
    server.createTopic(topic, PARTITIONS);
    server.createTopic(asideTopic(), 1);
    this.admin = Admin.create(Map.of("bootstrap.servers", server.bootstrap()));
    this.producer =
        new KafkaProducer<>(
            Map.of(
                "bootstrap.servers",
                server.bootstrap(),
                "acks",
                "all",
                "linger.ms",
                0,
                "max.block.ms",
                CONFIRM_MILLIS,
                "request.timeout.ms",
                CONFIRM_MILLIS / 2,
                "delivery.timeout.ms",
                CONFIRM_MILLIS),
            new StringSerializer(),
            new StringSerializer());
  }

  private String asideTopic() {
    return topic + "-aside";
  }

  private String group() {
    return topic + "-group";
  }

  KafkaServer server() {
    return server;
  }

  FaultProxy proxy() {
    return proxy;
  }

  @Override
  public void send(String id) throws ExecutionException, InterruptedException, TimeoutException {
    ProducerRecord<String, String> record = new ProducerRecord<>(topic, id, id);
    record.headers().add("pigeonhole-id", id.getBytes(UTF_8));
    record.headers().add("pigeonhole-type", SourceWorker.TYPE.getBytes(UTF_8));
    record.headers().add("content-type", SourceWorker.TEXT.getBytes(UTF_8));
    producer.send(record).get(2L * CONFIRM_MILLIS, TimeUnit.MILLISECONDS);
  }

  @Override
  public JavaProcess.Builder worker(Object... first) {
    return JavaProcess.of(KafkaWorker.class)
        .args(first)
        .args("127.0.0.1:" + proxy.port(), group(), topic, asideTopic());
  }

  /** A member of the group that reads and never commits; for one thread. */
  KafkaConsumer<String, String> stranger() {
    KafkaConsumer<String, String> consumer =
        new KafkaConsumer<>(
            Map.of(
                "bootstrap.servers",
                server.bootstrap(),
                "group.id",
                group(),
                "client.id",
                STRANGER,
                "session.timeout.ms",
                SESSION_MILLIS,
                "heartbeat.interval.ms",
                SESSION_MILLIS / 10,
                "enable.auto.commit",
                false,
                "auto.offset.reset",
                "earliest"),
            new StringDeserializer(),
            new StringDeserializer());
    consumer.subscribe(List.of(topic));
    return consumer;
  }

  @Override
  public int consumers() {
    return (int)
        answer(admin.describeConsumerGroups(List.of(group())).describedGroups().get(group()))
            .members()
            .stream()
            .filter(member -> !member.clientId().equals(STRANGER))
            .count();
  }

  @Override
  public long left() {
    Map<TopicPartition, OffsetAndMetadata> committed =
        answer(admin.listConsumerGroupOffsets(group()).partitionsToOffsetAndMetadata());
    return ends(topic, PARTITIONS).entrySet().stream()
        .mapToLong(
            end -> {
              OffsetAndMetadata offset = committed.get(end.getKey());
              return end.getValue() - (offset == null ? 0 : offset.offset());
            })
        .sum();
  }

  @Override
  public long aside() {
    return ends(asideTopic(), 1).values().stream().mapToLong(each -> each).sum();
  }

  private Map<TopicPartition, Long> ends(String name, int partitions) {
    Map<TopicPartition, OffsetSpec> wanted =
        IntStream.range(0, partitions)
            .mapToObj(number -> new TopicPartition(name, number))
            .collect(Collectors.toMap(partition -> partition, partition -> OffsetSpec.latest()));
    return answer(admin.listOffsets(wanted).all()).entrySet().stream()
        .collect(Collectors.toMap(Map.Entry::getKey, end -> end.getValue().offset()));
  }

  private static <T> T answer(KafkaFuture<T> future) {
    try {
      return future.get(CONFIRM_MILLIS, TimeUnit.MILLISECONDS);
    } catch (ExecutionException | TimeoutException e) {
      throw new IllegalStateException("Kafka does not answer", e);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public void close() {
    producer.close(Duration.ofSeconds(1));
    admin.close(Duration.ofSeconds(1));
  }
}
