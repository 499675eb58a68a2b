package dev.pigeonhole.jdbc.internal;

import java.sql.SQLException;
import java.time.Instant;
import java.util.List;

/** Answers of guards whose time is over. Their receipts stay, so a repeat is still one. */
final class OldAnswers {

  // Index: answer_until. What somebody is writing anew is not old, and not waited for.
  private static final String NEXT =
      """
      SELECT seq, handler FROM {answer} WHERE keep_until <= ?
      ORDER BY keep_until LIMIT ? FOR UPDATE SKIP LOCKED
      """;

  // Index: answer_pk.
  private static final String FORGET = "DELETE FROM {answer} WHERE seq = ? AND handler = ?";

  private record Answer(long seq, int handler) {}

  private OldAnswers() {}

  /** Deletes up to so many; answers whether there may be more. */
  static boolean forget(Session session, Instant now, int limit) throws SQLException {
    List<Answer> old =
        session.query(
            NEXT,
            params -> params.add(now).add(limit),
            row -> new Answer(row.getLong(1), row.getInt(2)));
    session.batch(FORGET, old, (params, each) -> params.add(each.seq()).add(each.handler()));
    return old.size() == limit;
  }
}
