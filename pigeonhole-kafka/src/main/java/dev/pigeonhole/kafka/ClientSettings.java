package dev.pigeonhole.kafka;

import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jspecify.annotations.Nullable;

/**
 * The settings of the clients: what the user gave, checked for what would lose records, and what we
 * add to it. Immutable.
 */
final class ClientSettings {
  // Of the same name for consumers and producers, and not for the same classes.
  private static final Set<String> OF_CONSUMERS_ALONE =
      Set.of("interceptor.classes", "client.id", "partition.assignment.strategy");

  // What brokers take in one request unless they are told otherwise, less what is around a record.
  private static final int LARGEST_REQUEST = 104_000_000;

  private final Map<String, Object> given;

  ClientSettings(Map<String, ?> given) {
    this.given = withoutNulls(given);
  }

  /** For Kafka, null means that a setting was not given. */
  static Map<String, Object> withoutNulls(Map<String, ?> given) {
    Map<String, Object> copy = new HashMap<>();
    given.forEach(
        (name, value) -> {
          if (value != null) {
            copy.put(name, value);
          }
        });
    return Map.copyOf(copy);
  }

  /** Everything that is wrong. */
  List<Problem> problems() {
    List<Problem> problems = new ArrayList<>();
    required(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, "say where the brokers are", problems);
    required(
        ConsumerConfig.GROUP_ID_CONFIG,
        "offsets are kept for a group: give it the name of your service",
        problems);
    if (Boolean.parseBoolean(text(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG))) {
      refuse(
          ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG,
          "it would commit what nobody has taken yet; leave it out",
          problems);
    }
    if (given.containsKey(ConsumerConfig.MAX_POLL_RECORDS_CONFIG)) {
      refuse(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, "use .batch(…)", problems);
    }
    checkReset(problems);
    checkBytes(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, problems);
    checkBytes(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, problems);
    if (problems.isEmpty()) {
      askTheClient(problems);
    }
    return problems;
  }

  private void required(String name, String wayOut, List<Problem> problems) {
    String value = text(name);
    if (value == null || value.isBlank()) {
      problems.add(
          new Problem(
              ErrorCode.KAFKA_SETTING_REFUSED,
              "The consumer has no '%s': %s.".formatted(name, wayOut)));
    }
  }

  private void checkReset(List<Problem> problems) {
    String reset = text(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG);
    if (reset != null && !isReset("earliest") && !isReset("none")) {
      refuse(
          ConsumerConfig.AUTO_OFFSET_RESET_CONFIG,
          "whatever was sent while the group had no offset would be skipped; use 'earliest' or"
              + " 'none'",
          problems);
    }
  }

  private void checkBytes(String name, List<Problem> problems) {
    Object value = given.get(name);
    if (value != null
        && value != ByteArrayDeserializer.class
        && !value.equals(ByteArrayDeserializer.class.getName())) {
      refuse(
          name,
          "a record that it cannot read would stop its partition; leave it out, bytes are decoded"
              + " by the codec of the inbox",
          problems);
    }
  }

  private void refuse(String name, String why, List<Problem> problems) {
    problems.add(
        new Problem(
            ErrorCode.KAFKA_SETTING_REFUSED,
            "'%s' of the consumer must not be '%s': %s."
                .formatted(name, OneLine.of(String.valueOf(given.get(name))), why)));
  }

  /** It knows which values are none, and would say so only in the background. */
  private void askTheClient(List<Problem> problems) {
    try {
      ConsumerConfig.configDef().parse(forConsumer(1));
    } catch (ConfigException e) {
      problems.add(
          new Problem(
              ErrorCode.KAFKA_SETTING_REFUSED,
              "The settings of the consumer are wrong: %s. Correct them."
                  .formatted(OneLine.of(String.valueOf(e.getMessage())))));
    }
  }

  /** Whether the user gave this value for a group without an offset. */
  boolean isReset(String value) {
    return value.equals(lower(text(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG)));
  }

  /** Whether records of transactions that are open are left out. */
  boolean readsCommitted() {
    String isolation = text(ConsumerConfig.ISOLATION_LEVEL_CONFIG);
    return isolation == null || isolation.equalsIgnoreCase("read_committed");
  }

  String group() {
    return String.valueOf(text(ConsumerConfig.GROUP_ID_CONFIG));
  }

  private @Nullable String text(String name) {
    Object value = given.get(name);
    return value == null ? null : value.toString().strip();
  }

  private static @Nullable String lower(@Nullable String text) {
    return text == null ? null : text.toLowerCase(Locale.ROOT);
  }

  Map<String, Object> forConsumer(int batch) {
    Map<String, Object> config = new HashMap<>(given);
    config.putIfAbsent(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
    config.putIfAbsent(ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, false);
    config.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
    // The client would choose another place silently; so it has to ask, and we say it aloud.
    config.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "none");
    config.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, batch);
    config.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class);
    config.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class);
    return config;
  }

  /** For what is sent by the side: whoever may read there may write with the same user. */
  Map<String, Object> forProducer() {
    Map<String, Object> config = shared(ProducerConfig.configNames());
    config.put(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class);
    config.put(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class);
    config.put(ProducerConfig.ACKS_CONFIG, "all");
    config.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, true);
    config.put(ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG, 10_000);
    config.put(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, 25_000);
    config.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, 10_000);
    // How large a record may be is for the topic to say. The memory is taken when it is needed.
    config.put(ProducerConfig.MAX_REQUEST_SIZE_CONFIG, LARGEST_REQUEST);
    config.put(ProducerConfig.BUFFER_MEMORY_CONFIG, (long) LARGEST_REQUEST);
    return config;
  }

  /** For looking at topics. */
  Map<String, Object> forAdmin() {
    Map<String, Object> config = shared(AdminClientConfig.configNames());
    config.put(AdminClientConfig.REQUEST_TIMEOUT_MS_CONFIG, 5_000);
    config.put(AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, 5_000);
    return config;
  }

  private Map<String, Object> shared(Set<String> names) {
    Map<String, Object> config = new HashMap<>();
    given.forEach(
        (name, value) -> {
          // What no client knows may be meant for a class that it loads.
          if (!OF_CONSUMERS_ALONE.contains(name)
              && (names.contains(name) || !ConsumerConfig.configNames().contains(name))) {
            config.put(name, value);
          }
        });
    return config;
  }
}
