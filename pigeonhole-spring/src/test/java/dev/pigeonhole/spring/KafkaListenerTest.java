package dev.pigeonhole.spring;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Direction;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.FaultProxy;
import dev.pigeonhole.support.KafkaServer;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.EnableKafka;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.listener.SeekUtils;
import org.springframework.util.backoff.BackOff;
import org.springframework.util.backoff.FixedBackOff;

/** Listeners of Spring for Apache Kafka behind a guard, with a real broker. */
class KafkaListenerTest {
  private static final int PARTITIONS = 4;

  /** Long enough for four consumers that poll on a busy machine. */
  private static final Duration POLL_INTERVAL = Duration.ofSeconds(10);

  private static final Duration OUTAGE = POLL_INTERVAL.plusSeconds(2);

  /** A topic and a group of its own, and how often each of its members has to poll. */
  record Names(String topic, String group, Duration pollInterval) {
    static Names fresh(Duration pollInterval) {
      return new Names("topic-" + UUID.randomUUID(), "group-" + UUID.randomUUID(), pollInterval);
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableKafka
  static class Kafka {
    @Bean
    AtomicInteger failures() {
      return new AtomicInteger();
    }

    @Bean
    ConcurrentKafkaListenerContainerFactory<String, String> kafkaListenerContainerFactory(
        Names names, AtomicInteger failures, DefaultErrorHandler errors) {
      Map<String, Object> config = new HashMap<>();
      config.put("bootstrap.servers", KafkaServer.shared().bootstrap());
      config.put("group.id", names.group());
      config.put("auto.offset.reset", "earliest");
      config.put("heartbeat.interval.ms", 100);
      config.put("fetch.max.wait.ms", 50);
      config.put("max.poll.interval.ms", (int) names.pollInterval().toMillis());
      ConcurrentKafkaListenerContainerFactory<String, String> factory =
          new ConcurrentKafkaListenerContainerFactory<>();
      factory.setConsumerFactory(
          new DefaultKafkaConsumerFactory<>(
              config, new StringDeserializer(), new StringDeserializer()));
      factory.setConcurrency(PARTITIONS);
      factory.getContainerProperties().setAckMode(ContainerProperties.AckMode.RECORD);
      errors.setRetryListeners((record, thrown, attempt) -> failures.incrementAndGet());
      factory.setCommonErrorHandler(errors);
      return factory;
    }

    @Bean
    KafkaTemplate<String, String> template() {
      return new KafkaTemplate<>(
          new DefaultKafkaProducerFactory<>(
              Map.of("bootstrap.servers", KafkaServer.shared().bootstrap()),
              new StringSerializer(),
              new StringSerializer()));
    }
  }

  static class Listener {
    private final Charges charges;

    Listener(Charges charges) {
      this.charges = charges;
    }

    @KafkaListener(topics = "#{names.topic}")
    @IdempotentMethod(handler = "charge-card", key = "#order")
    public void charge(String order) {
      charges.charge(order);
    }
  }

  /** A world, a topic and a group in which listeners run. */
  private static final class Shop implements AutoCloseable {
    final Names names;
    final HikariDataSource pool;
    final World world;
    final Admin admin = Admin.create(Map.of("bootstrap.servers", KafkaServer.shared().bootstrap()));
    private final Map<TopicPartition, Long> sent = new HashMap<>();

    private Shop(
        TestDatabase database, HikariDataSource pool, Duration pollInterval, BackOff backOff) {
      this.names = Names.fresh(pollInterval);
      KafkaServer.shared().createTopic(names.topic(), PARTITIONS);
      this.pool = pool;
      this.world = new World(database, pool);
      world.context.registerBean("names", Names.class, () -> names);
      world.context.registerBean(
          "errors", DefaultErrorHandler.class, () -> new DefaultErrorHandler(backOff));
      world
          .with(Kafka.class, Charges.class, Listener.class) // on purpose before the guard
          .with(World.Basics.class, World.Jdbc.class, IdempotentMethodTest.WithGuard.class)
          .start();
    }

    /** Neither the pool nor the group gives up on a busy machine. */
    static Shop patient(BackOff backOff) {
      TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES);
      return new Shop(database, pool(database, Charges.LIMIT), Duration.ofMinutes(5), backOff);
    }

    static Shop patient() {
      return patient(untilItSucceeds());
    }

    /** Nobody waits for a connection as long as Kafka waits for a poll. */
    static Shop impatient(TestDatabase database) {
      return new Shop(
          database, pool(database, Duration.ofMillis(500)), POLL_INTERVAL, untilItSucceeds());
    }

    private static BackOff untilItSucceeds() {
      return new FixedBackOff(100, FixedBackOff.UNLIMITED_ATTEMPTS);
    }

    Charges charges() {
      return world.bean(Charges.class);
    }

    int failures() {
      return world.bean(AtomicInteger.class).get();
    }

    @SuppressWarnings("unchecked")
    void send(int partition, String order) {
      KafkaTemplate<String, String> template = world.bean(KafkaTemplate.class);
      get(template.send(names.topic(), partition, null, order));
      sent.merge(new TopicPartition(names.topic(), partition), 1L, Long::sum);
    }

    void awaitCommitted() {
      Eventually.passes(Charges.LIMIT, () -> assertThat(committed()).isEqualTo(sent));
    }

    Map<TopicPartition, Long> committed() {
      Map<TopicPartition, Long> offsets = new HashMap<>();
      Map<TopicPartition, OffsetAndMetadata> all =
          get(admin.listConsumerGroupOffsets(names.group()).partitionsToOffsetAndMetadata());
      all.forEach((partition, offset) -> offsets.put(partition, offset.offset()));
      offsets.values().removeIf(offset -> offset == 0);
      return offsets;
    }

    /** Who is in the group; whoever leaves and comes back has another id. */
    Set<String> members() {
      return get(admin.describeConsumerGroups(List.of(names.group())).all())
          .get(names.group())
          .members()
          .stream()
          .map(MemberDescription::consumerId)
          .collect(Collectors.toSet());
    }

    /** When nobody comes to the group any more, and a first order is through. */
    Set<String> settled() {
      send(0, "o-1");
      awaitCommitted();
      Eventually.until("all to join", Charges.LIMIT, () -> members().size() == PARTITIONS);
      return members();
    }

    private static HikariDataSource pool(TestDatabase database, Duration connectionTimeout) {
      HikariConfig config = new HikariConfig();
      config.setDataSource(database.dataSource());
      config.setMaximumPoolSize(20);
      config.setConnectionTimeout(connectionTimeout.toMillis());
      config.setInitializationFailTimeout(Charges.LIMIT.toMillis());
      return new HikariDataSource(config);
    }

    @Override
    public void close() {
      world.close();
      pool.close();
      admin.close();
    }
  }

  private static <T> T get(Future<T> future) {
    try {
      return future.get(300, TimeUnit.SECONDS);
    } catch (ExecutionException | TimeoutException e) {
      throw new AssertionError("The broker did not do it", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("Interrupted while waiting for the broker", e);
    }
  }

  @Test
  void aRepeatIsCommittedAndNotRun() {
    try (Shop shop = Shop.patient()) {
      shop.send(0, "o-1");
      shop.awaitCommitted();
      shop.send(0, "o-1");
      shop.send(1, "o-1");
      shop.send(1, "o-2");
      shop.awaitCommitted();
      assertThat(shop.charges().runs()).containsExactly("o-1", "o-2");
      assertThat(shop.world.notes()).isEqualTo(2);
    }
  }

  @Test
  void listenersStopBeforeInboxes() {
    try (Shop shop = Shop.patient()) {
      assertThat(shop.world.bean(KafkaListenerEndpointRegistry.class).getListenerContainers())
          .isNotEmpty()
          .allMatch(each -> each.getPhase() > PigeonholeLifecycle.PHASE);
    }
  }

  @Test
  void whatFailsIsRolledBackAndBroughtAgain() {
    try (Shop shop = Shop.patient()) {
      shop.charges().then =
          run -> {
            if (run < 3) {
              throw new IllegalStateException("not yet");
            }
          };
      shop.send(0, "o-1");
      shop.send(0, "o-2");
      shop.awaitCommitted();
      assertThat(shop.charges().runs()).containsExactly("o-1", "o-1", "o-1", "o-2");
      assertThat(shop.world.notes()).isEqualTo(2);
    }
  }

  /** A guard cannot help there; what to do instead is said in the documentation. */
  @Test
  void withTheBackOffThatSpringHasByDefaultWhatGoesOnFailingIsLost() {
    try (Shop shop = Shop.patient(SeekUtils.DEFAULT_BACK_OFF)) {
      shop.charges().then =
          run -> {
            if (shop.charges().runs().get(run - 1).equals("o-1")) {
              throw new IllegalStateException("for now");
            }
          };
      shop.send(0, "o-1");
      shop.send(0, "o-2");
      shop.awaitCommitted();
      assertThat(shop.charges().runs()).hasSizeGreaterThanOrEqualTo(11).endsWith("o-1", "o-2");
      assertThat(shop.world.notes()).isEqualTo(1);
    }
  }

  @Test
  void copiesThatComeTogetherRunOnce() {
    int keys = 20;
    try (Shop shop = Shop.patient()) {
      for (int key = 0; key < keys; key++) {
        for (int partition = 0; partition < PARTITIONS; partition++) {
          shop.send(partition, "o-" + key);
        }
      }
      shop.awaitCommitted();
      assertThat(shop.world.notes()).isEqualTo(keys);
      assertThat(shop.world.database.count("SELECT count(DISTINCT order_id) FROM note"))
          .isEqualTo(keys);
    }
  }

  @Test
  void kf03_aStoreThatIsDownForLongerThanThePollIntervalCostsNoMembership() {
    try (FaultProxy proxy = FaultProxy.to(TestDatabases.server(DatabaseKind.POSTGRES));
        TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES);
        Shop shop = Shop.impatient(database.through(proxy))) {
      Set<String> before = shop.settled();

      proxy.refuse(true);
      proxy.cut();
      shop.send(0, "o-2");
      long began = System.nanoTime();
      Eventually.until(
          "an outage that is longer than the poll interval",
          Charges.LIMIT,
          () -> shop.failures() > 1 && System.nanoTime() - began > OUTAGE.toNanos());
      proxy.refuse(false);

      shop.awaitCommitted();
      assertThat(shop.members()).isEqualTo(before);
      assertThat(shop.charges().runs()).containsExactly("o-1", "o-2");
      assertThat(shop.world.notes()).isEqualTo(2);
    }
  }

  @Test
  void kf03_aStoreThatHangsForLongerThanThePollIntervalLetsPartitionsMoveAndNothingIsDoubled() {
    try (FaultProxy proxy = FaultProxy.to(TestDatabases.server(DatabaseKind.POSTGRES));
        TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES);
        Shop shop = Shop.impatient(database.through(proxy))) {
      Set<String> before = shop.settled();

      shop.charges().then = run -> proxy.blackhole(Direction.values()); // and commits into it
      shop.send(0, "o-2");
      try {
        Eventually.until(
            "the one who hangs to leave the group",
            Charges.LIMIT,
            () -> !shop.members().containsAll(before));
      } finally {
        proxy.heal();
      }

      shop.awaitCommitted();
      assertThat(shop.charges().runs()).containsExactly("o-1", "o-2");
      assertThat(shop.world.notes()).isEqualTo(2);
    }
  }
}
