package dev.pigeonhole.jdbc.internal;

import java.sql.SQLException;
import java.time.Instant;
import java.util.Optional;

/**
 * A message as its identity leads to it.
 *
 * @param now the time by the same clock as the receipt
 */
record FoundMessage(long seq, int lane, String type, Instant receivedAt, Instant now) {

  // Index: message_identity.
  private static final String BY_IDENTITY =
      "SELECT seq, lane, type, received_at, {now} FROM {message} WHERE source = ? AND id = ?";

  static Optional<FoundMessage> of(Session session, Statements statements, String source, String id)
      throws SQLException {
    return statements
        .guarded(
            session,
            BY_IDENTITY,
            params -> params.add(source).add(id),
            row ->
                new FoundMessage(
                    row.getLong(1),
                    row.getInt(2),
                    row.getString(3),
                    session.time(row, 4),
                    session.time(row, 5)))
        .stream()
        .findFirst();
  }
}
