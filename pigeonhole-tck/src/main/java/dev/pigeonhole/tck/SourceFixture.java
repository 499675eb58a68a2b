package dev.pigeonhole.tck;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.MessageSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;

/** A broker with an empty queue, somebody to hand messages to, and the words of the contracts. */
@Timeout(600)
abstract class SourceFixture {
  static final Duration PATIENCE = Duration.ofMinutes(3);

  final SourceContract contract;
  final Receiver receiver = new Receiver();
  private final List<MessageSource> started = new ArrayList<>();
  SourceBroker broker;

  SourceFixture(SourceContract contract) {
    this.contract = contract;
  }

  @BeforeEach
  void openTheBroker() {
    broker = contract.broker();
  }

  @AfterEach
  void closeTheBroker() {
    receiver.open();
    try {
      started.forEach(source -> source.stop(Duration.ofSeconds(10)));
    } finally {
      broker.close();
    }
  }

  MessageSource start() {
    return start(broker.source());
  }

  MessageSource start(MessageSource source) {
    started.add(source);
    source.start(receiver);
    return source;
  }

  void send(String... ids) {
    for (String id : ids) {
      broker.send(envelope(id).build());
    }
  }

  void send(int count) {
    for (int i = 0; i < count; i++) {
      send("m-" + i);
    }
  }

  static Envelope.Builder envelope(String id) {
    return Envelope.of("contract", "queue")
        .id(id)
        .type("thing.happened")
        .contentType("application/json")
        .body(("{\"id\":\"" + id + "\"}").getBytes(UTF_8));
  }

  void awaitTaken(String... ids) {
    await("these to be handed in: " + List.of(ids), () -> receiver.hasTaken(List.of(ids)));
  }

  void awaitAcknowledged() {
    await("everything to be acknowledged", () -> broker.unacknowledged() == 0);
  }

  void await(String what, BooleanSupplier condition) {
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - end > 0) {
        throw new AssertionError(
            "Waited %d s in vain for %s. Handed in: %s, unacknowledged: %d, aside: %s"
                .formatted(
                    PATIENCE.toSeconds(),
                    what,
                    receiver.ids(),
                    broker.unacknowledged(),
                    broker.aside()));
      }
      nap();
    }
  }

  static void nap() {
    try {
      TimeUnit.MILLISECONDS.sleep(5);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("Interrupted while waiting", e);
    }
  }
}
