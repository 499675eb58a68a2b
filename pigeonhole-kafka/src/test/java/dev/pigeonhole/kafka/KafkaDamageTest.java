package dev.pigeonhole.kafka;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.KafkaServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

/** A disk that has changed what was written to it. */
class KafkaDamageTest extends BrokerTest {
  private static final KafkaServer SERVER = KafkaServer.start();

  KafkaDamageTest() {
    super(TestBroker.on(SERVER));
  }

  @AfterAll
  static void close() {
    SERVER.close();
  }

  @Test
  void aDamagedRecordIsToldAndNeverSkippedUntilSomebodySetsTheOffsetBehindIt() throws IOException {
    String topic = broker.topic(1);
    broker.send(topic, 0, "m-1", "m-2");
    Path log = directory().resolve(topic + "-0").resolve("00000000000000000000.log");
    SERVER.stop();
    damage(log, "m-2");
    SERVER.restart();

    KafkaSource source = start(KafkaSource.topic(broker.config(), topic));
    awaitTaken(List.of("m-1"));
    awaitTrouble(source, "PH-KFK-05");
    TopicPartition partition = new TopicPartition(topic, 0);
    Eventually.until("what is before it", LIMIT, () -> broker.committed(partition) == 1);
    stop(source);

    broker.setOffset(partition, new OffsetAndMetadata(2));
    broker.send(topic, 0, "m-3");
    KafkaSource next = start(KafkaSource.topic(broker.config(), topic));
    awaitTaken(List.of("m-3"));
    awaitNoLag(topic, 1);
    assertThat(intake.ids()).doesNotContain("m-2");
    awaitNoTrouble(next);
  }

  private Path directory() {
    return Path.of(
        TestBroker.get(broker.admin().describeLogDirs(List.of(1)).allDescriptions())
            .get(1)
            .keySet()
            .iterator()
            .next());
  }

  private static void damage(Path file, String text) throws IOException {
    byte[] bytes = Files.readAllBytes(file);
    bytes[new String(bytes, ISO_8859_1).lastIndexOf(text)] ^= 1;
    Files.write(file, bytes);
  }
}
