package dev.pigeonhole.proofs;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Guard;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.ChildClasses;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.H2Database;
import dev.pigeonhole.support.Ledger;
import dev.pigeonhole.support.TestDatabase;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** An inbox, a guard and a consumer of Kafka as the workers of these proofs have them. */
public final class WorkerClasses implements ChildClasses {
  private static final Duration LIMIT = Duration.ofMinutes(2);

  @Override
  public void use() throws Exception {
    Path directory = Files.createTempDirectory("classes");
    Path path = Life.ledgerOf(directory, 1);
    try (Ledger ledger = Ledger.open(path)) {
      useInbox(directory, ledger);
      useGuard(ledger);
    } finally {
      Files.deleteIfExists(path);
      Files.deleteIfExists(directory);
    }
    useKafka();
  }

  private static void useInbox(Path directory, Ledger ledger) {
    try (TestDatabase database = H2Database.memory();
        HikariDataSource pool = database.pool(10)) {
      Schema.migrate(pool);
      Tables.createEffects(database);
      Inbox inbox = new Life(database, directory, ledger, 1).inbox(JdbcStore.of(pool)).build();
      try (RunningInbox running = inbox.start()) {
        inbox.accept("mixed", Message.of("1.0", "1.0"));
        inbox.accept("mixed", Message.of("1.5", "1.5"));
        inbox.accept("ordered", ordered());
        Eventually.until("no open delivery", LIMIT, () -> Tables.open(database).isEmpty());
      }
    }
  }

  private static void useGuard(Ledger ledger) throws SQLException {
    try (TestDatabase database = H2Database.memory();
        HikariDataSource pool = database.pool(2)) {
      Schema.migrate(pool);
      GuardAutopsy.createEffects(database);
      try (Guard guard = GuardCaller.guard(pool)) {
        new GuardCaller(ledger, "archived").call(guard, "1.0");
      }
    }
  }

  /** No broker answers, but the client is complete before it asks for one. */
  private static void useKafka() {
    Map<String, Object> settings =
        Map.of("bootstrap.servers", "127.0.0.1:1", "group.id", "g", "enable.auto.commit", false);
    try (KafkaConsumer<byte[], byte[]> consumer =
        new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
      consumer.subscribe(List.of("t"));
      consumer.poll(Duration.ofMillis(200));
    }
    new KafkaProducer<>(
            Map.of("bootstrap.servers", "127.0.0.1:1"),
            new ByteArraySerializer(),
            new ByteArraySerializer())
        .close(Duration.ZERO);
  }

  private static List<Message> ordered() {
    return IntStream.rangeClosed(12, 15)
        .mapToObj(number -> Message.of("1." + number, "1." + number).orderedBy("1"))
        .toList();
  }
}
