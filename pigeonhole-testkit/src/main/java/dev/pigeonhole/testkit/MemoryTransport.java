package dev.pigeonhole.testkit;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.Sent;
import dev.pigeonhole.transport.Transport;
import java.time.Duration;
import java.util.List;

/** Sends into a {@link MemoryQueue}. */
final class MemoryTransport implements Transport {
  private final String name;
  private final MemoryQueue queue;

  MemoryTransport(String name, MemoryQueue queue) {
    this.name = name;
    this.queue = queue;
  }

  @Override
  public String kind() {
    return "memory";
  }

  @Override
  public String destination() {
    return name;
  }

  @Override
  public List<Sent> send(List<Envelope> envelopes, Duration timeout) throws InterruptedException {
    long connection = queue.connection();
    boolean deleted = queue.isDeleted();
    if (!deleted) {
      envelopes.stream().filter(each -> !tooLarge(each)).forEach(queue::send);
    }
    boolean answered = queue.answers(connection, timeout);
    return envelopes.stream().map(each -> outcome(each, deleted, answered)).toList();
  }

  private Sent outcome(Envelope envelope, boolean deleted, boolean answered) {
    if (tooLarge(envelope)) {
      return new Sent.Failed(
          new PoisonException(
              ErrorCode.PAYLOAD_TOO_LARGE,
              "The queue '%s' takes no more than %d bytes.".formatted(name, MemoryQueue.LARGEST),
              null));
    }
    if (!answered) {
      return new Sent.Failed(
          new InboxException(
              ErrorCode.SEND_UNCONFIRMED, "The queue '%s' does not answer.".formatted(name)));
    }
    return deleted
        ? new Sent.Unroutable("The queue '%s' was deleted.".formatted(name))
        : new Sent.Confirmed();
  }

  private static boolean tooLarge(Envelope envelope) {
    byte[] body = envelope.body();
    return body != null && body.length > MemoryQueue.LARGEST;
  }
}
