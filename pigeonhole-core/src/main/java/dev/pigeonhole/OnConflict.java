package dev.pigeonhole;

/** What happens when a known identity arrives again with other content or another type. */
public enum OnConflict {
  /** The second copy is kept in {@code conflict} for an operator, never delivered. The default. */
  KEEP,
  /**
   * Neither contents nor types are compared: the identity alone decides. Always so with a business
   * key.
   */
  REPEAT,
  /** The caller gets {@link Acceptance.Conflict}; nothing is stored. */
  REJECT
}
