package dev.pigeonhole;

import org.jspecify.annotations.Nullable;

/**
 * A message that knows its own business key. Implemented by the class that a channel names with
 * {@code on(…)}, it stands for {@link TypeBuilder#keyedBy}, which wins over it; it wins over {@link
 * Idempotent}.
 *
 * <pre>{@code
 * record ChargeCard(String reference, long cents) implements IdempotentMessage {
 *   public String idempotencyKey() {
 *     return "charge:" + reference;
 *   }
 * }
 * }</pre>
 */
public interface IdempotentMessage {

  /**
   * What tells this message from every other of its type; a repeat answers the same. Null or blank
   * where there is none: then {@link TypeBuilder#missingKey} decides.
   */
  @Nullable String idempotencyKey();
}
