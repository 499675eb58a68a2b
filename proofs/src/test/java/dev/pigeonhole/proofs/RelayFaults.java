package dev.pigeonhole.proofs;

import dev.pigeonhole.support.Direction;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.FaultProxy;
import dev.pigeonhole.support.JavaProcess;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.function.Predicate;
import java.util.stream.Stream;

/** What can end a relay between a database and RabbitMQ. Another one goes on beside it. */
final class RelayFaults {
  private static final Duration LIMIT = Duration.ofMinutes(5);
  private static final int LATEST_VISIT = 10;

  private final OutboxBroker broker;
  private final SourceFleet relays;
  private final Predicate<String> handled;
  private final Random random;

  /**
   * @param handled whether the message with this id has had its effect
   */
  RelayFaults(OutboxBroker broker, SourceFleet relays, Predicate<String> handled, Random random) {
    this.broker = broker;
    this.relays = relays;
    this.handled = handled;
    this.random = random;
  }

  List<SourceFault> all() {
    return List.of(
        killed("relay killed before it publishes", ObservedTransport.BEFORE),
        new SourceFault("relay killed without a confirm", this::killUnconfirmed),
        killed("relay killed without a receipt", ObservedTransport.CONFIRMED));
  }

  private SourceFault killed(String name, String point) {
    return new SourceFault(name, () -> relays.sacrifice(point, 1 + random.nextInt(LATEST_VISIT)));
  }

  /** What it has published has its effect already, and it never hears that it has arrived. */
  private void killUnconfirmed() {
    try (FaultProxy proxy = FaultProxy.to("127.0.0.1", broker.rabbit().server().amqpPort());
        JavaProcess victim = relays.another(broker.relay(proxy.port()))) {
      victim.awaitLine(ObservedTransport.SENT::equals, LIMIT);
      int before = proxy.hits();
      proxy.blackhole(Direction.TO_CLIENT);
      int said = victim.output().size();
      Eventually.until(
          "an effect without a confirm",
          LIMIT,
          () -> proxy.hits() > before && sending(victim, said).anyMatch(handled));
      victim.kill9();
    }
  }

  /** What it began to send after it had said so much: the first message of each batch. */
  private static Stream<String> sending(JavaProcess relay, int said) {
    return relay.output().stream()
        .skip(said)
        .filter(line -> line.startsWith(ObservedTransport.SENDING))
        .map(line -> line.substring(ObservedTransport.SENDING.length()));
  }
}
