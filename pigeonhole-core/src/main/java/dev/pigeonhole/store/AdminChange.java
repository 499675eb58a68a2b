package dev.pigeonhole.store;

import org.jspecify.annotations.Nullable;

/**
 * What an operator wants to become of something.
 *
 * @param target whom to replay to; null for the others
 */
public record AdminChange(Action action, @Nullable HandlerId target, String actor, String reason) {

  /** What can be done; {@link #REPLAY} and {@link #PURGE} to messages, the others to deliveries. */
  public enum Action {
    RETRY,
    COMPLETE,
    DISCARD,
    REPLAY,
    PURGE
  }

  /** What came of it for one of those that were chosen. */
  public enum Effect {
    CHANGED(""),
    GONE("is not there any more"),
    NOT_POISONED("is not poisoned any more"),
    OPEN("is open"),
    POISONED("is poisoned"),
    IN_USE("is in use by somebody else"),
    CONFLICTS("has conflicts that wait for somebody"),
    NO_CONTENT("has lost its content to retention"),
    TOO_OFTEN("was replayed too often");

    private final String text;

    Effect(String text) {
      this.text = text;
    }

    /** For people. */
    public String text() {
      return text;
    }
  }
}
