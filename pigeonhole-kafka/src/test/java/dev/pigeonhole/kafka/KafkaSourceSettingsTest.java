package dev.pigeonhole.kafka;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class KafkaSourceSettingsTest {
  private final Map<String, Object> config =
      new HashMap<>(Map.of("bootstrap.servers", "localhost:1", "group.id", "shipping"));

  private void refused(String text) {
    assertThatThrownBy(() -> KafkaSource.topic(config, "orders"))
        .isInstanceOfSatisfying(
            ConfigurationException.class,
            e -> assertThat(e.code()).isEqualTo(ErrorCode.KAFKA_SETTING_REFUSED))
        .hasMessageContaining(text);
  }

  @ParameterizedTest
  @CsvSource({
    "enable.auto.commit, true",
    "auto.offset.reset, latest",
    "auto.offset.reset, by_duration:PT1H",
    "max.poll.records, 7",
    "key.deserializer, org.apache.kafka.common.serialization.StringDeserializer",
    "value.deserializer, org.apache.kafka.common.serialization.StringDeserializer",
  })
  void kf05_settingsThatLoseRecordsAreRefused(String name, String value) {
    config.put(name, value);
    refused(name);
  }

  @Test
  void kf04_aDeserializerOtherThanBytesIsRefused() {
    config.put("value.deserializer", StringDeserializer.class);
    refused("value.deserializer");

    config.put("value.deserializer", ByteArrayDeserializer.class);
    assertThat(KafkaSource.topic(config, "orders").name()).isEqualTo("kafka:orders");
  }

  @Test
  void everythingThatIsWrongIsToldTogether() {
    assertThatThrownBy(
            () -> KafkaSource.topic(Map.of("enable.auto.commit", true), "not a topic", "orders"))
        .isInstanceOfSatisfying(
            ConfigurationException.class, e -> assertThat(e.problems()).hasSize(4));
  }

  @Test
  void whatTheClientDoesNotTakeIsToldAtOnce() {
    config.put("fetch.min.bytes", "many");
    refused("fetch.min.bytes");
  }

  @Test
  void kf05_whereAGroupWithoutOffsetsBeginsIsSaidByUsAndNotByTheClient() {
    assertThat(new ClientSettings(config).forConsumer(100))
        .containsEntry("auto.offset.reset", "none")
        .containsEntry("enable.auto.commit", false)
        .containsEntry("isolation.level", "read_committed")
        .containsEntry("allow.auto.create.topics", false)
        .containsEntry("max.poll.records", 100);
    config.put("auto.offset.reset", "none");
    assertThat(choices(config).startAt).isEqualTo(StartAt.NONE);
    config.put("auto.offset.reset", "earliest");
    assertThat(choices(config).startAt).isEqualTo(StartAt.EARLIEST);
    assertThat(new ClientSettings(config).forConsumer(100))
        .containsEntry("auto.offset.reset", "none");
  }

  @Test
  void theDefaultsAreThoseOfThePage() {
    KafkaSource.Choices choices = choices(config);
    assertThat(choices.batch).isEqualTo(500);
    assertThat(choices.maxBody).isEqualTo(1_000_000);
    assertThat(choices.transactionAlarm).isEqualTo(Duration.ofMinutes(5));
    assertThat(choices.startAt).isEqualTo(StartAt.EARLIEST);
  }

  private static KafkaSource.Choices choices(Map<String, Object> config) {
    return new KafkaSource.Choices(new ClientSettings(config), List.of("orders"));
  }

  @Test
  void parkedRecordsAreSentWithTheSameUserAndAcknowledgedByAllReplicas() {
    config.put("security.protocol", "SASL_SSL");
    config.put("sasl.mechanism", "PLAIN");
    config.put("interceptor.classes", "com.example.OfConsumers");
    config.put("client.id", "shipping-1");
    config.put("fetch.min.bytes", 7);
    assertThat(new ClientSettings(config).forProducer())
        .containsEntry("bootstrap.servers", "localhost:1")
        .containsEntry("security.protocol", "SASL_SSL")
        .containsEntry("sasl.mechanism", "PLAIN")
        .containsEntry("acks", "all")
        .containsEntry("enable.idempotence", true)
        .doesNotContainKeys("interceptor.classes", "client.id", "group.id", "fetch.min.bytes");
  }

  @Test
  void recordsAreNotParkedWhereTheyAreRead() {
    KafkaSource source = KafkaSource.topic(config, "orders", "payments");
    assertThat(source.name()).isEqualTo("kafka:orders,payments");
    assertThatThrownBy(() -> source.parkingIn("payments")).hasMessageContaining("for ever");
    assertThatThrownBy(() -> source.parkingIn("..")).hasMessageContaining("no topic");
  }

  @Test
  void optionsOutOfRangeAreRefused() {
    KafkaSource source = KafkaSource.topic(config, "orders");
    assertThatThrownBy(() -> source.maxBody(0)).hasMessageContaining("maxBody");
    assertThatThrownBy(() -> source.batch(501)).hasMessageContaining("1 to 500");
    assertThatThrownBy(() -> source.repeatedFor(Duration.ZERO)).hasMessageContaining("repeatedFor");
    assertThatThrownBy(() -> source.transactionAlarm(Duration.ofDays(2)))
        .hasMessageContaining("transactionAlarm");
    assertThatThrownBy(() -> source.source(" ")).hasMessageContaining("source");
  }

  @Test
  void aStepChangesNothingOfWhatItWasTakenFrom() {
    KafkaSource source = KafkaSource.topic(config, "orders");
    KafkaSource other = source.repeatedFor(Duration.ofDays(7));
    assertThat(source.repeatHorizon()).isEmpty();
    assertThat(other.repeatHorizon()).contains(Duration.ofDays(7));
    assertThat(source.trouble()).isEmpty();
  }
}
