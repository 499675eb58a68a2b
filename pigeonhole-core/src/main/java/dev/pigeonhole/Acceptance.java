package dev.pigeonhole;

import java.time.Instant;
import java.util.Map;

/**
 * What became of a message that was handed in. {@link Accepted} and {@link Repeat} are safe to
 * acknowledge: the inbox has it for every stored handler, and every inline one has finished it, or
 * an operator has to decide about it. So is {@link Conflict} where the channel keeps the second
 * copy; under {@link OnConflict#REJECT} nobody has it, and acknowledging loses it. {@link Ignored}
 * is not stored either, and should be acknowledged: the channel says that nobody wants it. {@link
 * Rejected} is not stored. {@link Unfinished} has to come again.
 */
public sealed interface Acceptance {

  /**
   * Each stored handler has a delivery, each inline one has finished. Where all are inline, no
   * content is stored: only the identity and the receipts.
   */
  record Accepted(MessageRef message) implements Acceptance {}

  /**
   * Known already; no handler that has a delivery of it, or has finished it, gets it a second time.
   *
   * @param firstReceived when it was stored; where all handlers are inline, when one of them had
   *     finished it
   */
  record Repeat(MessageRef message, Instant firstReceived) implements Acceptance {}

  /**
   * The identity is known with other content or another type. This copy is never delivered; {@link
   * OnConflict} says whether it is kept.
   */
  record Conflict(MessageRef message) implements Acceptance {}

  /** Not stored, because no handler takes its type and the channel is {@link Unhandled#IGNORE}. */
  record Ignored(MessageRef message) implements Acceptance {}

  /**
   * Some inline handlers have not finished it. What the others did stays, and what was stored is
   * stored; the source must not acknowledge it, and lets it come again after a while: then only
   * these run. How often is the source's to decide: nothing is counted here.
   *
   * @param failures by the handler's key; {@code PH-GRD-04} is no failure, for nothing has run
   */
  record Unfinished(MessageRef message, Map<String, Failure> failures) implements Acceptance {
    public Unfinished {
      failures = Map.copyOf(failures);
    }

    /** Whether none of these handlers could do better another time: put the message aside. */
    public boolean forGood() {
      return failures.values().stream().allMatch(Failure::isFinal);
    }
  }

  /** Not stored, and the same message would be rejected again. */
  record Rejected(ErrorCode code, String reason) implements Acceptance {}
}
