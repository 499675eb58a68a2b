package dev.pigeonhole.examples.demo;

import dev.pigeonhole.examples.demo.Options.TransportKind;
import dev.pigeonhole.transport.MessageSource;
import dev.pigeonhole.transport.Transport;

/** Both ends of the way through a broker, for the processes that use them. */
interface Wire {

  /** The end of the relays. */
  Transport transport();

  /** The end of the workers. */
  MessageSource source();

  /**
   * @param address what {@link Broker#address} has said
   */
  static Wire of(TransportKind kind, String address) {
    return switch (kind) {
      case NONE -> throw new IllegalArgumentException("without a transport there is no wire");
      case RABBITMQ -> new RabbitWire(Integer.parseInt(address));
      case KAFKA -> new KafkaWire(address);
    };
  }
}
