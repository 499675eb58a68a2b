package dev.pigeonhole.kafka;

import static dev.pigeonhole.kafka.Records.bytes;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.transport.Disposition;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.junit.jupiter.api.Test;

/** Refused records are put where people see them, and are never lost on the way there. */
class KafkaParkingTest extends BrokerTest {

  KafkaParkingTest() {
    super(TestBroker.shared());
  }

  @Test
  void aRefusedRecordWithNowhereToGoStopsItsPartitionAndNoOther() {
    String topic = broker.topic(2);
    refuse("bad");
    KafkaSource source = start(KafkaSource.topic(broker.config(), topic));
    broker.send(topic, 0, "m-1", "bad", "m-2");
    broker.send(topic, 1, "other");
    awaitTrouble(source, "PH-KFK-06");
    awaitTaken(List.of("m-1", "other"));
    Eventually.until(
        "what is before it to be committed",
        LIMIT,
        () -> broker.committed(new TopicPartition(topic, 0)) == 1);
    assertThat(source.trouble().orElseThrow()).contains("offset 1").contains("parkingIn");
    stop(source);
    assertThat(broker.lag(topic, 2)).isEqualTo(2);

    String parking = broker.topic(1);
    start(KafkaSource.topic(broker.config(), topic).parkingIn(parking)); // the way out
    awaitNoLag(topic, 2);
    assertThat(broker.read(parking)).hasSize(1);
  }

  @Test
  void aRecordThatCannotBeParkedNowIsParkedLaterAndNotHandedInAgain() {
    String topic = broker.topic(1);
    String parking = "small-" + broker.group;
    broker.create(parking, 1, Map.of("max.message.bytes", "500"));
    refuse("bad");
    KafkaSource source = start(KafkaSource.topic(broker.config(), topic).parkingIn(parking));
    broker.send(0, TestBroker.envelope(topic, "bad").body(new byte[5_000]).build());
    broker.send(topic, 0, "m-1");
    awaitTrouble(source, "PH-KFK-06");
    awaitTaken(List.of("m-1"));
    assertThat(broker.committed(new TopicPartition(topic, 0))).isZero();

    AlterConfigOp larger =
        new AlterConfigOp(new ConfigEntry("max.message.bytes", "100000"), AlterConfigOp.OpType.SET);
    TestBroker.get(
        broker
            .admin()
            .incrementalAlterConfigs(
                Map.of(new ConfigResource(ConfigResource.Type.TOPIC, parking), List.of(larger)))
            .all());
    awaitNoLag(topic, 1);
    assertThat(broker.read(parking)).hasSize(1);
    assertThat(intake.offered().stream().filter(each -> each.id().equals(Optional.of("bad"))))
        .hasSize(1);
    awaitNoTrouble(source);
  }

  /** The brokers reject the whole batch of the client. */
  @Test
  void aRecordThatACompactedParkingTopicRejectsKeepsNoOtherFromBeingParked() {
    String topic = broker.topic(1);
    String parking = "compacted-" + broker.group;
    broker.create(parking, 1, Map.of("cleanup.policy", "compact"));
    intake.answering(
        envelope -> new Disposition.Refused(ErrorCode.ID_TOO_LONG, "PH-ID-03: too long"));
    broker.send(0, TestBroker.envelope(topic, "first").key("k-1").build());
    broker.send(0, TestBroker.envelope(topic, "without-key").build());
    broker.send(0, TestBroker.envelope(topic, "last").key("k-2").build());
    Map<String, Object> config = broker.config();
    config.put("linger.ms", "500");
    KafkaSource source = start(KafkaSource.topic(config, topic).parkingIn(parking));
    Eventually.until("both with a key to be parked", LIMIT, () -> broker.read(parking).size() == 2);
    awaitTrouble(source, "PH-KFK-06");
    assertThat(source.trouble().orElseThrow()).contains(parking).contains("cleanup.policy=delete");
    assertThat(broker.committed(new TopicPartition(topic, 0))).isLessThan(2);

    AlterConfigOp delete =
        new AlterConfigOp(new ConfigEntry("cleanup.policy", "delete"), AlterConfigOp.OpType.SET);
    TestBroker.get(
        broker
            .admin()
            .incrementalAlterConfigs(
                Map.of(new ConfigResource(ConfigResource.Type.TOPIC, parking), List.of(delete)))
            .all());
    awaitNoLag(topic, 1);
    assertThat(broker.read(parking))
        .extracting(each -> TestBroker.header(each, "pigeonhole-id"))
        .containsExactlyInAnyOrder("first", "without-key", "last");
  }

  @Test
  void aRecordThatIsLargerThanWhatClientsUsuallySendIsParked() {
    String topic = "large-" + broker.group;
    String parking = topic + ".parked";
    broker.create(topic, 1, Map.of("max.message.bytes", "50000000"));
    broker.create(parking, 1, Map.of("max.message.bytes", "50000000"));
    int size = 35_000_000; // the buffer of a client has 32 MB, unless it is told otherwise
    broker.sendLarge(new ProducerRecord<>(topic, new byte[size]));
    KafkaSource source = start(KafkaSource.topic(broker.config(), topic).parkingIn(parking));
    broker.send(topic, 0, "m-1");
    awaitTaken(List.of("m-1"));
    awaitNoLag(topic, 1);

    awaitNoTrouble(source);
    ConsumerRecord<byte[], byte[]> parked = broker.read(parking).get(0);
    assertThat(parked.value()).hasSize(size);
    assertThat(TestBroker.header(parked, "pigeonhole-code")).isEqualTo("PH-PAY-02");
  }

  @Test
  void whatIsParkedIsAsItWasWithItsReasonAndWhereItCameFrom() {
    String topic = broker.topic(1);
    String parking = broker.topic(1);
    refuse("bad");
    ProducerRecord<byte[], byte[]> sent =
        new ProducerRecord<>(topic, 0, Records.TIME, new byte[] {0, 1}, new byte[] {(byte) 0xFF});
    sent.headers().add("pigeonhole-id", bytes("bad")).add("tag", bytes("a")).add("tag", null);
    sent.headers().add("pigeonhole-code", bytes("of an earlier time"));
    broker.send(sent);
    start(KafkaSource.topic(broker.config(), topic).parkingIn(parking));
    awaitNoLag(topic, 1);

    ConsumerRecord<byte[], byte[]> parked = broker.read(parking).get(0);
    assertThat(parked.key()).isEqualTo(sent.key());
    assertThat(parked.value()).isEqualTo(sent.value());
    assertThat(parked.headers().headers("tag")).hasSize(2);
    assertThat(parked.headers().headers("pigeonhole-code")).hasSize(1);
    assertThat(TestBroker.header(parked, "pigeonhole-code")).isEqualTo("PH-ID-03");
    assertThat(TestBroker.header(parked, "pigeonhole-reason")).isEqualTo("PH-ID-03: too long");
    assertThat(TestBroker.header(parked, "pigeonhole-partition")).isEqualTo("0");
    assertThat(TestBroker.header(parked, "pigeonhole-offset")).isEqualTo("0");
    assertThat(TestBroker.header(parked, "pigeonhole-timestamp")).isEqualTo("" + Records.TIME);
    assertThat(parked.timestamp()).isGreaterThan(Records.TIME);
  }

  @Test
  void anInterruptThatAHandlerLeavesBehindKeepsNoRecordFromBeingParked() {
    String parking = broker.topic(1);
    ClientSettings settings = new ClientSettings(broker.config());
    try (KafkaPublisher publisher = new KafkaPublisher(settings.forProducer())) {
      HandIn handIn =
          new HandIn(
              new RecordReader(
                  new KafkaSource.Choices(settings, List.of("orders")), UnaryOperator.identity()),
              envelopes -> {
                Thread.currentThread().interrupt();
                return List.of(new Disposition.Refused(ErrorCode.ID_TOO_LONG, "PH-ID-03"));
              },
              new Parking(
                  "kafka:orders",
                  new Destination(parking, settings.forAdmin()),
                  publisher,
                  System::nanoTime));
      Held held = new Track(new TopicPartition("orders", 3)).add(Records.at(7));

      assertThat(handIn.run(List.of(held))).containsExactly(new Ending.Finished());
    }
    assertThat(broker.read(parking)).hasSize(1);
  }
}
