package dev.pigeonhole;

/**
 * What happens to a message for which the selector of {@link TypeBuilder#keyedBy} answers null or a
 * blank text, or which has no body to select from.
 */
public enum OnMissingKey {
  /** The caller gets {@link Acceptance.Rejected} with {@code PH-ID-07}. The default. */
  REJECT,
  /**
   * Its own source and id count, as for a type without a business key: with the channel's policies
   * for a missing id and for conflicts.
   */
  USE_ID,
  /** It gets a random id. A repeat of it is a new message: every copy is handled. */
  ACCEPT_EVERY_COPY
}
