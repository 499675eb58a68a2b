package dev.pigeonhole.store;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import org.jspecify.annotations.Nullable;

/** The store could not do what was asked. Never counts as a failure of a delivery. */
public final class StoreException extends InboxException {
  private static final long serialVersionUID = 1L;

  /** What the caller may conclude. */
  public enum Kind {
    /** Nothing was done; the same call may succeed later: connection lost, deadlock, disk full. */
    TRANSIENT,
    /** The connection was lost while the commit was on its way: it may have been done. */
    UNKNOWN,
    /** Nothing was done, and the same call will fail again. */
    PERMANENT
  }

  private final Kind kind;
  private final boolean deadlock;

  /** Anything but a deadlock. The code is put in front of the message. */
  public StoreException(Kind kind, ErrorCode code, String message, @Nullable Throwable cause) {
    this(kind, code, message, cause, false);
  }

  /** The code is put in front of the message. */
  public StoreException(
      Kind kind, ErrorCode code, String message, @Nullable Throwable cause, boolean deadlock) {
    super(code, message, cause);
    this.kind = kind;
    this.deadlock = deadlock;
  }

  /** What the caller may conclude. */
  public Kind kind() {
    return kind;
  }

  /** Whether the database chose this transaction as the victim of a deadlock. */
  public boolean deadlock() {
    return deadlock;
  }
}
