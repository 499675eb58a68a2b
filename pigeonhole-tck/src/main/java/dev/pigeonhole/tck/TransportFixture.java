package dev.pigeonhole.tck;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.Sent;
import dev.pigeonhole.transport.Transport;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;

/** An empty target, a transport to it, and the words of the contracts. */
@Timeout(600)
abstract class TransportFixture {
  /** For what should arrive; nobody waits this long. */
  static final Duration PATIENCE = Duration.ofMinutes(3);

  /** For what cannot arrive. */
  static final Duration SHORT = Duration.ofSeconds(1);

  private final TransportContract contract;
  private final List<Transport> used = new ArrayList<>();
  TransportTarget target;
  Transport transport;

  TransportFixture(TransportContract contract) {
    this.contract = contract;
  }

  @BeforeEach
  void openTheTarget() {
    target = contract.target();
    transport = use(target.transport());
  }

  @AfterEach
  void closeTheTarget() {
    try {
      used.forEach(Transport::close);
    } finally {
      target.close();
    }
  }

  /** Closes it after the test. */
  Transport use(Transport another) {
    used.add(another);
    return another;
  }

  Envelope.Builder envelope(String id) {
    return Envelope.of(transport.kind(), transport.destination())
        .id(id)
        .type("thing.happened")
        .contentType("application/json")
        .body(("{\"id\":\"" + id + "\"}").getBytes(UTF_8));
  }

  List<Envelope> envelopes(String... ids) {
    return Stream.of(ids).map(id -> envelope(id).build()).toList();
  }

  List<Sent> send(List<Envelope> envelopes) {
    return send(transport, envelopes);
  }

  /**
   * Returns the answer of the other side. A transport may wait inside for less time than a busy
   * broker needs for its first answer, so unconfirmed envelopes are sent again, as by the outbox.
   */
  static List<Sent> send(Transport through, List<Envelope> envelopes) {
    long end = System.nanoTime() + PATIENCE.toNanos();
    List<Sent> outcomes = send(through, envelopes, PATIENCE);
    while (areUnconfirmed(outcomes) && System.nanoTime() - end < 0) {
      SourceFixture.nap();
      outcomes = send(through, envelopes, PATIENCE);
    }
    return outcomes;
  }

  private static boolean areUnconfirmed(List<Sent> outcomes) {
    return !outcomes.isEmpty() && outcomes.stream().allMatch(TransportFixture::isUnconfirmed);
  }

  private static boolean isUnconfirmed(Sent outcome) {
    return outcome instanceof Sent.Failed failed
        && failed.cause() instanceof InboxException cause
        && cause.code() == ErrorCode.SEND_UNCONFIRMED;
  }

  /** A transport may throw for all of them instead of answering for each. */
  static List<Sent> send(Transport through, List<Envelope> envelopes, Duration timeout) {
    List<Sent> outcomes;
    try {
      outcomes = through.send(envelopes, timeout);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("Interrupted while sending", e);
    } catch (RuntimeException e) {
      return envelopes.stream().<Sent>map(it -> new Sent.Failed(e)).toList();
    }
    assertThat(outcomes).as("an outcome for each").hasSameSizeAs(envelopes);
    return outcomes;
  }

  void sendAndConfirm(List<Envelope> envelopes) {
    assertThat(send(envelopes)).hasOnlyElementsOfType(Sent.Confirmed.class);
  }

  /** Until everything is confirmed, what failed again under the same id: as the outbox does it. */
  void sendUntilConfirmed(List<Envelope> envelopes) {
    List<Envelope> left = envelopes;
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (!left.isEmpty()) {
      List<Sent> outcomes = send(transport, left, Duration.ofSeconds(10));
      List<Envelope> again = new ArrayList<>();
      for (int i = 0; i < left.size(); i++) {
        if (!(outcomes.get(i) instanceof Sent.Confirmed)) {
          again.add(left.get(i));
        }
      }
      if (System.nanoTime() - end > 0) {
        throw new AssertionError("Still not confirmed: " + again + ", last: " + outcomes);
      }
      left = again;
    }
  }

  List<String> ids() {
    return target.received().stream().map(each -> each.id().orElse("")).toList();
  }

  Envelope received(String id) {
    awaitReceived(id);
    return target.received().stream()
        .filter(each -> each.id().orElse("").equals(id))
        .findFirst()
        .orElseThrow();
  }

  void awaitReceived(String... ids) {
    await("these to arrive: " + List.of(ids), () -> ids().containsAll(List.of(ids)));
  }

  void await(String what, BooleanSupplier condition) {
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - end > 0) {
        throw new AssertionError(
            "Waited %d s in vain for %s. Arrived: %s".formatted(PATIENCE.toSeconds(), what, ids()));
      }
      SourceFixture.nap();
    }
  }
}
