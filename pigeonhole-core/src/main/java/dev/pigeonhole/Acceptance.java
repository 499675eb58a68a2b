package dev.pigeonhole;

import java.time.Instant;
import java.util.Map;

/**
 * What became of a message that was handed in. {@link Accepted} and {@link Repeat} are safe to
 * acknowledge: the inbox has the message. So is {@link Conflict} where the channel keeps the second
 * copy; under {@link OnConflict#REJECT} nobody has it, and acknowledging loses it. {@link Ignored}
 * is not stored either, and should be acknowledged: the channel says that nobody wants it. {@link
 * Rejected} is not stored. {@link Unfinished} has to come again.
 */
public sealed interface Acceptance {

  /** Stored with a delivery for each handler. */
  record Accepted(MessageRef message) implements Acceptance {}

  /** Known already; no handler that has a delivery of it gets a second one. */
  record Repeat(MessageRef message, Instant firstReceived) implements Acceptance {}

  /**
   * The identity is known with other content. This copy is never delivered; {@link OnConflict} says
   * whether it is kept.
   */
  record Conflict(MessageRef message) implements Acceptance {}

  /** Not stored, because no handler takes its type and the channel is {@link Unhandled#IGNORE}. */
  record Ignored(MessageRef message) implements Acceptance {}

  /**
   * Some inline handlers have not finished it. What the others did stays, and what was stored is
   * stored; the source must not acknowledge it: when it comes again only these run.
   *
   * @param failures by the handler's key
   */
  record Unfinished(MessageRef message, Map<String, Failure> failures) implements Acceptance {
    public Unfinished {
      failures = Map.copyOf(failures);
    }
  }

  /** Not stored, and the same message would be rejected again. */
  record Rejected(ErrorCode code, String reason) implements Acceptance {}
}
