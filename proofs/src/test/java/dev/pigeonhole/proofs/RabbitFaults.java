package dev.pigeonhole.proofs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.support.Direction;
import dev.pigeonhole.support.Eventually;
import java.time.Duration;
import java.util.List;

/** What can go wrong between RabbitMQ and its consumers. */
final class RabbitFaults {
  private static final Duration LIMIT = Duration.ofSeconds(120);
  private static final String TROUBLE = "TROUBLE";

  private final RabbitBroker broker;
  private final SourceFleet fleet;
  private int restarts;

  RabbitFaults(RabbitBroker broker, SourceFleet fleet) {
    this.broker = broker;
    this.fleet = fleet;
  }

  List<SourceFault> all() {
    return List.of(
        new SourceFault("broker restarted", () -> noticed(TROUBLE, this::restart)),
        new SourceFault("connections cut", () -> noticed(TROUBLE, () -> hit(this::cut))),
        new SourceFault("link half open", () -> hit(this::silence)),
        new SourceFault("acknowledgements held back", () -> hit(this::deafen)),
        new SourceFault("channel closed", () -> noticed("code=406", broker::closeChannel)),
        new SourceFault("consumer cancelled", () -> noticed("PH-RMQ-06", broker::cancelConsumer)));
  }

  private interface Deed {
    void run() throws Exception;
  }

  /** Somebody has to be there to be hit, and has to say so. */
  private void noticed(String text, Deed deed) throws Exception {
    awaitConsumers();
    long before = fleet.said(text);
    deed.run();
    fleet.awaitMore(text, before);
  }

  private void awaitConsumers() {
    Eventually.until("consumers", LIMIT, () -> broker.consumers() >= fleet.size());
  }

  private void hit(Deed deed) throws Exception {
    int before = broker.proxy().hits();
    deed.run();
    assertThat(broker.proxy().hits()).as("connections that were struck").isGreaterThan(before);
  }

  /** By turns without a warning and in order, when it says goodbye to its clients. */
  private void restart() {
    long former = broker.server().pid();
    if (restarts++ % 2 == 1) {
      broker.server().stop();
    }
    broker.server().restart();
    assertThat(broker.server().pid()).isNotEqualTo(former);
  }

  private void cut() {
    broker.proxy().cut();
  }

  /** Nobody hears anybody, until a worker misses the broker's heartbeats. */
  private void silence() throws Exception {
    noticed(
        "MissedHeartbeat",
        () -> broker.proxy().blackhole(Direction.TO_CLIENT, Direction.TO_SERVER));
    broker.proxy().heal();
  }

  /** Workers go on to receive and to acknowledge, and the broker hears nothing of it. */
  private void deafen() throws Exception {
    noticed(TROUBLE, () -> broker.proxy().blackhole(Direction.TO_SERVER));
    broker.proxy().heal();
  }
}
