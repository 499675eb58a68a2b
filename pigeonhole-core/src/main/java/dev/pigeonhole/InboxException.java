package dev.pigeonhole;

import org.jspecify.annotations.Nullable;

/**
 * The root of what this library throws when something is wrong with a message, a configuration, the
 * store or a change. Its {@link #code()} is stable across versions. A call that is wrong in itself,
 * or that comes when nothing can be done any more, is answered as everywhere in Java, with {@link
 * IllegalArgumentException} or {@link IllegalStateException}.
 */
public class InboxException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final ErrorCode code;

  /** The code is put in front of the message. */
  public InboxException(ErrorCode code, String message) {
    this(code, message, null);
  }

  /** The code is put in front of the message. */
  public InboxException(ErrorCode code, String message, @Nullable Throwable cause) {
    super(code.text() + ": " + message, cause);
    this.code = code;
  }

  /** The stable code, explained in {@code docs/errors.md}. */
  public ErrorCode code() {
    return code;
  }
}
