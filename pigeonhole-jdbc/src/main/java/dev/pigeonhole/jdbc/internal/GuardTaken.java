package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.store.HandlerId;
import java.sql.ResultSet;
import java.sql.SQLException;

/**
 * An open delivery that a guarded run takes over. It is held from the beginning and removed in the
 * end: should something commit in between, it is still there.
 *
 * @param late whether it stands in {@code later}
 * @param handler the number that it stands under
 * @param keyId the name that it was stored under
 */
record GuardTaken(boolean late, int handler, int keyId, int failures, int crashes, int releases) {

  /** What {@link #of} reads. */
  static final String COLUMNS = "handler, key_id, failures, crashes, releases";

  /** What a run has behind it that takes nothing over. */
  static GuardTaken none(HandlerId handler) {
    return new GuardTaken(false, handler.family(), handler.keyId(), 0, 0, 0);
  }

  static GuardTaken of(boolean late, ResultSet row) throws SQLException {
    return new GuardTaken(
        late, row.getInt(1), row.getInt(2), row.getInt(3), row.getInt(4), row.getInt(5));
  }
}
