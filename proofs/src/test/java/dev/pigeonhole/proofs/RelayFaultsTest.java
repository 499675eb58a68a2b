package dev.pigeonhole.proofs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.DatabaseServer;
import dev.pigeonhole.support.RabbitServer;
import dev.pigeonhole.support.TestDatabases;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * From the transaction that publishes, through an outbox, RabbitMQ and an inbox of two processes:
 * wherever a relay dies, and whatever breaks behind it, each message that was committed has exactly
 * one effect.
 */
class RelayFaultsTest {
  private static RabbitServer server;

  @BeforeAll
  static void start() {
    server = RabbitServer.start();
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  @Test
  void nothingIsLostOrDoubledWhereverARelayDies(@TempDir Path directory) throws Exception {
    Random random = new Random(Size.seed("relays"));
    DatabaseServer store = TestDatabases.server(DatabaseKind.POSTGRES);
    try (OutboxBroker broker = new OutboxBroker(new RabbitBroker(server, "relayed"), store);
        SourceFleet relays = new SourceFleet(() -> broker.relay(server.amqpPort()), 1);
        SourceProof proof = new SourceProof(broker, store, directory)) {
      List<SourceFault> all = relayFaults(broker, relays, proof, random);
      all.add(new RabbitFaults(broker.rabbit(), proof.fleet()).restarted());
      List<SourceFault> faults = Size.draw(all, random);
      proof.alone(faults, 1, Size.of(100, 10_000));
      proof.judge("outbox, RabbitMQ and inbox, each alone");
      assertThat(proof.hits()).hasSameSizeAs(faults);
    }
  }

  /** A restart of the broker is not among them: a relay would not die with a message under way. */
  @Test
  @Tag("full")
  void nothingIsLostOrDoubledByAllFaultsMixed(@TempDir Path directory) throws Exception {
    Random random = new Random(Size.seed("relays, mixed"));
    DatabaseServer from = TestDatabases.server(DatabaseKind.POSTGRES);
    try (DatabaseServer to = TestDatabases.startServer(DatabaseKind.MARIADB);
        OutboxBroker broker = new OutboxBroker(new RabbitBroker(server, "mixed"), from);
        SourceFleet relays = new SourceFleet(() -> broker.relay(server.amqpPort()), 1);
        SourceProof proof = new SourceProof(broker, to, directory)) {
      List<SourceFault> before = relayFaults(broker, relays, proof, random);
      List<SourceFault> between = new RabbitFaults(broker.rabbit(), proof.fleet()).ofConsumers();
      List<SourceFault> behind = RabbitSourceFaultsTest.workerFaults(proof, to, random);
      Duration time = Duration.ofMinutes(3);
      proof.mixed(time, 10_000, random, before, between, behind);
      proof.judge("outbox, RabbitMQ and inbox, mixed");
      assertThat(proof.hits())
          .hasSizeGreaterThanOrEqualTo(before.size() + between.size() + behind.size());
    }
  }

  private static List<SourceFault> relayFaults(
      OutboxBroker broker, SourceFleet relays, SourceProof proof, Random random) {
    return new ArrayList<>(new RelayFaults(broker, relays, proof::isHandled, random).all());
  }
}
