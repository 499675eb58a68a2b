package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.MessageRef;
import dev.pigeonhole.jdbc.internal.Statements.Added;
import dev.pigeonhole.store.AdminChange.Effect;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.Versions;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Messages that a handler gets once more, or for the first time. The message row is locked first
 * and the deliveries are looked at in a later statement, as the {@link Gate} does for a repeat.
 */
final class Replays {

  // Indexes: delivery_pk, later_pk.
  private static final String IS_OPEN =
      """
      SELECT seq FROM {delivery} WHERE lane = ? AND seq = ? AND handler IN (:kin)
      UNION ALL
      SELECT seq FROM {later} WHERE seq = ? AND handler IN (:kin)
      """;

  // Index: message_pk.
  private static final String LOCK =
      """
      SELECT lane, touched, source, id, dropped, edited, token FROM {message} WHERE seq = ? FOR UPDATE
      """;

  private static final String LOCK_IF_FREE = LOCK.stripTrailing() + " SKIP LOCKED";

  private static final String EXISTS = "SELECT 1 FROM {message} WHERE seq = ?";

  // Index: receipt_pk.
  private static final String FIRST_KEY =
      """
      SELECT key_id FROM {receipt} WHERE seq = ? AND handler IN (:kin)
      ORDER BY completed_at, key_id LIMIT 1
      """;

  // Index: receipt_pk.
  private static final String FORGET_RECEIPT =
      "DELETE FROM {receipt} WHERE seq = ? AND handler IN (:kin)";

  // Index: answer_pk.
  private static final String FORGET_ANSWER =
      "DELETE FROM {answer} WHERE seq = ? AND handler IN (:kin)";

  private static final String ADD =
      """
      INSERT INTO {later} (lane, handler, seq, version, key_id, key_hash, due_at, reason)
      WITH w (lane, handler, seq, version, key_id) AS (VALUES (:row))
      SELECT w.lane, w.handler, w.seq, w.version, w.key_id,
             (SELECT m.key_hash FROM {message} m WHERE m.seq = w.seq), {now}, 'replay'
      FROM w
      """;

  // Index: poison_pk.
  private static final String IS_POISONED =
      "SELECT 1 FROM {poison} WHERE seq = ? AND handler IN (:kin)";

  // Index: edit_pk.
  private static final String EDITED_FOR =
      """
      SELECT handler FROM {edit} WHERE seq = ? AND handler IN (:kin)
      ORDER BY CASE WHEN handler = ? THEN 0 ELSE 1 END, edited_at DESC
      """;

  private static final String MOVE_EDIT =
      "UPDATE {edit} SET handler = ? WHERE seq = ? AND handler = ?";

  private static final String TOUCH = "UPDATE {message} SET touched = touched + 1 WHERE seq = ?";

  private static final String TAKEN = "DELETE FROM {unhandled} WHERE seq = ?";

  private final Statements statements;
  private final Families families;

  Replays(Statements statements, Families families) {
    this.statements = statements;
    this.families = families;
  }

  private record Message(
      int lane, int touched, MessageRef ref, boolean dropped, boolean edited, long token) {}

  /** What came of it, and of which message. */
  record Replayed(Effect effect, MessageRef message) {}

  /**
   * Replays one message.
   *
   * @param waiting for whoever holds the message; one of many is left out instead, because others
   *     lock messages in another order
   */
  Replayed replay(Session session, long seq, HandlerId handler, boolean waiting)
      throws SQLException {
    Optional<Message> found =
        statements
            .guarded(
                session,
                waiting ? LOCK : LOCK_IF_FREE,
                params -> params.add(seq),
                row ->
                    new Message(
                        row.getInt(1),
                        row.getInt(2),
                        new MessageRef(row.getString(3), row.getString(4)),
                        row.getBoolean(5),
                        row.getBoolean(6),
                        row.getLong(7)))
            .stream()
            .findFirst();
    if (found.isEmpty()) {
      boolean there = session.one(EXISTS, params -> params.add(seq), row -> true).isPresent();
      return new Replayed(there ? Effect.IN_USE : Effect.GONE, new MessageRef("", "#" + seq));
    }
    Message message = found.get();
    return new Replayed(replay(session, seq, message, handler), message.ref());
  }

  private Effect replay(Session session, long seq, Message message, HandlerId handler)
      throws SQLException {
    if (message.dropped()) {
      return Effect.NO_CONTENT;
    }
    Set<Integer> kin = families.kin(handler.family());
    if (session
        .one(ofKin(session, IS_POISONED, kin), params -> params.add(seq), row -> true)
        .isPresent()) {
      return Effect.POISONED;
    }
    if (session
        .one(
            ofKin(session, IS_OPEN, kin),
            params -> params.add(message.lane()).add(seq).add(seq),
            row -> true)
        .isPresent()) {
      return Effect.OPEN;
    }
    if (message.touched() >= Versions.MOST_LIVES) {
      return Effect.TOO_OFTEN;
    }
    // The idempotency key is made of the handler's key; whoever has seen it must see it again.
    int keyId =
        session
            .one(ofKin(session, FIRST_KEY, kin), params -> params.add(seq), row -> row.getInt(1))
            .orElse(handler.keyId());
    int forgotten = session.update(ofKin(session, FORGET_RECEIPT, kin), params -> params.add(seq));
    session.update(ofKin(session, FORGET_ANSWER, kin), params -> params.add(seq));
    long version = Versions.ofLife(Versions.first(message.token()), message.touched() + 1);
    String row =
        "%d, %d, %d, %d, %d".formatted(message.lane(), handler.family(), seq, version, keyId);
    String insert =
        session.sql(ADD).replace(":row", row)
            + session.sql(Gate.STANDS_NOWHERE).replace(":same", "IN (" + Lists.numbers(kin) + ")");
    List<Added> added =
        statements.addMissing(
            session, "{later}", session.dialect.returning(insert, "handler, seq"), families::kin);
    if (added.isEmpty() && forgotten > 0) { // the receipts must come back: from the beginning
      throw new SQLException("An operator has revived what was about to be replayed", "40001");
    }
    if (added.isEmpty()) {
      return Effect.OPEN;
    }
    if (message.edited()) {
      bringEdit(session, seq, kin, handler.family());
    }
    session.update(TOUCH, params -> params.add(seq));
    session.update(TAKEN, params -> params.add(seq));
    return Effect.CHANGED;
  }

  /** A handler that got another number gets what was edited for it under a former one. */
  private static void bringEdit(Session session, long seq, Set<Integer> kin, int family)
      throws SQLException {
    Optional<Integer> edited =
        session.one(
            ofKin(session, EDITED_FOR, kin),
            params -> params.add(seq).add(family),
            row -> row.getInt(1));
    if (edited.isPresent() && edited.get() != family) {
      session.update(MOVE_EDIT, params -> params.add(family).add(seq).add(edited.get()));
    }
  }

  private static String ofKin(Session session, String template, Set<Integer> kin) {
    return session.sql(template).replace(":kin", Lists.numbers(kin));
  }
}
