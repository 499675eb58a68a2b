package dev.pigeonhole.rabbitmq;

import java.util.Set;

/** The headers that are ours, and not the producer's. */
final class Names {
  static final String TRANSPORT = "rabbitmq";

  /** Where properties of AMQP are too short, or there is none. */
  static final String ID = "pigeonhole-id";

  static final String TYPE = "pigeonhole-type";
  static final String KEY = "pigeonhole-key";

  /** Says of an empty body that there is none, which AMQP cannot. */
  static final String NO_BODY = "pigeonhole-no-body";

  /** How often a message has been through the retry queue. */
  static final String RETRIES = "pigeonhole-retries";

  /** Why a message was put aside, and where it came from. */
  static final String CODE = "pigeonhole-code";

  static final String REASON = "pigeonhole-reason";
  static final String QUEUE = "pigeonhole-queue";

  /** How a message came first, where it has been put somewhere and comes again. */
  static final String EXCHANGE = "pigeonhole-exchange";

  static final String ROUTING_KEY = "pigeonhole-routing-key";

  /** Tells a message that came back from the others that were published with it. */
  static final String PUBLISH = "pigeonhole-publish";

  private static final Set<String> OWN =
      Set.of(ID, TYPE, KEY, NO_BODY, RETRIES, CODE, REASON, QUEUE, EXCHANGE, ROUTING_KEY, PUBLISH);

  /** What the broker writes beside the producer's headers, and changes with every delivery. */
  private static final Set<String> BROKERS =
      Set.of(
          "x-delivery-count",
          "x-acquired-count",
          "x-death",
          "x-first-death-exchange",
          "x-first-death-queue",
          "x-first-death-reason",
          "x-last-death-exchange",
          "x-last-death-queue",
          "x-last-death-reason");

  /** What a broker takes for an order when it is published, and ours to tell returns by. */
  private static final Set<String> FOR_THE_BROKER = Set.of("CC", "BCC", PUBLISH);

  private Names() {}

  static boolean isForTheBroker(String header) {
    return FOR_THE_BROKER.contains(header);
  }

  static boolean isOurs(String header) {
    return OWN.contains(header);
  }

  static boolean isTheBrokers(String header) {
    return BROKERS.contains(header);
  }
}
