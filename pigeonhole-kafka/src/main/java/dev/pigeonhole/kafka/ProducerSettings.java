package dev.pigeonhole.kafka;

import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jspecify.annotations.Nullable;

/**
 * The settings of the producer of a transport: what the user gave, checked for what would lose or
 * reorder messages, and what we add to it. Nothing that was given is changed: it is used, or it is
 * refused. Immutable.
 */
final class ProducerSettings {
  /** How long the client may wait inside for brokers that do not answer, with each message. */
  private static final int LONGEST_BLOCK_MILLIS = 1_000;

  private static final int MOST_IN_FLIGHT = 5; // what a broker can put in order again

  private final String topic;
  private final Map<String, Object> given;

  ProducerSettings(Map<String, ?> given, String topic) {
    this.given = ClientSettings.withoutNulls(given);
    this.topic = topic;
  }

  /** Everything that is wrong. */
  List<Problem> problems() {
    List<Problem> problems = new ArrayList<>();
    String brokers = text(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG);
    if (brokers == null || brokers.isBlank()) {
      problems.add(
          problem(
              "The producer for topic '%s' has no 'bootstrap.servers': say where the brokers are."
                  .formatted(topic)));
    }
    only(
        ProducerConfig.ACKS_CONFIG,
        Set.of("all", "-1"),
        "what only some replicas have can be lost after it was confirmed; leave it out",
        problems);
    only(
        ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG,
        Set.of("true"),
        "what the client repeats by itself could overtake others; leave it out",
        problems);
    only(
        ProducerConfig.PARTITIONER_IGNORE_KEYS_CONFIG,
        Set.of("false"),
        "messages of one ordering key would be in several partitions; leave it out",
        problems);
    never(
        ProducerConfig.TRANSACTIONAL_ID_CONFIG,
        "a transport takes part in no transaction of Kafka, and the outbox in that of the database;"
            + " leave it out",
        problems);
    never(
        ProducerConfig.MAX_BLOCK_MS_CONFIG,
        "the transport keeps it short, as each message would wait so long for silent brokers; how"
            + " long a send may take is .sendTimeout(…) of the outbox",
        problems);
    bytes(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, problems);
    bytes(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, problems);
    if (problems.isEmpty()) {
      askTheClient(problems);
    }
    return problems;
  }

  private void only(String name, Set<String> allowed, String why, List<Problem> problems) {
    String value = text(name);
    if (value != null && !allowed.contains(value)) {
      never(name, why, problems);
    }
  }

  private void never(String name, String why, List<Problem> problems) {
    if (given.containsKey(name)) {
      problems.add(
          problem(
              "'%s' of the producer for topic '%s' must not be '%s': %s."
                  .formatted(name, topic, OneLine.of(String.valueOf(text(name))), why)));
    }
  }

  private void bytes(String name, List<Problem> problems) {
    Object value = given.get(name);
    if (value != ByteArraySerializer.class) {
      only(
          name,
          Set.of(ByteArraySerializer.class.getName()),
          "messages are bytes when they get there, made by the codec of the outbox; leave it out",
          problems);
    }
  }

  /** It knows which values are none, and would say so only with the first message. */
  private void askTheClient(List<Problem> problems) {
    Map<String, Object> parsed;
    try {
      parsed = ProducerConfig.configDef().parse(forProducer());
    } catch (ConfigException e) {
      problems.add(
          problem(
              "The settings of the producer for topic '%s' are wrong: %s. Correct them."
                  .formatted(topic, OneLine.of(String.valueOf(e.getMessage())))));
      return;
    }
    if (number(parsed, ProducerConfig.RETRIES_CONFIG) == 0) {
      never(
          ProducerConfig.RETRIES_CONFIG,
          "what comes in order needs repeats in order; leave it out, and say for how long with"
              + " 'delivery.timeout.ms'",
          problems);
    }
    if (number(parsed, ProducerConfig.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION) > MOST_IN_FLIGHT) {
      never(
          ProducerConfig.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION,
          "brokers put up to %d requests in order again; choose at most that"
              .formatted(MOST_IN_FLIGHT),
          problems);
    }
    long attempt =
        number(parsed, ProducerConfig.LINGER_MS_CONFIG)
            + number(parsed, ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG);
    long delivery = number(parsed, ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG);
    if (delivery < attempt) {
      problems.add(
          problem(
              "'delivery.timeout.ms' of the producer for topic '%s' is %d, which is less than 'linger.ms' and 'request.timeout.ms' together, %d. Raise it, or lower those."
                  .formatted(topic, delivery, attempt)));
    }
  }

  private static long number(Map<String, Object> parsed, String name) {
    return parsed.get(name) instanceof Number number ? number.longValue() : 0;
  }

  private static Problem problem(String text) {
    return new Problem(ErrorCode.KAFKA_SETTING_REFUSED, text);
  }

  private @Nullable String text(String name) {
    Object value = given.get(name);
    return value instanceof Class<?> type
        ? type.getName()
        : value == null ? null : value.toString().strip();
  }

  Map<String, Object> forProducer() {
    Map<String, Object> config = new HashMap<>(given);
    config.put(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class);
    config.put(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class);
    config.put(ProducerConfig.ACKS_CONFIG, "all");
    config.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, true);
    config.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, LONGEST_BLOCK_MILLIS);
    config.putIfAbsent(ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG, 10_000);
    config.putIfAbsent(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, 25_000);
    // How large a record may be is for the topic to say.
    config.putIfAbsent(ProducerConfig.MAX_REQUEST_SIZE_CONFIG, 32 * 1024 * 1024);
    return config;
  }

  /** For looking at the topic, with the same user: without what only a producer has. */
  Map<String, Object> forAdmin() {
    Map<String, Object> config = new HashMap<>(given);
    config
        .keySet()
        .removeIf(
            name ->
                ProducerConfig.configNames().contains(name)
                    && !AdminClientConfig.configNames().contains(name));
    config.put(AdminClientConfig.REQUEST_TIMEOUT_MS_CONFIG, 5_000);
    config.put(AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, 5_000);
    return config;
  }
}
