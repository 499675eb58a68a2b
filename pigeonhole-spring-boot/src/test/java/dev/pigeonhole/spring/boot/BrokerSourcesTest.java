package dev.pigeonhole.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import dev.pigeonhole.kafka.KafkaTransport;
import dev.pigeonhole.spring.boot.AutoConfigurationTest.Handling;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.KafkaServer;
import dev.pigeonhole.support.RabbitServer;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.Sent;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.amqp.rabbit.connection.CachingConnectionFactory;
import org.springframework.boot.amqp.autoconfigure.RabbitAutoConfiguration;
import org.springframework.boot.amqp.autoconfigure.RabbitConnectionDetails;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.kafka.autoconfigure.KafkaAutoConfiguration;
import org.springframework.boot.kafka.autoconfigure.KafkaConnectionDetails;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** Channels fed by brokers that Spring Boot knows. */
class BrokerSourcesTest {
  private static final Duration LONG = Duration.ofMinutes(5);
  private static final byte[] ORDER = "{\"id\":\"o-1\"}".getBytes(StandardCharsets.UTF_8);

  @Test
  void aQueueFeedsAChannelByTheConnectionOfSpring() throws Exception {
    RabbitServer server = RabbitServer.shared();
    String host = publish(server);
    runner()
        .withConfiguration(AutoConfigurations.of(RabbitAutoConfiguration.class))
        .withPropertyValues(
            "spring.rabbitmq.port=" + server.amqpPort(),
            "spring.rabbitmq.virtual-host=" + host,
            "pigeonhole.channels.orders.transport=rabbitmq",
            "pigeonhole.channels.orders.destination=placed",
            "pigeonhole.channels.orders.concurrency=2")
        .run(BrokerSourcesTest::isFed);
    awaitTaken(server, host);
  }

  /** A message whose acknowledgement is still under way when the context closes counts. */
  private static void awaitTaken(RabbitServer server, String host) {
    Eventually.until("an empty queue", LONG, () -> server.messages(host, "placed") == 0);
  }

  /** As {@code @ServiceConnection} and Docker Compose say where a broker is. */
  @Test
  void aQueueIsLookedForWhereConnectionDetailsSay() throws Exception {
    RabbitServer server = RabbitServer.shared();
    String host = publish(server);
    RabbitConnectionDetails details =
        new RabbitConnectionDetails() {
          @Override
          public String getUsername() {
            return "guest";
          }

          @Override
          public String getPassword() {
            return "guest";
          }

          @Override
          public String getVirtualHost() {
            return host;
          }

          @Override
          public List<Address> getAddresses() {
            return List.of(
                new Address("127.0.0.1", 1), new Address("127.0.0.1", server.amqpPort()));
          }
        };
    runner()
        .withConfiguration(AutoConfigurations.of(RabbitAutoConfiguration.class))
        .withBean(RabbitConnectionDetails.class, () -> details)
        .withPropertyValues(
            "spring.rabbitmq.host=nowhere.invalid",
            "spring.rabbitmq.virtual-host=nowhere",
            "pigeonhole.channels.orders.transport=rabbitmq",
            "pigeonhole.channels.orders.destination=placed")
        .run(BrokerSourcesTest::isFed);
    awaitTaken(server, host);
  }

  @Test
  void ofSeveralAddressesTheOneThatAnswersIsTaken() throws Exception {
    RabbitServer server = RabbitServer.shared();
    String host = publish(server);
    runner()
        .withConfiguration(AutoConfigurations.of(RabbitAutoConfiguration.class))
        .withPropertyValues(
            "spring.rabbitmq.addresses=127.0.0.1:1,127.0.0.1:" + server.amqpPort(),
            "spring.rabbitmq.virtual-host=" + host,
            "pigeonhole.channels.orders.transport=rabbitmq",
            "pigeonhole.channels.orders.destination=placed")
        .run(BrokerSourcesTest::isFed);
  }

  @Test
  void aConnectionFactoryOfOnesOwnSaysItself() throws Exception {
    RabbitServer server = RabbitServer.shared();
    String host = publish(server);
    runner()
        .withConfiguration(AutoConfigurations.of(RabbitAutoConfiguration.class))
        .withBean(CachingConnectionFactory.class, () -> connections(server, host))
        .withPropertyValues(
            "spring.rabbitmq.addresses=127.0.0.1:1",
            "pigeonhole.channels.orders.transport=rabbitmq",
            "pigeonhole.channels.orders.destination=placed")
        .run(BrokerSourcesTest::isFed);
  }

  private static CachingConnectionFactory connections(RabbitServer server, String host) {
    CachingConnectionFactory own = new CachingConnectionFactory("127.0.0.1", server.amqpPort());
    own.setVirtualHost(host);
    return own;
  }

  /** From Spring Boot 4.2 on, what it knows of RabbitMQ has other names. */
  @Test
  void withoutWhatSpringBootKnowsTheConnectionFactoryIsEnough() throws Exception {
    RabbitServer server = RabbitServer.shared();
    String host = publish(server);
    runner()
        .withClassLoader(new FilteredClassLoader("org.springframework.boot.amqp"))
        .withBean(CachingConnectionFactory.class, () -> connections(server, host))
        .withPropertyValues(
            "pigeonhole.channels.orders.transport=rabbitmq",
            "pigeonhole.channels.orders.destination=placed")
        .run(BrokerSourcesTest::isFed);
  }

  /** Another node would not reach it either, and whoever calls over HTTP needs no broker. */
  @Test
  void healthTellsWhichBrokerIsNotReachedAndStaysUp() {
    runner()
        .withConfiguration(AutoConfigurations.of(RabbitAutoConfiguration.class))
        .withPropertyValues(
            "spring.rabbitmq.addresses=127.0.0.1:1",
            "pigeonhole.channels.orders.transport=rabbitmq",
            "pigeonhole.channels.orders.destination=placed")
        .run(context -> isInTrouble(context, "rabbitmq:placed"));
  }

  private static void isInTrouble(AssertableApplicationContext context, String source) {
    PigeonholeHealthIndicator indicator = context.getBean(PigeonholeHealthIndicator.class);
    Eventually.until(
        LONG,
        () ->
            indicator
                .health()
                .getDetails()
                .get("inbox")
                .toString()
                .contains("sourcesInTrouble=[%s]".formatted(source)));
    assertThat(indicator.health().getStatus()).isEqualTo(Status.UP);
  }

  @Test
  void healthTellsOfATopicThatIsNotReachedAsWell() {
    runner()
        .withConfiguration(AutoConfigurations.of(KafkaAutoConfiguration.class))
        .withPropertyValues(
            "spring.kafka.bootstrap-servers=127.0.0.1:1",
            "pigeonhole.channels.orders.transport=kafka",
            "pigeonhole.channels.orders.destination=placed",
            "pigeonhole.channels.orders.group=shop")
        .run(context -> isInTrouble(context, "kafka:placed"));
  }

  @Test
  void whatAQueueHasThatCannotBeTakenGoesToTheExchangeForIt() throws Exception {
    RabbitServer server = RabbitServer.shared();
    String host = server.newVirtualHost();
    try (Connection connection = connect(server, host)) {
      com.rabbitmq.client.Channel channel = connection.createChannel();
      channel.exchangeDeclare("dead", "direct", true);
      channel.queueDeclare("looked-at", true, false, false, Map.of());
      channel.queueBind("looked-at", "dead", "placed");
      publish(channel, null);
    }
    runner()
        .withConfiguration(AutoConfigurations.of(RabbitAutoConfiguration.class))
        .withPropertyValues(
            "spring.rabbitmq.port=" + server.amqpPort(),
            "spring.rabbitmq.virtual-host=" + host,
            "pigeonhole.channels.orders.transport=rabbitmq",
            "pigeonhole.channels.orders.destination=placed",
            "pigeonhole.channels.orders.refused=dead")
        .run(context -> Eventually.until(LONG, () -> server.messages(host, "looked-at") == 1));
    awaitTaken(server, host);
  }

  /** Where another takes it, who asks for no id. */
  @Test
  void whatATopicHasThatCannotBeTakenGoesToTheTopicForIt() throws Exception {
    KafkaServer server = KafkaServer.shared();
    String topic = publish(server, null);
    String refused = topic + ".refused";
    server.createTopic(refused, 1);
    taking(server, topic)
        .withPropertyValues("pigeonhole.channels.orders.refused=" + refused)
        .run(
            context ->
                taking(server, refused)
                    .withPropertyValues("pigeonhole.channels.orders.missing-id=accept-every-copy")
                    .run(BrokerSourcesTest::isFed));
  }

  private static ApplicationContextRunner taking(KafkaServer server, String topic) {
    return runner()
        .withConfiguration(AutoConfigurations.of(KafkaAutoConfiguration.class))
        .withPropertyValues(
            "spring.kafka.bootstrap-servers=" + server.bootstrap(),
            "pigeonhole.channels.orders.transport=kafka",
            "pigeonhole.channels.orders.destination=" + topic,
            "pigeonhole.channels.orders.group=shop");
  }

  @Test
  void aTopicFeedsAChannelByTheSettingsOfSpring() throws Exception {
    KafkaServer server = KafkaServer.shared();
    String topic = publish(server);
    runner()
        .withConfiguration(AutoConfigurations.of(KafkaAutoConfiguration.class))
        .withPropertyValues(
            "spring.kafka.bootstrap-servers=" + server.bootstrap(),
            "pigeonhole.channels.orders.transport=kafka",
            "pigeonhole.channels.orders.destination=" + topic,
            // Those are for listeners of Spring, and would be refused here.
            "spring.kafka.consumer.max-poll-records=7",
            "spring.kafka.consumer.value-deserializer="
                + "org.apache.kafka.common.serialization.StringDeserializer",
            "pigeonhole.channels.orders.group=shop")
        .run(BrokerSourcesTest::isFed);
  }

  @Test
  void aTopicIsLookedForWhereConnectionDetailsSay() throws Exception {
    KafkaServer server = KafkaServer.shared();
    String topic = publish(server);
    KafkaConnectionDetails details = () -> List.of(server.bootstrap());
    runner()
        .withConfiguration(AutoConfigurations.of(KafkaAutoConfiguration.class))
        .withBean(KafkaConnectionDetails.class, () -> details)
        .withPropertyValues(
            "spring.kafka.bootstrap-servers=nowhere.invalid:9092",
            "pigeonhole.channels.orders.transport=kafka",
            "pigeonhole.channels.orders.destination=" + topic,
            "pigeonhole.channels.orders.group=shop")
        .run(BrokerSourcesTest::isFed);
  }

  @Test
  void withoutSourcesNoBrokerFeedsAndNoLibraryIsMissed() {
    runner()
        .withClassLoader(new FilteredClassLoader("org.springframework.amqp"))
        .withPropertyValues(
            "pigeonhole.inbox.sources=false", "pigeonhole.channels.orders.transport=rabbitmq")
        .run(context -> assertThat(context).hasNotFailed().hasBean("pigeonholeInbox"));
  }

  @Test
  void withoutTheLibrariesOfATransportNothingFeedsByIt() {
    for (String library : new String[] {"org.springframework.amqp", "dev.pigeonhole.rabbitmq"}) {
      runner()
          .withClassLoader(new FilteredClassLoader(library))
          .run(
              context ->
                  assertThat(context)
                      .hasNotFailed()
                      .doesNotHaveBean("pigeonholeRabbitSources")
                      .hasBean("pigeonholeKafkaSources"));
    }
    for (String library : new String[] {"org.springframework.kafka", "dev.pigeonhole.kafka"}) {
      runner()
          .withClassLoader(new FilteredClassLoader(library))
          .run(
              context ->
                  assertThat(context)
                      .hasNotFailed()
                      .doesNotHaveBean("pigeonholeKafkaSources")
                      .hasBean("pigeonholeRabbitSources"));
    }
    runner()
        .withClassLoader(new FilteredClassLoader("org.springframework.kafka"))
        .withPropertyValues("pigeonhole.channels.orders.transport=kafka")
        .run(
            context ->
                assertThat(context)
                    .getFailure()
                    .rootCause()
                    .hasMessage(
                        "PH-SPR-05: Channel 'orders': its transport is kafka, whose libraries are"
                            + " not there. Add pigeonhole-kafka and spring-boot-starter-kafka."));
  }

  /** The virtual host that it is in. */
  private static String publish(RabbitServer server) throws Exception {
    String host = server.newVirtualHost();
    try (Connection connection = connect(server, host)) {
      publish(connection.createChannel(), "m-1");
    }
    return host;
  }

  private static Connection connect(RabbitServer server, String host) throws Exception {
    ConnectionFactory factory = new ConnectionFactory();
    factory.setPort(server.amqpPort());
    factory.setVirtualHost(host);
    return factory.newConnection();
  }

  private static void publish(com.rabbitmq.client.Channel channel, @Nullable String id)
      throws Exception {
    channel.queueDeclare("placed", true, false, false, Map.of());
    BasicProperties properties =
        new BasicProperties.Builder()
            .messageId(id)
            .type("Order")
            .contentType("application/json")
            .deliveryMode(2)
            .build();
    channel.basicPublish("", "placed", properties, ORDER);
  }

  private static String publish(KafkaServer server) throws Exception {
    return publish(server, "m-1");
  }

  /** The topic that it is in. */
  private static String publish(KafkaServer server, @Nullable String id) throws Exception {
    String topic = "orders-" + UUID.randomUUID();
    server.createTopic(topic, 1);
    KafkaTransport transport =
        KafkaTransport.topic(Map.of("bootstrap.servers", server.bootstrap()), topic);
    try {
      Envelope placed =
          Envelope.of("kafka", topic)
              .id(id)
              .type("Order")
              .contentType("application/json")
              .body(ORDER)
              .build();
      // A busy broker may answer too late at first.
      Eventually.passes(
          LONG,
          () ->
              assertThat(transport.send(List.of(placed), LONG))
                  .containsExactly(new Sent.Confirmed()));
    } finally {
      transport.close();
    }
    return topic;
  }

  private static void isFed(AssertableApplicationContext context) {
    assertThat(context).hasNotFailed();
    Handling handling = context.getBean(Handling.class);
    Eventually.until(LONG, () -> handling.seen.contains("o-1"));
  }

  private static ApplicationContextRunner runner() {
    return AutoConfigurationTest.runner()
        .withUserConfiguration(Handling.class)
        .withPropertyValues("pigeonhole.inbox.background-processing=true");
  }
}
