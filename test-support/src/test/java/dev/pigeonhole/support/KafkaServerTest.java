package dev.pigeonhole.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class KafkaServerTest {

  private static final Duration LIMIT = Duration.ofMinutes(5);

  private static KafkaServer server;

  private final String topic = "t-" + UUID.randomUUID();

  @BeforeAll
  static void startServer() {
    server = KafkaServer.start();
  }

  @AfterAll
  static void closeServer() {
    server.close();
  }

  @Test
  void topicHasThePartitionsAskedFor() {
    server.createTopic(topic, 3);

    try (Consumer<String, String> consumer = consumer(server.bootstrap())) {
      assertThat(consumer.partitionsFor(topic)).hasSize(3);
    }
  }

  @Test
  void topicOfTheSameNameIsRefused() {
    server.createTopic(topic, 1);

    assertThatThrownBy(() -> server.createTopic(topic, 1))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("already exists");
  }

  @Test
  @Tag("full")
  void acknowledgedRecordsSurviveCrashes() throws Exception {
    server.createTopic(topic, 1);
    send(server.bootstrap(), "first");

    server.crash();
    server.restart();
    send(server.bootstrap(), "second");
    server.crash();
    server.restart();

    assertThat(read(server.bootstrap(), 2)).containsExactly("first", "second");
  }

  @Test
  @Tag("full")
  void committedOffsetsSurviveACrash() {
    server.createTopic(topic, 1);
    TopicPartition partition = new TopicPartition(topic, 0);
    try (Consumer<String, String> consumer = consumer(server.bootstrap())) {
      consumer.commitSync(Map.of(partition, new OffsetAndMetadata(7)), LIMIT);
    }

    server.crash();
    server.restart();

    try (Consumer<String, String> consumer = consumer(server.bootstrap())) {
      assertThat(consumer.committed(Set.of(partition), LIMIT).get(partition).offset()).isEqualTo(7);
    }
  }

  @Test
  void stoppedServerComesBackWithItsRecords() throws Exception {
    server.createTopic(topic, 1);
    send(server.bootstrap(), "first");

    server.stop();
    server.restart();

    assertThat(read(server.bootstrap(), 1)).containsExactly("first");
  }

  @Test
  void pausedServerLetsItsClientsWait() throws Exception {
    server.createTopic(topic, 1);
    server.pause();
    try (Producer<String, String> impatient =
        producer(
            server.bootstrap(),
            Map.of(
                ProducerConfig.MAX_BLOCK_MS_CONFIG,
                1_000,
                ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG, // close() waits for what was asked
                1_000))) {
      assertThatThrownBy(() -> impatient.send(new ProducerRecord<>(topic, "early")).get())
          .isInstanceOf(ExecutionException.class)
          .hasCauseInstanceOf(TimeoutException.class);
    } finally {
      server.resume();
    }

    send(server.bootstrap(), "late");

    assertThat(read(server.bootstrap(), 1)).containsExactly("late");
  }

  @Test
  void clientsOfAProxyStayBehindIt() throws Exception {
    try (FaultProxy proxy = FaultProxy.to("127.0.0.1", Ports.free());
        KafkaServer proxied = KafkaServer.start(proxy)) {
      proxied.createTopic(topic, 1);
      assertThat(proxy.connections()).isZero();
      String door = "127.0.0.1:" + proxy.port();

      try (Producer<String, String> producer = producer(door, Map.of())) {
        producer.send(new ProducerRecord<>(topic, "before")).get();
        // Whom it asked first, and whom it was sent to: both are the proxy.
        assertThat(proxy.connections()).isGreaterThan(1);
        proxy.cut();
        producer.send(new ProducerRecord<>(topic, "after")).get();
      }

      assertThat(proxy.hits()).isPositive();
      assertThat(read(proxied.bootstrap(), 2)).containsExactly("before", "after");
    }
  }

  @Test
  void serverMapsTheClassArchive() throws Exception {
    Path maps = Path.of("/proc/" + server.pid() + "/maps");

    assertThat(Files.readString(maps)).contains("/kafka.jsa");
  }

  @Test
  @Tag("full")
  void eachServerIsAClusterOfItsOwn() throws Exception {
    try (KafkaServer other = KafkaServer.start();
        Admin ours = Admin.create(Map.of("bootstrap.servers", server.bootstrap()));
        Admin theirs = Admin.create(Map.of("bootstrap.servers", other.bootstrap()))) {
      assertThat(ours.describeCluster().clusterId().get())
          .isNotEqualTo(theirs.describeCluster().clusterId().get());
    }
  }

  @Test
  void nothingIsLeftOfAClosedServer() {
    KafkaServer closed = KafkaServer.start();
    long pid = closed.pid();

    closed.close();

    assertThat(ServerProcess.isGone(pid)).isTrue();
    assertThat(closed.home()).doesNotExist();
  }

  @Test
  @Tag("full")
  void nothingIsLeftOfAPausedServerWhoseParentIsKilled() {
    try (JavaProcess parent =
        JavaProcess.of(Parent.class)
            .systemProperty("pigeonhole.servers", Scratch.cache().toString())
            .start()) {
      Path home = Path.of(parent.awaitLine("home ", LIMIT).substring("home ".length()));
      long pid = Long.parseLong(parent.awaitLine("process ", LIMIT).substring("process ".length()));
      assertThat(ServerProcess.isGone(pid)).isFalse();

      parent.kill9();

      Eventually.until("the server to be gone", LIMIT, () -> ServerProcess.isGone(pid));
      Eventually.until("the data to be deleted", LIMIT, () -> Files.notExists(home));
    }
  }

  /** Takes care of nothing that it starts. */
  static final class Parent {
    public static void main(String[] args) throws InterruptedException {
      KafkaServer server = KafkaServer.start();
      server.pause();
      System.out.println("process " + server.pid());
      System.out.println("home " + server.home());
      new CountDownLatch(1).await();
    }
  }

  private void send(String bootstrap, String value) throws Exception {
    try (Producer<String, String> producer = producer(bootstrap, Map.of())) {
      producer.send(new ProducerRecord<>(topic, value)).get();
    }
  }

  private List<String> read(String bootstrap, int count) {
    List<String> values = new ArrayList<>();
    try (Consumer<String, String> consumer = consumer(bootstrap)) {
      TopicPartition partition = new TopicPartition(topic, 0);
      consumer.assign(Set.of(partition));
      consumer.seekToBeginning(Set.of(partition));
      Eventually.until(
          count + " records",
          LIMIT,
          () -> {
            consumer.poll(Duration.ofMillis(200)).forEach(record -> values.add(record.value()));
            return values.size() >= count;
          });
    }
    return values;
  }

  private static Producer<String, String> producer(String bootstrap, Map<String, Object> more) {
    Map<String, Object> settings = new HashMap<>(more);
    settings.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
    settings.put(ProducerConfig.ACKS_CONFIG, "all");
    return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
  }

  private static Consumer<String, String> consumer(String bootstrap) {
    Map<String, Object> settings = new HashMap<>();
    settings.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
    settings.put(ConsumerConfig.GROUP_ID_CONFIG, "readers");
    settings.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
    return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
  }
}
