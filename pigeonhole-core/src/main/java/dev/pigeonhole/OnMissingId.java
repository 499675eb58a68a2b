package dev.pigeonhole;

/** What happens to a message that comes without an id. Types with a business key need none. */
public enum OnMissingId {
  /** The caller gets {@link Acceptance.Rejected} with {@code PH-ID-01}. The default. */
  REJECT,
  /**
   * Its id is a hash of its type, content type and content. The same content twice is a repeat,
   * also where the producer meant two messages.
   */
  HASH_CONTENT,
  /** It gets a random id. A repeat of it is a new message: every copy is handled. */
  ACCEPT_EVERY_COPY
}
