package dev.pigeonhole.jdbc.internal;

/** What an error of the database means, told by SQLState or vendor code, never by its text. */
enum Fault {
  /** The transaction was chosen as a victim, or met a newer version of a row; it is gone. */
  DEADLOCK,
  /** Somebody else holds the row for too long. */
  LOCK_TIMEOUT,
  /** The connection is gone; what was on its way may have been done. */
  LOST,
  /** Full, overloaded, shutting down, read-only: the same call may succeed later. */
  BUSY,
  /** The statement ran for too long, or somebody cancelled it. */
  CANCELLED,
  /**
   * The server rejects a row: a constraint, a trigger, a column that is too short. All fields of a
   * message are checked before, so the tables of the inbox were changed; no message causes it.
   */
  DATA,
  /** What was sent at once is larger than the server takes at once. */
  TOO_LARGE,
  /** A row with this key exists. */
  DUPLICATE,
  /** The role lacks a right, or the table is missing. */
  FORBIDDEN,
  OTHER;

  /** Whether the same call may succeed later. */
  boolean passes() {
    return this == DEADLOCK
        || this == LOCK_TIMEOUT
        || this == LOST
        || this == BUSY
        || this == CANCELLED;
  }

  /**
   * Whether a handler is innocent of it. A statement of its own that takes too long is its failure:
   * it would take as long the next time, and never be counted.
   */
  boolean sparesHandler() {
    return passes() && this != CANCELLED;
  }
}
