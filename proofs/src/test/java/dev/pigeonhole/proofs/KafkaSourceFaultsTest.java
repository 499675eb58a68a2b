package dev.pigeonhole.proofs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.DatabaseServer;
import dev.pigeonhole.support.FaultProxy;
import dev.pigeonhole.support.KafkaServer;
import dev.pigeonhole.support.Ports;
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
 * Whatever breaks between Kafka and the database, and however often the group changes: each record
 * that the broker has confirmed to its producer has exactly one effect.
 */
class KafkaSourceFaultsTest {
  private static FaultProxy proxy;
  private static KafkaServer server;

  @BeforeAll
  static void start() {
    proxy = FaultProxy.to("127.0.0.1", Ports.free());
    server = KafkaServer.start(proxy);
  }

  @AfterAll
  static void stop() {
    server.close();
    proxy.close();
  }

  @Test
  void nothingIsLostOrDoubledByAnyFaultAlone(@TempDir Path directory) throws Exception {
    Random random = new Random(Size.seed("faults alone"));
    try (DatabaseServer store = TestDatabases.startServer(DatabaseKind.MARIADB);
        KafkaBroker broker = new KafkaBroker(server, proxy, "alone");
        SourceProof proof = new SourceProof(broker, store, directory)) {
      KafkaFaults kafka = new KafkaFaults(broker, proof.fleet());
      List<SourceFault> all = new ArrayList<>(kafka.all());
      all.addAll(workerFaults(proof, store, random));
      List<SourceFault> faults = Size.draw(all, random);
      proof.alone(faults, 1, Size.of(100, 10_000));
      proof.alone(List.of(kafka.rebalance()), Size.of(1, 30), Size.of(50, 1_000));
      proof.judge("Kafka and MariaDB, each alone");
      assertThat(proof.hits()).hasSize(faults.size() + 1);
    }
  }

  /** A rebalance every two seconds besides everything else. */
  @Test
  @Tag("full")
  void nothingIsLostOrDoubledByAllFaultsMixed(@TempDir Path directory) throws Exception {
    Random random = new Random(Size.seed("faults mixed"));
    try (DatabaseServer store = TestDatabases.startServer(DatabaseKind.POSTGRES);
        KafkaBroker broker = new KafkaBroker(server, proxy, "mixed");
        SourceProof proof = new SourceProof(broker, store, directory)) {
      KafkaFaults kafka = new KafkaFaults(broker, proof.fleet());
      List<SourceFault> behind = workerFaults(proof, store, random);
      Duration time = Duration.ofMinutes(3);
      proof.mixed(time, 10_000, random, List.of(kafka.rebalance()), kafka.all(), behind);
      proof.judge("Kafka and PostgreSQL, mixed");
      assertThat(proof.hits())
          .containsKey("rebalance")
          .hasSizeGreaterThanOrEqualTo(1 + kafka.all().size() + behind.size());
    }
  }

  private static List<SourceFault> workerFaults(
      SourceProof proof, DatabaseServer store, Random random) {
    Duration outage = Duration.ofSeconds(Size.of(3, 30));
    return new WorkerFaults(
            proof.fleet(), store, "What was read cannot be handed in now", outage, random)
        .all();
  }
}
