package dev.pigeonhole.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.support.FaultProxy;
import dev.pigeonhole.support.KafkaServer;
import dev.pigeonhole.support.Ports;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

/** A broker that cannot be reached, dies and comes back costs repeats at most. */
class KafkaOutageTest extends BrokerTest {
  private static final FaultProxy PROXY = FaultProxy.to("127.0.0.1", Ports.free());
  private static final KafkaServer SERVER = KafkaServer.start(PROXY);

  private final String topic = broker.topic(1);

  KafkaOutageTest() {
    super(TestBroker.on(SERVER));
  }

  @AfterAll
  static void close() {
    SERVER.close();
    PROXY.close();
  }

  @Test
  void d107_brokersThatAreDownAreWaitedForBySourcesThatRunAndThatStart() {
    KafkaSource running = start(KafkaSource.topic(broker.config(), topic));
    broker.send(topic, 0, "m-1");
    awaitTaken(List.of("m-1"));
    SERVER.crash();
    Map<String, Object> config = broker.config();
    config.put("group.id", "late-" + broker.group);
    Intake others = new Intake();
    KafkaSource late = start(KafkaSource.topic(config, topic), others);
    awaitTrouble(late, "PH-KFK-03");
    awaitTrouble(running, "PH-KFK-03");
    SERVER.restart();
    broker.send(topic, 0, "m-2");

    awaitTaken(List.of("m-2"));
    awaitTaken(others, List.of("m-1", "m-2"));
    awaitNoLag(topic, 1);
    awaitNoTrouble(late);
    awaitNoTrouble(running);
  }

  @Test
  void connectionsThatAreTornAgainAndAgainCostNothing() {
    int before = PROXY.hits();
    Map<String, Object> config = broker.config();
    config.put("bootstrap.servers", "127.0.0.1:" + PROXY.port());
    start(KafkaSource.topic(config, topic));
    List<String> sent = ids("m-", FULL ? 100 : 10);
    for (String id : sent) {
      broker.send(topic, 0, id);
      PROXY.cut();
      awaitTaken(List.of(id));
    }
    awaitNoLag(topic, 1);

    assertThat(PROXY.hits()).isGreaterThan(before);
    assertThat(new HashSet<>(intake.ids())).isEqualTo(new HashSet<>(sent));
  }
}
