package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.admin.AuditEntry;
import dev.pigeonhole.store.AdminChange;
import java.sql.SQLException;
import java.util.List;
import java.util.Locale;

/** What was done by hand or by retention; each row commits together with what it tells of. */
final class Audit {

  private static final String INSERT =
      "INSERT INTO {audit} (done_at, actor, action, reason, subject)\n";

  private static final String ADD = INSERT + "VALUES ({now}, ?, ?, ?, ?)";

  // Indexes: poison_pk, message_pk, handler_pk.
  private static final String ADD_FORGOTTEN =
      INSERT
          + """
          SELECT {now}, 'retention', 'delete', 'keepPoisoned',
                 concat(m.source, '/', m.id, ' for handler ''', h.handler_key, '''')
          FROM {poison} p JOIN {message} m ON m.seq = p.seq JOIN {handler} h ON h.key_id = p.key_id
          WHERE p.seq IN (:seqs)
          """;

  // Index: audit_pk, from its end.
  private static final String NEWEST =
      """
      SELECT audit_id, done_at, actor, action, reason, subject FROM {audit}
      ORDER BY audit_id DESC LIMIT ?
      """;

  // Index: handler_pk.
  private static final String KEY = "SELECT handler_key FROM {handler} WHERE key_id = ?";

  private Audit() {}

  static void add(Session session, String action, String actor, String reason, String subject)
      throws SQLException {
    session.update(ADD, params -> params.add(actor).add(action).add(reason).add(subject));
  }

  static void add(Session session, AdminChange change, String subject) throws SQLException {
    String action = change.action().name().toLowerCase(Locale.ROOT);
    add(session, action, change.actor(), change.reason(), subject);
  }

  /** Tells of the poisoned deliveries of messages that retention is about to delete. */
  static void addForgotten(Session session, List<Long> seqs) throws SQLException {
    session.update(session.sql(ADD_FORGOTTEN).replace(":seqs", Lists.numbers(seqs)), params -> {});
  }

  /** A handler as subjects name it. */
  static String handler(Session session, int keyId) throws SQLException {
    String key = session.one(KEY, params -> params.add(keyId), row -> row.getString(1)).orElse("");
    return "handler '%s'".formatted(key);
  }

  static List<AuditEntry> newest(Session session, int limit) throws SQLException {
    return session.query(
        NEWEST,
        params -> params.add(limit),
        row ->
            new AuditEntry(
                row.getLong(1),
                session.time(row, 2),
                row.getString(3),
                row.getString(4),
                row.getString(5),
                row.getString(6)));
  }
}
