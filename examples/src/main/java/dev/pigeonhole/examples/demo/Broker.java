package dev.pigeonhole.examples.demo;

import dev.pigeonhole.examples.demo.Options.TransportKind;
import dev.pigeonhole.support.KafkaServer;
import dev.pigeonhole.support.RabbitServer;
import java.io.IOException;

/** A real broker that was started for this run, with all that it needs declared; or none. */
final class Broker implements AutoCloseable {

  private final String address;
  private final Runnable stop;

  private Broker(String address, Runnable stop) {
    this.address = address;
    this.stop = stop;
  }

  static Broker start(TransportKind kind) throws IOException {
    return switch (kind) {
      case NONE -> new Broker("none", () -> {});
      case RABBITMQ -> {
        RabbitServer server = RabbitServer.start();
        new RabbitWire(server.amqpPort()).declare();
        yield new Broker(Integer.toString(server.amqpPort()), server::close);
      }
      case KAFKA -> {
        KafkaServer server = KafkaServer.start();
        server.createTopic(KafkaWire.TOPIC, KafkaWire.PARTITIONS);
        yield new Broker(server.bootstrap(), server::close);
      }
    };
  }

  /** What another process needs to get a {@link Wire} to it. */
  String address() {
    return address;
  }

  @Override
  public void close() {
    stop.run();
  }
}
