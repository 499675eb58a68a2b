package dev.pigeonhole;

/**
 * What happens to a message without the business key of its type: the selector, the property or the
 * header answers null or a blank text, or there is no body to look into.
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
  ACCEPT_EVERY_COPY,
  /**
   * Its key is a hash of its content type and content, byte for byte. The same content twice is a
   * repeat, also where the producer meant two messages.
   */
  HASH_CONTENT
}
