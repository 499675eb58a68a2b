package dev.pigeonhole.codec;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import org.jspecify.annotations.Nullable;

/** A payload that cannot be written or read. Reading it again would fail again: it is poisoned. */
public final class CodecException extends InboxException {
  private static final long serialVersionUID = 1L;

  /** The code is put in front of the message. */
  public CodecException(ErrorCode code, String message, @Nullable Throwable cause) {
    super(code, message, cause);
  }
}
