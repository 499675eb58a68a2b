package dev.pigeonhole;

import org.jspecify.annotations.Nullable;

/** The root of everything this library throws. Its {@link #code()} is stable across versions. */
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
