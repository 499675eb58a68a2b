package dev.pigeonhole.proofs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.support.Direction;
import dev.pigeonhole.support.Eventually;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.KafkaConsumer;

/** What can go wrong between Kafka and the members of a group. */
final class KafkaFaults {
  private static final Duration LIMIT = Duration.ofMinutes(5);
  private static final Duration POLL = Duration.ofMillis(50);
  private static final Duration BETWEEN_REBALANCES = Duration.ofSeconds(2);

  private final KafkaBroker broker;
  private final SourceFleet fleet;

  KafkaFaults(KafkaBroker broker, SourceFleet fleet) {
    this.broker = broker;
    this.fleet = fleet;
  }

  List<SourceFault> all() {
    return List.of(
        new SourceFault("broker restarted", () -> reconnected(this::restart)),
        new SourceFault("connections cut", () -> reconnected(this::cut)),
        new SourceFault("link half open", this::silence));
  }

  /** A stranger joins the group and leaves it with what it has read, every two seconds. */
  SourceFault rebalance() {
    return new SourceFault("rebalance", this::comeAndGo);
  }

  private void comeAndGo() throws InterruptedException {
    long began = System.nanoTime();
    try (KafkaConsumer<String, String> stranger = broker.stranger()) {
      Eventually.until(
          "partitions for the stranger",
          LIMIT,
          () -> {
            stranger.poll(POLL);
            return !stranger.assignment().isEmpty();
          });
    }
    TimeUnit.NANOSECONDS.sleep(BETWEEN_REBALANCES.toNanos() - (System.nanoTime() - began));
  }

  /** Somebody has to be there to be hit, and has to come back. */
  private void reconnected(SourceFault.Strike deed) throws Exception {
    awaitMembers();
    int before = broker.proxy().connections();
    deed.run();
    Eventually.until(
        "somebody to connect again", LIMIT, () -> broker.proxy().connections() > before);
  }

  private void awaitMembers() {
    Eventually.until("members", LIMIT, () -> broker.consumers() >= fleet.size());
  }

  private void restart() {
    long former = broker.server().pid();
    broker.server().restart();
    assertThat(broker.server().pid()).isNotEqualTo(former);
  }

  private void cut() {
    int before = broker.proxy().hits();
    broker.proxy().cut();
    assertThat(broker.proxy().hits()).as("connections that were cut").isGreaterThan(before);
  }

  /** Nobody hears anybody, until the group has given all workers up. */
  private void silence() {
    awaitMembers();
    int before = broker.proxy().hits();
    broker.proxy().blackhole(Direction.TO_CLIENT, Direction.TO_SERVER);
    Eventually.until("the group to give up its members", LIMIT, () -> broker.consumers() == 0);
    assertThat(broker.proxy().hits()).as("connections that were dark").isGreaterThan(before);
    broker.proxy().heal();
  }
}
