package dev.pigeonhole.outbox;

import dev.pigeonhole.Batch;
import dev.pigeonhole.BatchHandler;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.Received;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.MessageMapper;
import dev.pigeonhole.transport.Sent;
import dev.pigeonhole.transport.Transport;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * Hands what is due to a transport, and believes that something is sent only if the transport has
 * seen it confirmed: everything else fails here, and what does not fail gets a receipt.
 */
final class Relay implements BatchHandler<byte[]> {
  private final Transport transport;
  private final MessageMapper mapper;
  private final BiFunction<? super Received<?>, Message, Message> onSending;
  private final Duration timeout;

  Relay(
      Transport transport,
      MessageMapper mapper,
      BiFunction<? super Received<?>, Message, Message> onSending,
      Duration timeout) {
    this.transport = transport;
    this.mapper = mapper;
    this.onSending = onSending;
    this.timeout = timeout;
  }

  @Override
  public void handle(Batch<byte[]> batch) throws InterruptedException {
    List<Received<byte[]>> messages = new ArrayList<>(batch.size());
    List<Envelope> envelopes = new ArrayList<>(batch.size());
    for (Received<byte[]> each : batch) {
      try {
        envelopes.add(envelope(each));
        messages.add(each);
      } catch (Throwable e) {
        passOnWhatIsNoMessages(e);
        batch.fail(each, unmappable(each, e));
      }
    }
    if (envelopes.isEmpty()) {
      return;
    }
    @Nullable List<@Nullable Sent> outcomes = transport.send(envelopes, timeout);
    if (outcomes == null || outcomes.size() != envelopes.size()) {
      throw new IllegalStateException(
          "%s was given %d messages and answered for %s"
              .formatted(where(), envelopes.size(), outcomes == null ? "none" : outcomes.size()));
    }
    for (int i = 0; i < envelopes.size(); i++) {
      Sent outcome = outcomes.get(i);
      if (!(outcome instanceof Sent.Confirmed)) {
        batch.fail(messages.get(i), failure(outcome));
      }
    }
  }

  /** Whatever a mapper throws is its message's fault, unless the JVM or the thread is to end. */
  private static void passOnWhatIsNoMessages(Throwable thrown) throws InterruptedException {
    // A stack that was too deep is whole again here; otherwise the JVM itself is in trouble.
    if (thrown instanceof VirtualMachineError error && !(error instanceof StackOverflowError)) {
      throw error;
    }
    if (thrown instanceof InterruptedException stop) { // from a language that need not declare it
      throw stop;
    }
  }

  /** Of whatever is no confirmation, be it nothing at all. */
  private Throwable failure(@Nullable Sent outcome) {
    if (outcome instanceof Sent.Unroutable unroutable) {
      return unroutable(unroutable);
    }
    if (outcome instanceof Sent.Failed failed) {
      return failed.cause();
    }
    return new IllegalStateException(
        "%s did not say what became of it: its answer was %s".formatted(where(), outcome));
  }

  /** The same on every attempt: receivers tell a repeat by source and id. */
  private Envelope envelope(Received<byte[]> each) {
    String source = each.message().source();
    Message message =
        Message.encoded(each.message().id(), each.type(), each.payload(), each.contentType())
            .from(source)
            .headers(each.headers())
            .orderedBy(each.orderingKey().orElse(null));
    Message dated = each.occurredAt().map(message::occurredAt).orElse(message);
    Message outgoing = onSending.apply(each, dated);
    Envelope envelope = mapper.toEnvelope(outgoing, transport.kind(), transport.destination());
    return envelope.source().isPresent() ? envelope : envelope.toBuilder().source(source).build();
  }

  private PoisonException unmappable(Received<byte[]> each, Throwable e) {
    return new PoisonException(
        ErrorCode.ENVELOPE_UNMAPPABLE,
        "The mapper of route '%s' threw %s: %s. Correct the mapper, then let it be retried."
            .formatted(each.handler(), e.getClass().getName(), e.getMessage()),
        e);
  }

  private InboxException unroutable(Sent.Unroutable unroutable) {
    return new PoisonException(
        ErrorCode.UNROUTABLE,
        "Nobody takes it at %s: %s It is kept; let it be retried when that is set right."
            .formatted(where(), unroutable.reason()),
        null);
  }

  private String where() {
    return transport.kind() + ":" + transport.destination();
  }
}
