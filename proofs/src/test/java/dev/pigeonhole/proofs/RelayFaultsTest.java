package dev.pigeonhole.proofs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.DatabaseServer;
import dev.pigeonhole.support.RabbitServer;
import dev.pigeonhole.support.TestDatabases;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * From the transaction that publishes, through an outbox, RabbitMQ and an inbox of two processes:
 * wherever a relay dies, each message that was committed has exactly one effect.
 */
class RelayFaultsTest {

  @Test
  void nothingIsLostOrDoubledWhereverARelayDies(@TempDir Path directory) throws Exception {
    Random random = new Random(Size.seed("relays"));
    DatabaseServer store = TestDatabases.server(DatabaseKind.POSTGRES);
    RabbitServer rabbit = RabbitServer.shared();
    try (OutboxBroker broker = new OutboxBroker(new RabbitBroker(rabbit, "relayed"), store);
        SourceFleet relays = new SourceFleet(() -> broker.relay(rabbit.amqpPort()), 1);
        SourceProof proof = new SourceProof(broker, store, directory)) {
      List<SourceFault> faults = new RelayFaults(broker, relays, proof::isHandled, random).all();
      proof.alone(faults, Size.of(1, 4), Size.of(300, 3_000));
      proof.judge("outbox, RabbitMQ and inbox");
      assertThat(proof.hits()).hasSameSizeAs(faults);
    }
  }
}
