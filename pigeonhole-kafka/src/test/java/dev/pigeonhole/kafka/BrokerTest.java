package dev.pigeonhole.kafka;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.transport.Disposition;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;

/** Sources on a real broker, somebody who takes what they bring, and the words of the tests. */
@Timeout(600)
abstract class BrokerTest {
  static final Duration LIMIT = Duration.ofMinutes(5);
  static final boolean FULL = "full".equals(System.getProperty("pigeonhole.size"));

  final TestBroker broker;
  final Intake intake = new Intake();
  private final List<KafkaSource> started = new ArrayList<>();

  BrokerTest(TestBroker broker) {
    this.broker = broker;
  }

  @AfterEach
  void end() {
    intake.before(() -> {});
    stopAll();
    broker.close();
  }

  void stopAll() {
    started.forEach(BrokerTest::stop);
  }

  static void stop(KafkaSource source) {
    source.stop(Duration.ofSeconds(30));
  }

  KafkaSource start(KafkaSource source) {
    return start(source, intake);
  }

  KafkaSource start(KafkaSource source, Intake into) {
    started.add(source);
    source.start(into);
    return source;
  }

  void refuse(String id) {
    intake.answering(
        envelope ->
            envelope.id().equals(Optional.of(id))
                ? new Disposition.Refused(ErrorCode.ID_TOO_LONG, "PH-ID-03: too long")
                : new Disposition.Done());
  }

  static void awaitTrouble(KafkaSource source, String text) {
    Eventually.until(
        "trouble " + text, LIMIT, () -> source.trouble().orElse("none").contains(text));
  }

  static void awaitNoTrouble(KafkaSource source) {
    Eventually.until("no trouble", LIMIT, () -> source.trouble().isEmpty());
  }

  void awaitNoLag(String topic, int partitions) {
    Eventually.until("no lag", LIMIT, () -> broker.lag(topic, partitions) == 0);
  }

  void awaitTaken(Collection<String> ids) {
    awaitTaken(intake, ids);
  }

  static void awaitTaken(Intake intake, Collection<String> ids) {
    Eventually.until(
        "these to be taken: " + ids, LIMIT, () -> new HashSet<>(intake.ids()).containsAll(ids));
  }

  static List<String> ids(String prefix, int count) {
    return IntStream.range(0, count).mapToObj(i -> prefix + i).toList();
  }
}
