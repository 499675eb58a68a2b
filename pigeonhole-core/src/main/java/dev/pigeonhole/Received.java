package dev.pigeonhole;

import dev.pigeonhole.internal.registry.Outboxes;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/** A message as one attempt of one handler sees it. */
public interface Received<T> {

  /**
   * This attempt's own copy; changing it is seen by nobody else. Null for bytes or text of a
   * message without a body.
   */
  T payload();

  /** The name of the inbox; {@code direct} where a direct channel has none. */
  String inbox();

  /** Source and id. */
  MessageRef message();

  /** The logical type name it was stored under. */
  String type();

  /** The media type it was stored under. */
  default String contentType() {
    return "application/octet-stream";
  }

  /** What travelled beside the payload; values come back as what they were. */
  Headers headers();

  /** The key this delivery was created under: the handler's own, or a former one. */
  String handler();

  /** 1 for the first attempt; failures and crashes before this one are counted. */
  int attempt();

  /** Why the attempt before this one failed. */
  Optional<Failure> previousFailure();

  /**
   * When the message was accepted, the first time if there were several. By the database's clock,
   * except for a first attempt that this process hands to itself right after its own accept: it has
   * not read the row, and says this process's time. So compare it with clocks, not for equality.
   */
  Instant receivedAt();

  /** When the producer says it happened; never used to decide anything. */
  Optional<Instant> occurredAt();

  /** The ordering key, if the message has one. */
  Optional<String> orderingKey();

  /**
   * Same on every attempt, different per handler: hand it to whoever must not act twice. 36
   * characters, shaped like a UUID.
   */
  String idempotencyKey();

  /**
   * Raised each time this handler's lane changes hands. A receiver that refuses a lower token than
   * it has seen for the key makes an ordered plain handler strict even against a paused node.
   */
  long laneToken();

  /** Time until the attempt counts as failed; empty without a timeout. */
  Optional<Duration> timeLeft();

  /**
   * True once the inbox is stopping, its node cannot show the others that it lives, its lane is
   * lost, or the attempt has taken too long: end soon. What is thrown from then on is not counted,
   * and the delivery runs again; except for the time limit, which is a failure already, and for
   * {@link PoisonException} and {@link RetryLaterException}, which mean what they say.
   */
  boolean stopRequested();

  /**
   * Sends a message on together with the receipt of this delivery: both commit, or neither does, so
   * an attempt that fails sends nothing. Unless they are set, correlation, causation and trace
   * context are those of this message, in the headers {@code correlation-id}, {@code causation-id},
   * {@code traceparent}, {@code tracestate} and {@code baggage}. What cannot go out fails the
   * attempt when it ends.
   *
   * @throws InboxException with {@code PH-OBX-02} if the inbox has no outbox
   */
  default void publish(Message message) {
    throw Outboxes.missing("Handler '" + handler() + "'");
  }
}
