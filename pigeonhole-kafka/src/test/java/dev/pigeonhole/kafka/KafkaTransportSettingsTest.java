package dev.pigeonhole.kafka;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is given is used, or it is refused; nothing is changed without a word. */
class KafkaTransportSettingsTest {
  private final Map<String, Object> config = new HashMap<>(Map.of("bootstrap.servers", "b:1"));

  private void refused(String text) {
    assertThatThrownBy(() -> KafkaTransport.topic(config, "orders"))
        .isInstanceOfSatisfying(
            ConfigurationException.class,
            e -> assertThat(e.code()).isEqualTo(ErrorCode.KAFKA_SETTING_REFUSED))
        .hasMessageContaining(text)
        .hasMessageContaining("orders");
  }

  private void taken() {
    assertThat(KafkaTransport.topic(config, "orders").destination()).isEqualTo("orders");
  }

  @ParameterizedTest
  @CsvSource({
    "acks, 1",
    "acks, 0",
    "enable.idempotence, false",
    "partitioner.ignore.keys, true",
    "transactional.id, shop",
    "max.block.ms, 60000",
    "key.serializer, org.apache.kafka.common.serialization.StringSerializer",
    "value.serializer, org.apache.kafka.common.serialization.StringSerializer",
    "retries, 0",
    "max.in.flight.requests.per.connection, 6",
    "linger.ms, 20000",
    "request.timeout.ms, 30000",
    "delivery.timeout.ms, 5000",
    "batch.size, many",
  })
  void whatTheTransportCannotKeepToIsRefused(String name, String value) {
    config.put(name, value);
    refused(name);
  }

  @ParameterizedTest
  @CsvSource({
    "acks, all",
    "acks, -1",
    "enable.idempotence, true",
    "retries, 3",
    "max.in.flight.requests.per.connection, 1",
    "linger.ms, 20",
    "compression.type, zstd",
    "delivery.timeout.ms, 60000",
    "client.id, shop",
  })
  void whatAgreesWithItIsTaken(String name, String value) {
    config.put(name, value);
    taken();
  }

  @Test
  void timesAndSizesAreThoseOfThePageUnlessTheyAreGiven() {
    assertThat(new ProducerSettings(config, "orders").forProducer())
        .containsEntry("request.timeout.ms", 10_000)
        .containsEntry("delivery.timeout.ms", 25_000)
        .containsEntry("max.request.size", 32 * 1024 * 1024);

    config.putAll(Map.of("request.timeout.ms", 1, "delivery.timeout.ms", 2, "max.request.size", 3));
    assertThat(new ProducerSettings(config, "orders").forProducer()).containsAllEntriesOf(config);
  }

  @Test
  void aSerializerOfBytesIsNoOther() {
    config.put("value.serializer", StringSerializer.class);
    refused("value.serializer");

    config.put("value.serializer", ByteArraySerializer.class);
    taken();
  }

  @Test
  void everythingThatIsWrongIsToldTogether() {
    assertThatThrownBy(() -> KafkaTransport.topic(Map.of("acks", 1, "max.block.ms", 7), "orders"))
        .isInstanceOfSatisfying(
            ConfigurationException.class, e -> assertThat(e.problems()).hasSize(3));
  }
}
