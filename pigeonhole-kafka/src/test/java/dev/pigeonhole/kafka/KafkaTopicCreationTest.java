package dev.pigeonhole.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.KafkaServer;
import dev.pigeonhole.transport.Sent;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

/** Brokers that create whatever topic they are asked for, as they do by default, are not asked. */
class KafkaTopicCreationTest extends BrokerTest {
  private static final KafkaServer SERVER = KafkaServer.startCreatingTopics();

  private final String missing = "mistyped-" + broker.group;

  KafkaTopicCreationTest() {
    super(TestBroker.on(SERVER));
  }

  @AfterAll
  static void close() {
    SERVER.close();
  }

  @Test
  void theServerWouldCreateIt() {
    broker.send(missing, 0, "m-1");
    assertThat(broker.exists(missing)).isTrue();
  }

  @Test
  void whatIsSentToAMistypedTopicIsUnroutableUntilSomebodyCreatesIt() throws InterruptedException {
    KafkaTransport transport =
        KafkaTransport.topic(Map.of("bootstrap.servers", broker.bootstrap()), missing);
    try {
      assertThat(send(transport)).isInstanceOf(Sent.Unroutable.class);
      transport.close();
      assertThat(send(transport)).isInstanceOf(Sent.Unroutable.class);
      assertThat(broker.exists(missing)).isFalse();

      broker.create(missing, 1, Map.of());
      assertThat(send(transport)).isInstanceOf(Sent.Confirmed.class);
      assertThat(broker.read(missing)).hasSize(1);
    } finally {
      transport.close();
    }
  }

  private Sent send(KafkaTransport transport) throws InterruptedException {
    return TestBroker.answers(transport, TestBroker.envelope(missing, "m-1").build()).get(0);
  }

  @Test
  void aMistypedParkingTopicIsTroubleUntilSomebodyCreatesIt() {
    String topic = broker.topic(1);
    refuse("bad");
    broker.send(topic, 0, "bad");
    KafkaSource source = start(KafkaSource.topic(broker.config(), topic).parkingIn(missing));
    awaitTrouble(source, "PH-KFK-06");
    assertThat(source.trouble().orElseThrow()).contains(missing).contains("Create the topic");
    assertThat(broker.exists(missing)).isFalse();

    broker.create(missing, 1, Map.of());
    awaitNoLag(topic, 1);
    assertThat(broker.read(missing)).hasSize(1);
    awaitNoTrouble(source);
  }

  @Test
  void d107_aMistypedTopicIsNotCreatedByReadingIt() {
    KafkaSource source = start(KafkaSource.topic(broker.config(), missing));
    Eventually.passes(LIMIT, () -> assertThat(broker.members()).hasSize(1));
    awaitTrouble(source, "PH-KFK-01");
    assertThat(broker.exists(missing)).isFalse();
  }
}
