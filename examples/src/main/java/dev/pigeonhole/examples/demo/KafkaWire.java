package dev.pigeonhole.examples.demo;

import dev.pigeonhole.kafka.KafkaSource;
import dev.pigeonhole.kafka.KafkaTransport;
import dev.pigeonhole.transport.MessageSource;
import dev.pigeonhole.transport.Transport;
import java.util.Map;

/** A topic in which each customer has a partition, and the group of the workers that read it. */
final class KafkaWire implements Wire {

  static final String TOPIC = "orders";
  static final int PARTITIONS = 4;

  private final String bootstrap;

  KafkaWire(String bootstrap) {
    this.bootstrap = bootstrap;
  }

  @Override
  public Transport transport() {
    return KafkaTransport.topic(Map.of("bootstrap.servers", bootstrap), TOPIC);
  }

  @Override
  public MessageSource source() {
    return KafkaSource.topic(
        Map.of(
            "bootstrap.servers",
            bootstrap,
            "group.id",
            "workers",
            // The partitions of a killed worker wait for this long, and a demo has no 45 seconds.
            "session.timeout.ms",
            "4000",
            "heartbeat.interval.ms",
            "1000"),
        TOPIC);
  }
}
