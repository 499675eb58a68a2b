package dev.pigeonhole.proofs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.support.Direction;
import dev.pigeonhole.support.Eventually;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** What can go wrong between RabbitMQ and its consumers. */
final class RabbitFaults {
  private static final Duration LIMIT = Duration.ofMinutes(5);
  private static final Duration SOON = Duration.ofSeconds(20);
  private static final String TROUBLE = "TROUBLE";

  private final RabbitBroker broker;
  private final SourceFleet fleet;
  private int restarts;

  RabbitFaults(RabbitBroker broker, SourceFleet fleet) {
    this.broker = broker;
    this.fleet = fleet;
  }

  List<SourceFault> all() {
    List<SourceFault> all = new ArrayList<>(ofConsumers());
    all.add(restarted());
    return all;
  }

  /** It hits whoever is connected, and not the consumers alone. */
  SourceFault restarted() {
    return new SourceFault("broker restarted", () -> noticed(TROUBLE, this::restart));
  }

  List<SourceFault> ofConsumers() {
    return List.of(
        new SourceFault("connections cut", () -> noticed(TROUBLE, this::cut)),
        new SourceFault("link half open", this::silence),
        new SourceFault("acknowledgements held back", this::deafen),
        new SourceFault("channel closed", () -> noticed("code=406", broker::closeChannel)),
        new SourceFault("consumer cancelled", () -> noticed("PH-RMQ-06", broker::cancelConsumer)));
  }

  /**
   * Somebody has to be there to be hit, and has to say so. The broker counts those that are gone
   * until it misses them, and who was hit may have died of something else: then it is done again.
   */
  private void noticed(String text, SourceFault.Strike deed) throws Exception {
    long end = System.nanoTime() + LIMIT.toNanos();
    boolean said = false;
    while (!said) {
      assertThat(System.nanoTime() - end).as("somebody says \"%s\" in time", text).isNegative();
      awaitConsumers();
      long before = fleet.said(text);
      try {
        deed.run();
        said = fleet.saysMore(text, before, SOON);
      } catch (RabbitBroker.NobodyThereException e) {
        said = false;
      }
      broker.proxy().heal();
    }
  }

  private void awaitConsumers() {
    Eventually.until(
        "consumers", LIMIT, () -> broker.consumers() >= fleet.size() && fleet.isFine());
  }

  /** Lets nothing through until it has kept something back. */
  private void darken(Direction... directions) throws RabbitBroker.NobodyThereException {
    int before = broker.proxy().hits();
    broker.proxy().blackhole(directions);
    if (!Eventually.holds(SOON, () -> broker.proxy().hits() > before)) {
      throw new RabbitBroker.NobodyThereException();
    }
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

  private void cut() throws RabbitBroker.NobodyThereException {
    int before = broker.proxy().hits();
    broker.proxy().cut();
    if (broker.proxy().hits() == before) {
      throw new RabbitBroker.NobodyThereException();
    }
  }

  /** Nobody hears anybody, until a worker misses the broker's heartbeats. */
  private void silence() throws Exception {
    noticed("MissedHeartbeat", () -> darken(Direction.TO_CLIENT, Direction.TO_SERVER));
  }

  /** Workers go on to receive and to acknowledge, and the broker hears nothing of it. */
  private void deafen() throws Exception {
    noticed(TROUBLE, () -> darken(Direction.TO_SERVER));
  }
}
