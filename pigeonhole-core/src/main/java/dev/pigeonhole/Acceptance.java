package dev.pigeonhole;

import java.time.Instant;

/**
 * What became of a message that was handed in. All but {@link Rejected} are safe to acknowledge:
 * the inbox has the message, or had it before.
 */
public sealed interface Acceptance {

  /** Stored with a delivery for each handler. */
  record Accepted(MessageRef message) implements Acceptance {}

  /** Known already; no handler that has seen it will see it again. */
  record Repeat(MessageRef message, Instant firstReceived) implements Acceptance {}

  /** The identity is known with other content; see {@link OnConflict}. */
  record Conflict(MessageRef message) implements Acceptance {}

  /** Not stored, and the same message never will be. */
  record Rejected(ErrorCode code, String reason) implements Acceptance {}
}
