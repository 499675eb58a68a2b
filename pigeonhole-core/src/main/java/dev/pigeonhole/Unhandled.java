package dev.pigeonhole;

/** What happens to a message whose type no handler of its channel takes. */
public enum Unhandled {
  /**
   * It is stored without deliveries. Once a handler takes its type, a repeat of it is delivered.
   * The default.
   */
  KEEP,
  /** The caller gets {@link Acceptance.Rejected} with {@code PH-KEY-09}; nothing is stored. */
  REJECT,
  /**
   * The caller gets {@link Acceptance.Ignored}; nothing is stored. For channels with more on them.
   */
  IGNORE
}
