package dev.pigeonhole.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Headers;
import dev.pigeonhole.transport.Envelope;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.InvalidRecordException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class KafkaPublisherTest {
  private static final Duration PATIENCE = Duration.ofMinutes(3);

  private final TestBroker broker = TestBroker.shared();
  private final KafkaPublisher publisher =
      new KafkaPublisher(new ClientSettings(broker.config()).forProducer());

  @AfterEach
  void close() {
    publisher.close();
    broker.close();
  }

  private static List<KafkaPublisher.Sent> send(
      KafkaPublisher publisher, Duration patience, Envelope... envelopes) {
    return publisher.send(Stream.of(envelopes).map(TestBroker::record).toList(), patience);
  }

  @Test
  void whatIsAcknowledgedIsThereInOrder() {
    String topic = broker.topic(1);
    List<String> ids = IntStream.range(0, 100).mapToObj(i -> "m-" + i).toList();
    List<KafkaPublisher.Sent> sent =
        send(
            publisher,
            PATIENCE,
            ids.stream()
                .map(id -> TestBroker.envelope(topic, id).build())
                .toArray(Envelope[]::new));

    assertThat(sent).hasSize(100).allMatch(each -> each.failure() == null);
    assertThat(broker.read(topic))
        .extracting(each -> TestBroker.header(each, "pigeonhole-id"))
        .containsExactlyElementsOf(ids);
  }

  @Test
  void whatFailsFailsAloneAndTheNextOnesGoOn() {
    String topic = "small-" + broker.group;
    broker.create(topic, 1, Map.of("max.message.bytes", "1000"));
    List<KafkaPublisher.Sent> sent =
        send(
            publisher,
            PATIENCE,
            TestBroker.envelope(topic, "m-1").build(),
            TestBroker.envelope(topic, "large").body(new byte[5_000]).build());
    assertThat(sent.get(1).failure()).isInstanceOf(RecordTooLargeException.class);
    long there = sent.get(0).failure() == null ? 1 : 0; // it may have shared a batch

    sent = send(publisher, PATIENCE, TestBroker.envelope(topic, "m-2").build());
    assertThat(sent.get(0).failure()).isNull();
    assertThat(broker.read(topic)).hasSize((int) there + 1);
  }

  /** All three are in one batch of the client, which the brokers reject. */
  @Test
  void aRecordThatItsTopicDoesNotAcceptFailsAloneAndTheOthersAreSent() {
    String topic = "compacted-" + broker.group;
    broker.create(topic, 1, Map.of("cleanup.policy", "compact"));
    Map<String, Object> slow = new ClientSettings(broker.config()).forProducer();
    slow.put("linger.ms", 500);
    try (KafkaPublisher lingering = new KafkaPublisher(slow)) {
      List<KafkaPublisher.Sent> sent =
          send(
              lingering,
              PATIENCE,
              TestBroker.envelope(topic, "first").key("k-1").build(),
              TestBroker.envelope(topic, "without-key").build(),
              TestBroker.envelope(topic, "last").key("k-2").build());
      assertThat(sent.get(0).failure()).isNull();
      assertThat(sent.get(1).failure()).isInstanceOf(InvalidRecordException.class);
      assertThat(sent.get(2).failure()).isNull();
    }
    assertThat(broker.read(topic))
        .extracting(each -> TestBroker.header(each, "pigeonhole-id"))
        .containsExactly("first", "last");
  }

  @Test
  void whatIsNotAcknowledgedInTimeHasFailed() {
    Map<String, Object> nowhere = new ClientSettings(broker.config()).forProducer();
    nowhere.put("bootstrap.servers", "127.0.0.1:1");
    nowhere.put("max.block.ms", 500);
    try (KafkaPublisher lonely = new KafkaPublisher(nowhere)) {
      List<KafkaPublisher.Sent> sent =
          send(
              lonely,
              Duration.ofMillis(100),
              IntStream.range(0, 50)
                  .mapToObj(i -> TestBroker.envelope("t", "m-" + i).build())
                  .toArray(Envelope[]::new));
      assertThat(sent).hasSize(50).allMatch(each -> each.failure() instanceof TimeoutException);
    }
  }

  @Test
  void d62_headersArriveByteForByte() {
    String topic = broker.topic(1);
    byte[] bytes = {0, (byte) 0xC3, (byte) 0x28};
    Headers headers =
        Headers.none()
            .with("text", "grüße")
            .with("bytes", bytes)
            .with("nothing", null)
            .with("tags", Arrays.asList("b", "a", null, "b"));
    send(publisher, PATIENCE, TestBroker.envelope(topic, "m-1").headers(headers).build());
    ConsumerRecord<byte[], byte[]> read = broker.read(topic).get(0);
    Map<String, Object> arrived = HeaderValues.read(read.headers());

    assertThat(arrived.get("text")).isEqualTo("grüße");
    assertThat(arrived.get("bytes")).isEqualTo(bytes);
    assertThat(arrived).containsEntry("nothing", null);
    assertThat(arrived.get("tags")).isEqualTo(Arrays.asList("b", "a", null, "b"));
  }
}
