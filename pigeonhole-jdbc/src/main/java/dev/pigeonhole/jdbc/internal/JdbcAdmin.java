package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.Failure;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.admin.ConflictView;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.admin.HandlerCounts;
import dev.pigeonhole.admin.Pause;
import dev.pigeonhole.store.AdminQueries;
import dev.pigeonhole.store.CrashPoints;
import dev.pigeonhole.store.NodeRow;
import dev.pigeonhole.store.SecondCopy;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What operators see and change. */
final class JdbcAdmin implements AdminQueries {

  private static final String COUNTS =
      """
      SELECT h.handler_key, c.state, c.n
      FROM (SELECT key_id, 'pending' AS state, count(*) AS n FROM {delivery} GROUP BY key_id
            UNION ALL
            SELECT key_id, 'due', count(*) FROM {later} WHERE due_at <= {now} GROUP BY key_id
            UNION ALL
            SELECT key_id, 'scheduled', count(*) FROM {later} WHERE due_at > {now} GROUP BY key_id
            UNION ALL
            SELECT key_id, 'blocked', count(*) FROM {later} WHERE due_at IS NULL GROUP BY key_id
            UNION ALL
            SELECT key_id, 'completed', count(*) FROM {receipt} GROUP BY key_id
            UNION ALL
            SELECT key_id, 'poisoned', count(*) FROM {poison} GROUP BY key_id) c
      JOIN {handler} h ON h.key_id = c.key_id
      """;

  private static final String KEYS = "SELECT handler_key FROM {handler} ORDER BY key_id";

  // Index: message_identity.
  private static final String MESSAGE =
      "SELECT seq, lane, received_at, {now} FROM {message} WHERE source = ? AND id = ?";

  // Indexes: delivery_pk, later_pk, poison_pk, receipt_pk; one of the four holds the family, or two
  // of its kin, each in one, if the message came while they were apart.
  private static final String STATE =
      """
      SELECT s.state, s.due_at, s.ended_at, s.failures, s.crashes, s.releases, h.handler_key, s.handler
      FROM (SELECT 'd' AS state, CAST(NULL AS :time) AS due_at, CAST(NULL AS :time) AS ended_at,
                   failures, crashes, releases, key_id, handler
            FROM {delivery} WHERE lane = :lane AND seq = :seq AND handler IN (:kin)
            UNION ALL
            SELECT 'l', due_at, CAST(NULL AS :time), failures, crashes, releases, key_id, handler
            FROM {later} WHERE seq = :seq AND handler IN (:kin)
            UNION ALL
            SELECT 'p', CAST(NULL AS :time), poisoned_at, failures, crashes, releases, key_id, handler
            FROM {poison} WHERE seq = :seq AND handler IN (:kin)
            UNION ALL
            SELECT CASE WHEN outcome = 1 THEN 'x' ELSE 'r' END, CAST(NULL AS :time), completed_at, failures, crashes, releases, key_id, handler
            FROM {receipt} WHERE seq = :seq AND handler IN (:kin)) s
      JOIN {handler} h ON h.key_id = s.key_id
      ORDER BY CASE WHEN s.handler = ? THEN 0 ELSE 1 END
      """;

  private static final String POISONED =
      """
      SELECT m.source, m.id, m.received_at, h.handler_key, p.failures, p.crashes, p.releases, p.poisoned_at,
             p.error_code, p.error_type, p.error_text, p.stack, p.fingerprint, p.failed_at
      FROM {poison} p
      JOIN {message} m ON m.seq = p.seq
      JOIN {handler} h ON h.key_id = p.key_id
      %s
      ORDER BY p.poisoned_at DESC, p.seq DESC
      LIMIT ?
      """;

  private static final String POISONED_OF_ALL = POISONED.formatted("");
  private static final String POISONED_OF_ONE = POISONED.formatted("WHERE p.handler IN (:kin)");

  // Index: poison_pk.
  private static final String LOCK_POISON =
      """
      SELECT lane, handler, version, key_id, releases, key_hash, failures, crashes
      FROM {poison} WHERE seq = ? AND handler IN (:kin)
      ORDER BY CASE WHEN handler = ? THEN 0 ELSE 1 END
      FOR UPDATE
      """;

  private static final String DELETE_POISON = "DELETE FROM {poison} WHERE seq = ? AND handler = ?";

  private static final String REVIVE =
      """
      INSERT INTO {later} (lane, handler, seq, version, key_id, releases, key_hash, due_at, reason)
      VALUES (?, ?, ?, ?, ?, ?, ?, {now}, 'operator')
      """;

  private static final String RECEIPT =
      """
      INSERT INTO {receipt} (seq, handler, key_id, failures, crashes, releases, outcome, completed_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, {now})
      """;

  // Index: later_key, poison_key. What stands behind another poisoned row stays blocked.
  private static final String RELEASE_BLOCKED =
      """
      UPDATE {later} l SET due_at = {now}
      WHERE l.handler = ? AND l.key_hash = ? AND l.seq > ? AND l.due_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM {poison} p
                        WHERE p.handler = l.handler AND p.key_hash = l.key_hash AND p.seq < l.seq)
      """;

  private static final String KEY = "SELECT handler_key FROM {handler} WHERE key_id = ?";

  private static final String AUDIT =
      "INSERT INTO {audit} (done_at, actor, action, reason, subject) VALUES ({now}, ?, ?, ?, ?)";

  // Index: conflict_pk.
  private static final String CONFLICTS =
      """
      SELECT c.conflict_id, m.source, m.id, c.type, c.channel, c.transport, c.content_type,
             coalesce(octet_length(c.content), 0), c.received_at%s
      FROM {conflict} c JOIN {message} m ON m.seq = c.seq
      """;

  private static final String NEWEST_CONFLICTS =
      CONFLICTS.formatted("") + "ORDER BY c.conflict_id DESC LIMIT ?";

  private static final String CONFLICT =
      CONFLICTS.formatted(", c.content, c.headers, c.ordering_key, c.occurred_at")
          + "WHERE c.conflict_id = ?";

  private static final String END_CONFLICT = "DELETE FROM {conflict} WHERE conflict_id = ?";

  // A family bears the number of its first key.
  private static final String LOCK_HANDLERS =
      "SELECT key_id FROM {handler} WHERE key_id IN (:kin) ORDER BY key_id FOR UPDATE";

  private static final String IS_PAUSED = "SELECT handler FROM {pause} WHERE handler IN (:kin)";

  private static final String PAUSE =
      "INSERT INTO {pause} (handler, since, key_id, actor, reason) VALUES (?, {now}, ?, ?, ?)";

  private static final String RESUME = "DELETE FROM {pause} WHERE handler IN (:kin)";

  // One row for each family that counts as the handler; they were written together.
  private static final String PAUSES =
      """
      SELECT h.handler_key, p.since, p.actor, p.reason
      FROM {pause} p JOIN {handler} h ON h.key_id = p.key_id
      ORDER BY p.since, h.handler_key
      """;

  private static final String OPEN =
      """
      SELECT (SELECT count(*) FROM {delivery} WHERE key_id = ?)
           + (SELECT count(*) FROM {later} WHERE key_id = ?)
      """;

  private final Jdbc jdbc;
  private final Families families;
  private final Statements statements;

  JdbcAdmin(Jdbc jdbc, Families families, Statements statements) {
    this.jdbc = jdbc;
    this.families = families;
    this.statements = statements;
  }

  @Override
  public List<HandlerCounts> counts() {
    return jdbc.read(
        session -> {
          Map<String, Map<String, Long>> found = new HashMap<>();
          session.query(
              COUNTS,
              params -> {},
              row ->
                  found
                      .computeIfAbsent(row.getString(1), key -> new HashMap<>())
                      .put(row.getString(2), row.getLong(3)));
          return session.query(KEYS, params -> {}, row -> row.getString(1)).stream()
              .map(key -> counts(key, found.getOrDefault(key, Map.of())))
              .toList();
        });
  }

  private static HandlerCounts counts(String key, Map<String, Long> found) {
    return new HandlerCounts(
        key,
        found.getOrDefault("pending", 0L) + found.getOrDefault("due", 0L),
        found.getOrDefault("scheduled", 0L),
        0,
        found.getOrDefault("blocked", 0L),
        found.getOrDefault("completed", 0L),
        found.getOrDefault("poisoned", 0L));
  }

  private record Stored(long seq, int lane, Instant receivedAt, Instant now) {}

  private Optional<Stored> message(Session session, String source, String id) throws SQLException {
    return statements
        .guarded(
            session,
            MESSAGE,
            params -> params.add(source).add(id),
            row ->
                new Stored(
                    row.getLong(1), row.getInt(2), session.time(row, 3), session.time(row, 4)))
        .stream()
        .findFirst();
  }

  @Override
  public Optional<DeliveryView> find(String source, String id, int family) {
    return jdbc.read(
        session -> {
          Optional<Stored> message = message(session, source, id);
          if (message.isEmpty()) {
            return Optional.empty();
          }
          Stored stored = message.get();
          Map<List<Long>, Failure> failures =
              JdbcDeliveries.newestFailures(session, statements, List.of(stored.seq()));
          String text =
              ofKin(session, STATE, family)
                  .replace(":time", session.dialect.timeType())
                  .replace(":lane", String.valueOf(stored.lane()))
                  .replace(":seq", String.valueOf(stored.seq()));
          return statements
              .guarded(
                  session,
                  text,
                  params -> params.add(family),
                  row -> view(session, row, new MessageRef(source, id), stored, failures))
              .stream()
              .findFirst();
        });
  }

  /** The statement for all families that count as this one. */
  private String ofKin(Session session, String template, int family) {
    return session.sql(template).replace(":kin", Lists.numbers(families.kin(family)));
  }

  private static DeliveryView view(
      Session session,
      ResultSet row,
      MessageRef ref,
      Stored stored,
      Map<List<Long>, Failure> failures)
      throws SQLException {
    Instant due = session.dialect.read(row, 2);
    DeliveryState state = state(row.getString(1), due, stored.now());
    return new DeliveryView(
        ref,
        row.getString(7),
        state,
        row.getInt(4),
        row.getInt(5),
        row.getInt(6),
        stored.receivedAt(),
        state == DeliveryState.SCHEDULED ? Optional.ofNullable(due) : Optional.empty(),
        Optional.ofNullable(session.dialect.read(row, 3)),
        Optional.ofNullable(failures.get(List.of(stored.seq(), row.getLong(8)))));
  }

  private static DeliveryState state(String table, @Nullable Instant due, Instant now) {
    return switch (table) {
      case "d" -> DeliveryState.PENDING;
      case "p" -> DeliveryState.POISONED;
      case "r" -> DeliveryState.COMPLETED;
      case "x" -> DeliveryState.DISCARDED;
      default ->
          due == null
              ? DeliveryState.BLOCKED
              : due.isAfter(now) ? DeliveryState.SCHEDULED : DeliveryState.PENDING;
    };
  }

  @Override
  public List<DeliveryView> poisoned(@Nullable Integer family, int limit) {
    return jdbc.read(
        session ->
            session.query(
                family == null ? POISONED_OF_ALL : ofKin(session, POISONED_OF_ONE, family),
                params -> params.add(limit),
                row ->
                    new DeliveryView(
                        new MessageRef(row.getString(1), row.getString(2)),
                        row.getString(4),
                        DeliveryState.POISONED,
                        row.getInt(5),
                        row.getInt(6),
                        row.getInt(7),
                        session.time(row, 3),
                        Optional.empty(),
                        Optional.of(session.time(row, 8)),
                        Optional.of(JdbcDeliveries.failure(session, row, 9)))));
  }

  @Override
  public boolean retry(String source, String id, int family, String actor, String reason) {
    return jdbc.transaction(
        session ->
            change(
                session,
                new Change(source, id, family, "retry", actor, reason),
                head ->
                    session.update(
                        REVIVE,
                        params ->
                            params
                                .add(head.lane())
                                .add(head.handler())
                                .add(head.seq())
                                .add(head.version() + 1)
                                .add(head.keyId())
                                .add(head.releases())
                                .add(head.keyHash()))));
  }

  @Override
  public boolean end(
      String source, String id, int family, boolean discarded, String actor, String reason) {
    return jdbc.transaction(
        session ->
            change(
                session,
                new Change(source, id, family, discarded ? "discard" : "complete", actor, reason),
                head ->
                    session.update(
                        RECEIPT,
                        params ->
                            params
                                .add(head.seq())
                                .add(head.handler())
                                .add(head.keyId())
                                .add(head.failures())
                                .add(head.crashes())
                                .add(head.releases())
                                .add(discarded ? 1 : 0))));
  }

  /** What an operator wants to become of one poisoned delivery. */
  private record Change(
      String source, String id, int family, String action, String actor, String reason) {}

  private record Poisoned(
      long seq,
      int lane,
      int handler,
      int version,
      int keyId,
      int releases,
      @Nullable Long keyHash,
      int failures,
      int crashes) {}

  private interface Successor {
    void insert(Poisoned was) throws SQLException;
  }

  /** Puts something else in the place of a poisoned delivery; false if there is none. */
  private boolean change(Session session, Change change, Successor successor) throws SQLException {
    Optional<Stored> message = message(session, change.source(), change.id());
    if (message.isEmpty()) {
      return false;
    }
    long seq = message.get().seq();
    Optional<Poisoned> poisoned =
        session.one(
            ofKin(session, LOCK_POISON, change.family()),
            params -> params.add(seq).add(change.family()),
            row ->
                new Poisoned(
                    seq,
                    row.getInt(1),
                    row.getInt(2),
                    row.getInt(3),
                    row.getInt(4),
                    row.getInt(5),
                    Session.longOrNull(row, 6),
                    row.getInt(7),
                    row.getInt(8)));
    if (poisoned.isEmpty()) {
      return false;
    }
    Poisoned head = poisoned.get();
    session.update(DELETE_POISON, params -> params.add(seq).add(head.handler()));
    successor.insert(head);
    Long keyHash = head.keyHash();
    if (keyHash != null) {
      session.update(
          RELEASE_BLOCKED, params -> params.add(head.handler()).add(keyHash.longValue()).add(seq));
    }
    String subject =
        "%s for handler '%s'"
            .formatted(new MessageRef(change.source(), change.id()), key(session, head.keyId()));
    session.update(
        AUDIT,
        params ->
            params.add(change.actor()).add(change.action()).add(change.reason()).add(subject));
    CrashPoints.reach("retry.before-commit");
    return true;
  }

  @Override
  public List<ConflictView> conflicts(int limit) {
    return jdbc.read(
        session ->
            session.query(
                NEWEST_CONFLICTS, params -> params.add(limit), row -> conflict(session, row)));
  }

  @Override
  public Optional<SecondCopy> conflict(long conflict) {
    return jdbc.read(session -> conflict(session, conflict));
  }

  private static Optional<SecondCopy> conflict(Session session, long conflict) throws SQLException {
    return session.one(
        CONFLICT,
        params -> params.add(conflict),
        row ->
            new SecondCopy(
                conflict(session, row),
                row.getBytes(10),
                row.getBytes(11),
                row.getString(12),
                session.dialect.read(row, 13)));
  }

  private static ConflictView conflict(Session session, ResultSet row) throws SQLException {
    return new ConflictView(
        row.getLong(1),
        new MessageRef(row.getString(2), row.getString(3)),
        row.getString(4),
        row.getString(5),
        row.getString(6),
        row.getString(7),
        row.getLong(8),
        session.time(row, 9));
  }

  @Override
  public boolean endConflict(long conflict, String action, String actor, String reason) {
    return jdbc.transaction(
        session -> {
          Optional<SecondCopy> copy = conflict(session, conflict);
          boolean ended =
              session.update(END_CONFLICT, params -> params.add(conflict)) == 1 && copy.isPresent();
          if (ended) {
            String subject = "conflict %d of %s".formatted(conflict, copy.get().view().message());
            session.update(AUDIT, params -> params.add(actor).add(action).add(reason).add(subject));
          }
          return ended;
        });
  }

  @Override
  public boolean pause(int family, int keyId, String actor, String reason) {
    return jdbc.transaction(
        session -> {
          // Two that pause it at once wait for each other here.
          session.query(ofKin(session, LOCK_HANDLERS, family), none -> {}, row -> row.getInt(1));
          if (session.one(ofKin(session, IS_PAUSED, family), none -> {}, row -> 1).isPresent()) {
            return false;
          }
          for (int each : families.kin(family)) {
            session.update(PAUSE, params -> params.add(each).add(keyId).add(actor).add(reason));
          }
          audit(session, "pause", keyId, actor, reason);
          return true;
        });
  }

  @Override
  public boolean resume(int family, int keyId, String actor, String reason) {
    return jdbc.transaction(
        session -> {
          boolean resumed = session.update(ofKin(session, RESUME, family), params -> {}) > 0;
          if (resumed) {
            audit(session, "resume", keyId, actor, reason);
          }
          return resumed;
        });
  }

  private static void audit(Session session, String action, int keyId, String actor, String reason)
      throws SQLException {
    String subject = "handler '%s'".formatted(key(session, keyId));
    session.update(AUDIT, params -> params.add(actor).add(action).add(reason).add(subject));
  }

  private static String key(Session session, int keyId) throws SQLException {
    return session.one(KEY, params -> params.add(keyId), row -> row.getString(1)).orElse("");
  }

  @Override
  public List<Pause> paused() {
    return jdbc.read(
        session ->
            session
                .query(
                    PAUSES,
                    params -> {},
                    row ->
                        new Pause(
                            row.getString(1),
                            session.time(row, 2),
                            row.getString(3),
                            row.getString(4)))
                .stream()
                .distinct()
                .toList());
  }

  @Override
  public long open(int keyId) {
    return jdbc.read(
        session ->
            session
                .one(OPEN, params -> params.add(keyId).add(keyId), row -> row.getLong(1))
                .orElse(0L));
  }

  @Override
  public List<NodeRow> nodes() {
    return jdbc.read(JdbcNodes::read);
  }

  @Override
  public long messages() {
    return jdbc.read(
        session ->
            session
                .one("SELECT count(*) FROM {message}", params -> {}, row -> row.getLong(1))
                .orElse(0L));
  }
}
