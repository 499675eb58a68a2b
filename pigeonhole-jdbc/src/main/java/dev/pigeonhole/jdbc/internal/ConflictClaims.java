package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.MessageRef;
import java.sql.SQLException;
import java.util.Optional;

/** Second copies that somebody is accepting: each under one id, whoever tries it how often. */
final class ConflictClaims {

  // Index: conflict_pk, here and below.
  private static final String CLAIM =
      "UPDATE {conflict} SET accepted_as = ? WHERE conflict_id = ? AND accepted_as IS NULL";

  private static final String CLAIMED =
      "SELECT accepted_as FROM {conflict} WHERE conflict_id = ? AND accepted_as IS NOT NULL";

  private static final String UNCLAIM =
      "UPDATE {conflict} SET accepted_as = NULL WHERE conflict_id = ? AND accepted_as = ?";

  private static final String FINISH =
      "DELETE FROM {conflict} WHERE conflict_id = ? AND accepted_as = ?";

  private static final String MESSAGE =
      """
      SELECT m.source, m.id FROM {conflict} c JOIN {message} m ON m.seq = c.seq
      WHERE c.conflict_id = ?
      """;

  private final Jdbc jdbc;

  ConflictClaims(Jdbc jdbc) {
    this.jdbc = jdbc;
  }

  /** The id that it is kept for, this one or another; empty if it is gone. */
  Optional<String> claim(long conflict, String newId, String actor, String reason) {
    return jdbc.transaction(
        session -> {
          // Who comes at the same moment waits here for the row, and then finds it claimed.
          if (session.update(CLAIM, params -> params.add(newId).add(conflict)) == 1) {
            audit(session, conflict, "accept", actor, reason);
          }
          return session.one(CLAIMED, params -> params.add(conflict), row -> row.getString(1));
        });
  }

  void unclaim(long conflict, String newId, String actor, String reason) {
    jdbc.transaction(
        session -> {
          boolean freed = session.update(UNCLAIM, params -> params.add(conflict).add(newId)) == 1;
          if (freed) {
            audit(session, conflict, "unaccept", actor, reason);
          }
          return freed;
        });
  }

  void finish(long conflict, String newId) {
    jdbc.transaction(session -> session.update(FINISH, params -> params.add(conflict).add(newId)));
  }

  private static void audit(
      Session session, long conflict, String action, String actor, String reason)
      throws SQLException {
    MessageRef message =
        session
            .one(
                MESSAGE,
                params -> params.add(conflict),
                row -> new MessageRef(row.getString(1), row.getString(2)))
            .orElseThrow();
    String subject = "conflict %d of %s".formatted(conflict, message);
    Audit.add(session, action, actor, reason, subject);
  }
}
