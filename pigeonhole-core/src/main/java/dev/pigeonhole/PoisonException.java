package dev.pigeonhole;

import org.jspecify.annotations.Nullable;

/** Thrown by a handler: no attempt will ever succeed. The delivery is poisoned at once. */
public class PoisonException extends InboxException {
  private static final long serialVersionUID = 1L;

  /** With what an operator should read. */
  public PoisonException(String message) {
    this(message, null);
  }

  /** With what an operator should read, and the failure that told. */
  public PoisonException(String message, @Nullable Throwable cause) {
    super(ErrorCode.HANDLER_POISONED, message, cause);
  }

  /** For a library that knows the reason, and has a code for it. */
  public PoisonException(ErrorCode code, String message, @Nullable Throwable cause) {
    super(code, message, cause);
  }
}
