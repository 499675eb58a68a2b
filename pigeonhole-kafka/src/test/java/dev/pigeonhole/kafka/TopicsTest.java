package dev.pigeonhole.kafka;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeTopicsResult;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Uuid;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** Answers that no broker gives any more that the tests can start. */
class TopicsTest {
  private static final Uuid ID = Uuid.randomUuid();

  private final Logger logger = (Logger) LoggerFactory.getLogger(Topics.class);
  private final ListAppender<ILoggingEvent> lines = new ListAppender<>();
  private final AtomicLong nanos = new AtomicLong();

  @BeforeEach
  void listen() {
    lines.start();
    logger.addAppender(lines);
  }

  @AfterEach
  void leave() {
    logger.detachAppender(lines);
  }

  /** Of brokers that say this of the topic "orders". */
  private Topics topics(Uuid id) {
    TopicDescription orders = new TopicDescription("orders", false, List.of(), null, id);
    DescribeTopicsResult answer =
        new DescribeTopicsResult(null, Map.of("orders", KafkaFuture.completedFuture(orders))) {};
    Admin admin =
        (Admin)
            Proxy.newProxyInstance(
                Admin.class.getClassLoader(),
                new Class<?>[] {Admin.class},
                (proxy, method, arguments) -> answer);
    return new Topics(
        List.of("orders"), () -> admin, new Troubles("kafka:orders", nanos::get), nanos::get);
  }

  private void look(Topics topics) {
    topics.look(); // asks
    topics.look(); // reads
    nanos.addAndGet(60_000_000_000L);
  }

  @Test
  void theIdOfATopicIsWhatItsBrokersSay() {
    Topics topics = topics(ID);
    assertThatThrownBy(() -> topics.idOf("orders")).hasMessageStartingWith("PH-KFK-01");
    look(topics);
    assertThat(topics.idOf("orders")).isEqualTo(ID.toString());
    assertThat(lines.list).isEmpty();
  }

  @Test
  void brokersBefore28GiveNoIdAndTheNameStandsForItWhichTheLogSaysOnce() {
    Topics topics = topics(Uuid.ZERO_UUID);
    look(topics);
    look(topics);
    assertThat(topics.idOf("orders")).isEqualTo("orders");
    assertThat(lines.list)
        .singleElement()
        .extracting(ILoggingEvent::getFormattedMessage)
        .asString()
        .contains("give no topic ids", "'orders'");
  }
}
