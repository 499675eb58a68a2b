package dev.pigeonhole.rabbitmq;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/** A durable queue, as it should be. Immutable; each step returns a new one. */
public final class RabbitQueue {
  private final String name;
  private final Map<String, Object> arguments;

  private RabbitQueue(String name, Map<String, Object> arguments) {
    this.name = Objects.requireNonNull(name, "name");
    this.arguments = arguments;
  }

  /** A replicated queue, which is what messages that matter should wait in. */
  public static RabbitQueue quorum(String name) {
    return new RabbitQueue(name, Map.of("x-queue-type", "quorum"));
  }

  /** A queue on one node. */
  public static RabbitQueue classic(String name) {
    return new RabbitQueue(name, Map.of("x-queue-type", "classic"));
  }

  /**
   * The queue {@code <queue>.retry}, in which messages wait for a while and then go back; for
   * {@link RabbitSource#withRetry}. The broker takes none out before the other queue has it.
   */
  public static RabbitQueue retryOf(String queue) {
    return quorum(retryNameOf(queue))
        .deadLetters("", queue)
        .argument("x-dead-letter-strategy", "at-least-once")
        .argument("x-overflow", "reject-publish");
  }

  static String retryNameOf(String queue) {
    return queue + ".retry";
  }

  /** Where the broker itself puts what it gives up, such as after too many deliveries. */
  public RabbitQueue deadLetters(String exchange, String routingKey) {
    return argument("x-dead-letter-exchange", exchange)
        .argument("x-dead-letter-routing-key", routingKey);
  }

  /** After how many deliveries a quorum queue gives a message up. */
  public RabbitQueue deliveryLimit(int deliveries) {
    return argument("x-delivery-limit", (long) deliveries);
  }

  /** Any other argument that the broker knows. */
  public RabbitQueue argument(String argument, Object value) {
    Map<String, Object> more = new LinkedHashMap<>(arguments);
    more.put(argument, value);
    return new RabbitQueue(name, Map.copyOf(more));
  }

  String name() {
    return name;
  }

  Map<String, Object> arguments() {
    return arguments;
  }

  boolean isQuorum() {
    return "quorum".equals(arguments.get("x-queue-type"));
  }

  /** Whatever it drops goes to its dead-letter exchange, if it has one. */
  boolean dropsSilently() {
    if (arguments.containsKey("x-dead-letter-exchange")) {
      return false;
    }
    boolean hasLength =
        arguments.containsKey("x-max-length") || arguments.containsKey("x-max-length-bytes");
    boolean refuses = String.valueOf(arguments.get("x-overflow")).startsWith("reject-publish");
    return isQuorum() || arguments.containsKey("x-message-ttl") || (hasLength && !refuses);
  }

  @Override
  public String toString() {
    return name + arguments;
  }
}
