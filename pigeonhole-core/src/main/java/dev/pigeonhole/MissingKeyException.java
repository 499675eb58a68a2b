package dev.pigeonhole;

/** A guard was asked to run for nothing that it could be known by. */
public final class MissingKeyException extends InboxException {
  private static final long serialVersionUID = 1L;

  /** The code is put in front of the message. */
  public MissingKeyException(String message) {
    super(ErrorCode.GUARD_KEY_MISSING, message);
  }
}
