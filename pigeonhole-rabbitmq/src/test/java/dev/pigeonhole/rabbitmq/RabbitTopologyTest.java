package dev.pigeonhole.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.rabbitmq.client.BuiltinExchangeType;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.MessageProperties;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.support.RabbitServer;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.slf4j.LoggerFactory;

class RabbitTopologyTest {
  private final ListAppender<ILoggingEvent> log = new ListAppender<>();
  private final ConnectionFactory factory = new ConnectionFactory();

  @BeforeEach
  void connect() {
    factory.setHost("127.0.0.1");
    factory.setPort(RabbitServer.shared().amqpPort());
    factory.setVirtualHost(RabbitServer.shared().newVirtualHost());
    log.start();
    for (Class<?> logs : new Class<?>[] {RabbitTopology.class, RabbitSource.class}) {
      ((Logger) LoggerFactory.getLogger(logs)).addAppender(log);
    }
  }

  @AfterEach
  void leave() {
    for (Class<?> logs : new Class<?>[] {RabbitTopology.class, RabbitSource.class}) {
      ((Logger) LoggerFactory.getLogger(logs)).detachAppender(log);
    }
    RabbitServer.shared().deleteVirtualHost(factory.getVirtualHost());
  }

  private static final RabbitTopology SHOP =
      RabbitTopology.create()
          .exchange("shop", BuiltinExchangeType.TOPIC)
          .exchange("shop.dead", BuiltinExchangeType.FANOUT)
          .queue(RabbitQueue.classic("orders.dead"))
          .queue(RabbitQueue.quorum("orders").deadLetters("shop.dead", "orders"))
          .queue(RabbitQueue.retryOf("orders"))
          .bind("orders", "shop", "order.*")
          .bind("orders.dead", "shop.dead", "");

  @Test
  void declaresOnceAndAgain() throws Exception {
    SHOP.declare(factory);
    SHOP.declare(factory);
    SHOP.check(factory);
    try (Connection connection = factory.newConnection();
        Channel channel = connection.createChannel()) {
      channel.confirmSelect();
      channel.basicPublish(
          "shop", "order.placed", MessageProperties.PERSISTENT_BASIC, new byte[] {1});
      channel.waitForConfirmsOrDie(30_000);
    }
    assertThat(RabbitServer.shared().messages(factory.getVirtualHost(), "orders")).isEqualTo(1);
    assertThat(log.list).isEmpty();
  }

  @Test
  void d99_aCheckCreatesNothing() {
    assertThatThrownBy(() -> SHOP.check(factory))
        .isInstanceOf(InboxException.class)
        .hasMessageStartingWith("PH-RMQ-01")
        .hasMessageContaining("exchange 'shop'");
    assertThatThrownBy(() -> SHOP.check(factory)).hasMessageStartingWith("PH-RMQ-01");
  }

  @Test
  void d99_aQueueWithOtherArgumentsIsNamedWithBoth() throws Exception {
    SHOP.declare(factory);
    RabbitTopology other =
        RabbitTopology.create()
            .queue(RabbitQueue.classic("orders").deadLetters("shop.dead", "orders"));
    for (ThrowingUse use : new ThrowingUse[] {other::check, other::declare}) {
      assertThatThrownBy(() -> use.with(factory))
          .isInstanceOf(InboxException.class)
          .hasMessageStartingWith("PH-RMQ-01")
          .hasMessageContaining("classic")
          .hasMessageContaining("quorum");
    }
  }

  private interface ThrowingUse {
    void with(ConnectionFactory factory) throws IOException;
  }

  @Test
  void d100_aUserWithoutThePermissionIsTold() {
    String user = "reader-" + factory.getVirtualHost();
    RabbitServer.shared().addReader(user, "secret", factory.getVirtualHost(), "");
    factory.setUsername(user);
    factory.setPassword("secret");
    assertThatThrownBy(() -> SHOP.declare(factory))
        .isInstanceOf(InboxException.class)
        .hasMessageStartingWith("PH-RMQ-02");
    RabbitServer.shared().deleteUser(user);
  }

  @Test
  void aNameThatReadsLikeARefusalIsNone() {
    RabbitTopology missing = RabbitTopology.create().queue(RabbitQueue.classic("code=403"));
    assertThatThrownBy(() -> missing.check(factory)).hasMessageStartingWith("PH-RMQ-01");
  }

  @Test
  void aUserWhoMayOnlyReadIsToldThatNothingWasCompared() throws Exception {
    SHOP.declare(factory);
    String user = "reader-" + factory.getVirtualHost();
    RabbitServer.shared().addReader(user, "secret", factory.getVirtualHost(), ".*");
    factory.setUsername(user);
    factory.setPassword("secret");
    RabbitTopology.create().queue(RabbitQueue.classic("orders.dead")).check(factory);
    assertThat(log.list)
        .singleElement()
        .satisfies(
            it ->
                assertThat(it.getFormattedMessage())
                    .startsWith("PH-RMQ-02")
                    .contains("orders.dead"));
    RabbitServer.shared().deleteUser(user);
  }

  @Test
  void rq12_d101_aQueueThatIsNotDurableDiffers() throws Exception {
    try (Connection connection = factory.newConnection();
        Channel channel = connection.createChannel()) {
      channel.queueDeclare("orders", false, false, false, Map.of("x-queue-type", "classic"));
    }
    assertThatThrownBy(
            () -> RabbitTopology.create().queue(RabbitQueue.classic("orders")).check(factory))
        .hasMessageStartingWith("PH-RMQ-01")
        .hasMessageContaining("durable");
  }

  @Test
  void rq12_d101_messagesThatTheBrokerForgetsAreWarnedOf() throws Exception {
    RabbitTopology.create().queue(RabbitQueue.classic("orders")).declare(factory);
    Intake intake = new Intake();
    RabbitSource source = RabbitSource.queue(factory, "orders");
    source.start(intake);
    try (Connection connection = factory.newConnection();
        Channel channel = connection.createChannel()) {
      for (int i = 0; i < 3; i++) {
        channel.basicPublish("", "orders", MessageProperties.MINIMAL_BASIC, new byte[] {1});
      }
      intake.awaitTaken("");
    } finally {
      source.stop(Duration.ofSeconds(10));
    }
    assertThat(log.list)
        .filteredOn(it -> it.getFormattedMessage().startsWith("PH-RMQ-03"))
        .singleElement()
        .satisfies(it -> assertThat(it.getFormattedMessage()).contains("'orders'"));
  }

  @Test
  void rq06_d102_aQueueThatGivesUpWithoutTellingIsWarnedOf() throws Exception {
    RabbitTopology.create().queue(RabbitQueue.quorum("orders")).declare(factory);
    assertWarned();
  }

  @ParameterizedTest
  @CsvSource({"x-max-length,10", "x-max-length-bytes,1000", "x-message-ttl,60000"})
  void rq11_aQueueThatDropsWhatIsOldIsWarnedOf(String argument, long value) throws Exception {
    RabbitTopology.create()
        .queue(RabbitQueue.classic("orders").argument(argument, value))
        .declare(factory);
    assertWarned();
  }

  @Test
  void rq11_aQueueThatDropsItsHeadIsWarnedOf() throws Exception {
    RabbitTopology.create()
        .queue(
            RabbitQueue.classic("orders")
                .argument("x-max-length", 10L)
                .argument("x-overflow", "drop-head"))
        .declare(factory);
    assertWarned();
  }

  @Test
  void rq11_aQueueThatRefusesWhatIsTooMuchIsNotWarnedOf() throws Exception {
    RabbitTopology.create()
        .queue(
            RabbitQueue.classic("orders")
                .argument("x-max-length", 10L)
                .argument("x-overflow", "reject-publish"))
        .declare(factory);
    assertThat(log.list).isEmpty();
  }

  @Test
  void rq11_aQueueWhoseHeadGoesToTheDeadLettersIsNotWarnedOf() throws Exception {
    RabbitTopology.create()
        .queue(
            RabbitQueue.classic("orders")
                .argument("x-max-length", 10L)
                .argument("x-dead-letter-exchange", "amq.fanout"))
        .declare(factory);
    assertThat(log.list).isEmpty();
  }

  private void assertWarned() {
    assertThat(log.list)
        .singleElement()
        .satisfies(
            it ->
                assertThat(it.getFormattedMessage())
                    .startsWith("PH-RMQ-04")
                    .contains("'orders'", ".deadLetters(…)"));
  }
}
