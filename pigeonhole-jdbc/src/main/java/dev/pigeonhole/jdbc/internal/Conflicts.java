package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.MessageRef;
import dev.pigeonhole.admin.ConflictView;
import dev.pigeonhole.store.SecondCopy;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;

/**
 * Second copies with other content or another type that wait for an operator. To accept one, it is
 * first claimed under its new id. So it becomes one message, however often and by however many
 * operators this is tried.
 */
final class Conflicts {

  private static final String SELECT =
      """
      SELECT c.conflict_id, m.source, m.id, c.type, c.channel, c.transport, c.content_type,
             coalesce(octet_length(c.content), 0), c.received_at, c.accepted_as%s
      FROM {conflict} c JOIN {message} m ON m.seq = c.seq
      """;

  // Index: conflict_pk, from its end.
  private static final String NEWEST = SELECT.formatted("") + "ORDER BY c.conflict_id DESC LIMIT ?";

  // Index: conflict_copy.
  private static final String OF_MESSAGE =
      SELECT.formatted("") + "WHERE c.seq = ? ORDER BY c.conflict_id DESC";

  // Index: conflict_pk.
  private static final String WHOLE =
      SELECT.formatted(", c.content, c.headers, c.ordering_key, c.occurred_at")
          + "WHERE c.conflict_id = ?";

  // Index: conflict_pk, here and below.
  private static final String CLAIM =
      "UPDATE {conflict} SET accepted_as = ? WHERE conflict_id = ? AND accepted_as IS NULL";

  private static final String CLAIMED =
      "SELECT accepted_as FROM {conflict} WHERE conflict_id = ? AND accepted_as IS NOT NULL";

  private static final String UNCLAIM =
      "UPDATE {conflict} SET accepted_as = NULL WHERE conflict_id = ? AND accepted_as = ?";

  private static final String FINISH =
      "DELETE FROM {conflict} WHERE conflict_id = ? AND accepted_as = ?";

  private static final String DELETE =
      "DELETE FROM {conflict} WHERE conflict_id = ? AND accepted_as IS NULL";

  private final Jdbc jdbc;

  Conflicts(Jdbc jdbc) {
    this.jdbc = jdbc;
  }

  List<ConflictView> newest(int limit) {
    return jdbc.read(
        session -> session.query(NEWEST, params -> params.add(limit), row -> view(session, row)));
  }

  static List<ConflictView> of(Session session, long seq) throws SQLException {
    return session.query(OF_MESSAGE, params -> params.add(seq), row -> view(session, row));
  }

  Optional<SecondCopy> find(long conflict) {
    return jdbc.read(session -> find(session, conflict));
  }

  private static Optional<SecondCopy> find(Session session, long conflict) throws SQLException {
    return session.one(
        WHOLE,
        params -> params.add(conflict),
        row ->
            new SecondCopy(
                view(session, row),
                row.getBytes(11),
                row.getBytes(12),
                row.getString(13),
                session.dialect.read(row, 14)));
  }

  private static ConflictView view(Session session, ResultSet row) throws SQLException {
    return new ConflictView(
        row.getLong(1),
        new MessageRef(row.getString(2), row.getString(3)),
        row.getString(4),
        row.getString(5),
        row.getString(6),
        row.getString(7),
        row.getLong(8),
        session.time(row, 9),
        Optional.ofNullable(row.getString(10)));
  }

  /** The id that it is kept for, this one or another; empty if it is gone. */
  Optional<String> claim(long conflict, String newId, String actor, String reason) {
    return jdbc.transaction(
        session -> {
          // Who comes at the same moment waits here for the row, and then finds it claimed.
          if (session.update(CLAIM, params -> params.add(newId).add(conflict)) == 1) {
            audit(session, find(session, conflict), "accept", actor, reason);
          }
          return session.one(CLAIMED, params -> params.add(conflict), row -> row.getString(1));
        });
  }

  void unclaim(long conflict, String newId, String actor, String reason) {
    jdbc.transaction(
        session -> {
          boolean freed = session.update(UNCLAIM, params -> params.add(conflict).add(newId)) == 1;
          if (freed) {
            audit(session, find(session, conflict), "unaccept", actor, reason);
          }
          return freed;
        });
  }

  void finish(long conflict, String newId) {
    jdbc.transaction(session -> session.update(FINISH, params -> params.add(conflict).add(newId)));
  }

  boolean dismiss(long conflict, String actor, String reason) {
    return jdbc.transaction(
        session -> {
          Optional<SecondCopy> copy = find(session, conflict);
          boolean ended =
              session.update(DELETE, params -> params.add(conflict)) == 1 && copy.isPresent();
          if (ended) {
            audit(session, copy, "dismiss", actor, reason);
          }
          return ended;
        });
  }

  private static void audit(
      Session session, Optional<SecondCopy> copy, String action, String actor, String reason)
      throws SQLException {
    ConflictView view = copy.orElseThrow().view();
    String subject = "conflict %d of %s".formatted(view.conflict(), view.message());
    Audit.add(session, action, actor, reason, subject);
  }
}
