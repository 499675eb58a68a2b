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
 * Whatever breaks between RabbitMQ and the database: each message that the broker has confirmed to
 * its producer has exactly one effect. The full size tries both databases with everything.
 */
class RabbitSourceFaultsTest {
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
  void nothingIsLostOrDoubledByAnyFaultAlone(@TempDir Path directory) throws Exception {
    Random random = new Random(Size.seed("faults alone"));
    try (DatabaseServer store = TestDatabases.startServer(DatabaseKind.POSTGRES);
        RabbitBroker broker = new RabbitBroker(server, "alone");
        SourceProof proof = new SourceProof(broker, store, directory)) {
      List<SourceFault> all = new ArrayList<>(new RabbitFaults(broker, proof.fleet()).all());
      all.addAll(workerFaults(proof, store, random));
      List<SourceFault> faults = Size.draw(all, random);
      proof.alone(faults, 1, Size.of(100, 10_000));
      proof.judge("RabbitMQ and PostgreSQL, each alone");
      assertThat(proof.hits()).hasSameSizeAs(faults);
      assertThat(broker.returned()).as("returned to the producer").isZero();
    }
  }

  @Test
  @Tag("full")
  void nothingIsLostOrDoubledByAllFaultsMixed(@TempDir Path directory) throws Exception {
    Random random = new Random(Size.seed("faults mixed"));
    try (DatabaseServer store = TestDatabases.startServer(DatabaseKind.MARIADB);
        RabbitBroker broker = new RabbitBroker(server, "mixed");
        SourceProof proof = new SourceProof(broker, store, directory)) {
      List<SourceFault> before = new RabbitFaults(broker, proof.fleet()).all();
      List<SourceFault> behind = workerFaults(proof, store, random);
      Duration time = Duration.ofMinutes(3);
      proof.mixed(time, 10_000, random, before, behind);
      proof.judge("RabbitMQ and MariaDB, mixed");
      assertThat(proof.hits()).hasSizeGreaterThanOrEqualTo(before.size() + behind.size());
      assertThat(broker.returned()).as("returned to the producer").isZero();
    }
  }

  static List<SourceFault> workerFaults(SourceProof proof, DatabaseServer store, Random random) {
    Duration outage = Duration.ofSeconds(Size.of(3, 30));
    return new WorkerFaults(proof.fleet(), store, "the inbox cannot take messages", outage, random)
        .all();
  }
}
