package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.Failure;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.admin.AuditEntry;
import dev.pigeonhole.admin.BlockedKey;
import dev.pigeonhole.admin.ConflictView;
import dev.pigeonhole.admin.Count;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.admin.HandlerCounts;
import dev.pigeonhole.admin.HandlerLag;
import dev.pigeonhole.admin.MessageView;
import dev.pigeonhole.admin.Pause;
import dev.pigeonhole.store.AdminChange;
import dev.pigeonhole.store.AdminChange.Action;
import dev.pigeonhole.store.AdminChange.Effect;
import dev.pigeonhole.store.AdminQueries;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellRow;
import dev.pigeonhole.store.CrashPoints;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.DeliveryFilter;
import dev.pigeonhole.store.EditedContent;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.Listed;
import dev.pigeonhole.store.MessageFilter;
import dev.pigeonhole.store.MessageState;
import dev.pigeonhole.store.NodeRow;
import dev.pigeonhole.store.Operation;
import dev.pigeonhole.store.Place;
import dev.pigeonhole.store.PoisonSample;
import dev.pigeonhole.store.Range;
import dev.pigeonhole.store.SecondCopy;
import dev.pigeonhole.store.Slice;
import dev.pigeonhole.store.TypeCount;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** What operators see and change. */
final class JdbcAdmin implements AdminQueries {

  /** Of receipts, which no index finds by handler, only so many of the newest are looked at. */
  private static final int NEWEST_RECEIPTS = 100_000;

  private static final String LANES = "SELECT lanes FROM {inbox} WHERE id = 1";

  private static final String FAMILIES = "SELECT DISTINCT family FROM {handler}";

  // Indexes: delivery_pk, later_due, poison_key; each is read no further than the bound.
  private static final String COUNTS =
      """
      SELECT 'pending', key_id, count(*)
      FROM (SELECT key_id FROM {delivery} WHERE handler = :family AND lane IN (:lanes) LIMIT :most) d
      GROUP BY key_id
      UNION ALL
      SELECT 'placed', key_id, count(*)
      FROM (SELECT key_id FROM {later}
            WHERE handler = :family AND lane IN (:lanes) AND place > 0 LIMIT :most) p
      GROUP BY key_id
      UNION ALL
      SELECT 'due', key_id, count(*)
      FROM (SELECT key_id FROM {later}
            WHERE handler = :family AND lane IN (:lanes) AND place = 0 AND due_at <= {now} LIMIT :most) l
      GROUP BY key_id
      UNION ALL
      SELECT 'scheduled', key_id, count(*)
      FROM (SELECT key_id FROM {later}
            WHERE handler = :family AND lane IN (:lanes) AND place = 0 AND due_at > {now} LIMIT :most) s
      GROUP BY key_id
      UNION ALL
      SELECT 'blocked', key_id, count(*)
      FROM (SELECT key_id FROM {later}
            WHERE handler = :family AND lane IN (:lanes) AND place = 0 AND due_at IS NULL LIMIT :most) b
      GROUP BY key_id
      UNION ALL
      SELECT 'poisoned', key_id, count(*)
      FROM (SELECT key_id FROM {poison} WHERE handler = :family LIMIT :most) p
      GROUP BY key_id
      """;

  // Index: receipt_pk, from its end.
  private static final String COUNT_RECEIPTS =
      """
      SELECT 'completed', key_id, count(*)
      FROM (SELECT key_id FROM {receipt} ORDER BY seq DESC LIMIT ?) r
      GROUP BY key_id
      """;

  // Index: later_due.
  private static final String OLDEST_DUE =
      """
      SELECT handler, min(due_at) FROM {later}
      WHERE handler IN (:families) AND lane IN (:lanes) AND place = 0 AND due_at <= {now}
      GROUP BY handler
      UNION ALL
      SELECT handler, min(due_at) FROM {later}
      WHERE handler IN (:families) AND lane IN (:lanes) AND place > 0
      GROUP BY handler
      """;

  // Index: message_pk.
  private static final String RECEIVED = "SELECT seq, received_at FROM {message} WHERE seq :seqs";

  private static final String AUDIT_ROWS =
      """
      SELECT audit_id, done_at, actor, action, reason, subject FROM {audit}
      ORDER BY audit_id DESC LIMIT ?
      """;

  private static final String CELLS =
      "SELECT lane, handler, owner, token, unclean FROM {lane} ORDER BY handler, lane";

  private static final String PAUSED_FAMILIES = "SELECT handler FROM {pause}";

  private static final String KEYS =
      "SELECT key_id, handler_key, family FROM {handler} ORDER BY key_id";

  // Index: message_identity.
  private static final String MESSAGE =
      "SELECT seq, lane, type, received_at, {now} FROM {message} WHERE source = ? AND id = ?";

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
             p.error_code, p.error_type, p.error_text, p.stack, p.fingerprint, p.failed_at, m.type
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

  private static final String KEY = "SELECT handler_key FROM {handler} WHERE key_id = ?";

  private static final String AUDIT =
      "INSERT INTO {audit} (done_at, actor, action, reason, subject) VALUES ({now}, ?, ?, ?, ?)";

  // Index: message_pk.
  private static final String LOCK_MESSAGE = "SELECT seq FROM {message} WHERE seq = ? FOR UPDATE";

  // Index: message_pk.
  private static final String REF = "SELECT source, id FROM {message} WHERE seq = ?";

  // Index: edit_pk.
  private static final String FORGET_EDIT = "DELETE FROM {edit} WHERE seq = ? AND handler = ?";

  private static final String EDIT =
      """
      INSERT INTO {edit} (seq, handler, content, content_hash, actor, reason, edited_at)
      VALUES (?, ?, ?, ?, ?, ?, {now})
      """;

  private static final String EDITED = "UPDATE {message} SET edited = TRUE WHERE seq = ?";

  // Index: conflict_pk.
  private static final String CONFLICTS =
      """
      SELECT c.conflict_id, m.source, m.id, c.type, c.channel, c.transport, c.content_type,
             coalesce(octet_length(c.content), 0), c.received_at%s
      FROM {conflict} c JOIN {message} m ON m.seq = c.seq
      """;

  private static final String NEWEST_CONFLICTS =
      CONFLICTS.formatted("") + "ORDER BY c.conflict_id DESC LIMIT ?";

  // Index: conflict_copy.
  private static final String CONFLICTS_OF =
      CONFLICTS.formatted("") + "WHERE c.seq = ? ORDER BY c.conflict_id DESC";

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
  private final JdbcPruning pruning;
  private final KeyGates gates;
  private final KeyAdmin keys;
  private final AdminLists lists;
  private final AdminDetail detail;
  private final Operations operations;
  private final Replays replays;
  private final BoundedCounts bounded;

  JdbcAdmin(
      Jdbc jdbc,
      Families families,
      Statements statements,
      JdbcPruning pruning,
      KeyGates gates,
      KeyAdmin keys) {
    this.jdbc = jdbc;
    this.families = families;
    this.statements = statements;
    this.pruning = pruning;
    this.gates = gates;
    this.keys = keys;
    this.lists = new AdminLists(jdbc, families, statements);
    this.detail = new AdminDetail(jdbc, lists, statements);
    this.operations = new Operations(jdbc);
    this.replays = new Replays(statements, families);
    this.bounded = new BoundedCounts(jdbc, statements);
  }

  private record Key(int keyId, String text, int family) {}

  private static List<Key> keys(Session session) throws SQLException {
    return session.query(
        KEYS, params -> {}, row -> new Key(row.getInt(1), row.getString(2), row.getInt(3)));
  }

  private static String lanes(Session session) throws SQLException {
    int lanes = session.one(LANES, params -> {}, row -> row.getInt(1)).orElse(1);
    return Lists.numbers(IntStream.range(0, lanes).boxed().toList());
  }

  @Override
  public List<HandlerCounts> counts(int most) {
    return jdbc.read(
        session -> {
          String lanes = lanes(session);
          List<Key> all = keys(session);
          Map<Integer, Map<String, Count>> found = new HashMap<>();
          for (int family : session.query(FAMILIES, params -> {}, row -> row.getInt(1))) {
            String text =
                session
                    .sql(COUNTS)
                    .replace(":family", String.valueOf(family))
                    .replace(":lanes", lanes)
                    .replace(":most", String.valueOf(most + 1));
            List<Integer> ofFamily =
                all.stream().filter(key -> key.family() == family).map(Key::keyId).toList();
            count(session, text, params -> {}, most, ofFamily, found);
          }
          int receipts = Math.max(most, NEWEST_RECEIPTS);
          count(
              session,
              COUNT_RECEIPTS,
              params -> params.add(receipts + 1),
              receipts,
              all.stream().map(Key::keyId).toList(),
              found);
          return all.stream()
              .map(key -> counts(key.text(), found.getOrDefault(key.keyId(), Map.of()), most))
              .toList();
        });
  }

  /** Where a bound was reached, it was for all keys together: each may have more. */
  private void count(
      Session session,
      String text,
      Session.Bind bind,
      int most,
      List<Integer> keyIds,
      Map<Integer, Map<String, Count>> found)
      throws SQLException {
    record Row(String state, int keyId, long count) {}
    List<Row> rows =
        session.query(text, bind, row -> new Row(row.getString(1), row.getInt(2), row.getLong(3)));
    Map<String, Long> sums =
        rows.stream()
            .collect(Collectors.groupingBy(Row::state, Collectors.summingLong(Row::count)));
    sums.forEach(
        (state, sum) -> {
          for (int keyId : keyIds) {
            long own =
                rows.stream()
                    .filter(row -> row.keyId() == keyId && row.state().equals(state))
                    .mapToLong(Row::count)
                    .sum();
            found
                .computeIfAbsent(keyId, any -> new HashMap<>())
                .put(state, new Count(Math.min(most, own), sum > most));
          }
        });
  }

  private static HandlerCounts counts(String key, Map<String, Count> found, int most) {
    Count none = Count.of(0);
    Count ready =
        Stream.of("pending", "placed", "due")
            .map(state -> found.getOrDefault(state, none))
            .reduce(none, Count::plus);
    return new HandlerCounts(
        key,
        atMost(most, ready),
        found.getOrDefault("scheduled", none),
        none,
        none,
        found.getOrDefault("blocked", none),
        atMost(most, found.getOrDefault("completed", none)),
        found.getOrDefault("poisoned", none));
  }

  private static Count atMost(int most, Count count) {
    return count.value() > most ? new Count(most, true) : count;
  }

  @Override
  public List<HandlerLag> lag() {
    return jdbc.read(
        session -> {
          Map<Integer, Key> newest = new TreeMap<>();
          keys(session).forEach(key -> newest.put(key.family(), key));
          if (newest.isEmpty()) {
            return List.of();
          }
          Instant now = session.now();
          Map<Integer, Instant> oldest = oldestFresh(session, newest.keySet());
          session.query(
              session
                  .sql(OLDEST_DUE)
                  .replace(":families", Lists.numbers(newest.keySet()))
                  .replace(":lanes", lanes(session)),
              params -> {},
              row -> oldest.merge(row.getInt(1), session.time(row, 2), JdbcAdmin::earlier));
          return newest.values().stream()
              .map(key -> lag(key.text(), oldest.get(key.family()), now))
              .toList();
        });
  }

  /** The first row of each cell tells; numbers follow the time of receipt. */
  private Map<Integer, Instant> oldestFresh(Session session, Set<Integer> wanted)
      throws SQLException {
    List<Range> firsts =
        session.query(CELLS, params -> {}, row -> new Cell(row.getInt(1), row.getInt(2))).stream()
            .filter(cell -> wanted.contains(cell.handler()))
            .map(cell -> Range.after(cell, 0, 1))
            .toList();
    Map<Integer, Long> lowest = new HashMap<>();
    if (!firsts.isEmpty()) {
      for (Delivery each : statements.fresh(session, firsts)) {
        lowest.merge(each.cell().handler(), each.seq(), Math::min);
      }
    }
    Map<Long, Instant> received = new HashMap<>();
    if (!lowest.isEmpty()) {
      statements.bySeqs(
          session,
          RECEIVED,
          lowest.values(),
          row -> received.put(row.getLong(1), session.time(row, 2)));
    }
    Map<Integer, Instant> oldest = new HashMap<>();
    lowest.forEach(
        (family, seq) -> {
          Instant time = received.get(seq);
          if (time != null) {
            oldest.put(family, time);
          }
        });
    return oldest;
  }

  private static Instant earlier(Instant one, Instant other) {
    return one.isBefore(other) ? one : other;
  }

  private static HandlerLag lag(String key, @Nullable Instant oldest, Instant now) {
    return new HandlerLag(
        key,
        Optional.ofNullable(oldest),
        oldest == null || oldest.isAfter(now) ? Duration.ZERO : Duration.between(oldest, now));
  }

  @Override
  public List<Listed<DeliveryView>> deliveries(DeliveryFilter filter, Slice slice) {
    return lists.deliveries(filter, slice);
  }

  @Override
  public long count(DeliveryFilter filter, int most) {
    return lists.count(filter, most);
  }

  @Override
  public List<PoisonSample> failures(DeliveryFilter filter, int most) {
    return lists.failures(filter, most);
  }

  @Override
  public List<Listed<MessageView>> messages(MessageFilter filter, Slice slice) {
    return lists.messages(filter, slice);
  }

  @Override
  public long count(MessageFilter filter, int most) {
    return lists.count(filter, most);
  }

  @Override
  public Optional<MessageState> message(String source, String id) {
    return detail.message(source, id);
  }

  @Override
  public List<AuditEntry> audit(int limit) {
    return jdbc.read(
        session ->
            session.query(
                AUDIT_ROWS,
                params -> params.add(limit),
                row ->
                    new AuditEntry(
                        row.getLong(1),
                        session.time(row, 2),
                        row.getString(3),
                        row.getString(4),
                        row.getString(5),
                        row.getString(6))));
  }

  @Override
  public List<CellRow> cells() {
    return jdbc.read(
        session ->
            session.query(
                CELLS,
                params -> {},
                row ->
                    new CellRow(
                        new Cell(row.getInt(1), row.getInt(2)),
                        row.getLong(3),
                        row.getLong(4),
                        row.getBoolean(5))));
  }

  @Override
  public Set<Integer> pausedFamilies() {
    return Set.copyOf(
        jdbc.read(session -> session.query(PAUSED_FAMILIES, params -> {}, row -> row.getInt(1))));
  }

  private record Stored(long seq, int lane, String type, Instant receivedAt, Instant now) {}

  private Optional<Stored> stored(Session session, String source, String id) throws SQLException {
    return statements
        .guarded(
            session,
            MESSAGE,
            params -> params.add(source).add(id),
            row ->
                new Stored(
                    row.getLong(1),
                    row.getInt(2),
                    row.getString(3),
                    session.time(row, 4),
                    session.time(row, 5)))
        .stream()
        .findFirst();
  }

  @Override
  public Optional<DeliveryView> find(String source, String id, int family) {
    return jdbc.read(
        session -> {
          Optional<Stored> message = stored(session, source, id);
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
        stored.type(),
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

  static DeliveryState state(String table, @Nullable Instant due, Instant now) {
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
                        row.getString(15),
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
    return change(source, id, family, new AdminChange(Action.RETRY, null, actor, reason));
  }

  @Override
  public boolean end(
      String source, String id, int family, boolean discarded, String actor, String reason) {
    Action action = discarded ? Action.DISCARD : Action.COMPLETE;
    return change(source, id, family, new AdminChange(action, null, actor, reason));
  }

  private boolean change(String source, String id, int family, AdminChange change) {
    return keys.finishing(
        jdbc.transaction(
            session -> {
              Optional<Stored> message = stored(session, source, id);
              return message.isPresent()
                  && change(session, message.get().seq(), families.kin(family), family, change, "");
            }));
  }

  @Override
  public boolean edit(
      String source, String id, int family, EditedContent content, String actor, String reason) {
    AdminChange retry = new AdminChange(Action.RETRY, null, actor, reason);
    return keys.finishing(
        jdbc.transaction(
            session -> {
              Optional<Stored> message = stored(session, source, id);
              if (message.isEmpty()) {
                return false;
              }
              long seq = message.get().seq();
              // As retention does: the message first, then what belongs to it.
              session.one(LOCK_MESSAGE, params -> params.add(seq), row -> true);
              Set<Integer> kin = families.kin(family);
              Optional<Poisoned> poisoned = lockPoisoned(session, seq, kin, family);
              return poisoned.isPresent()
                  && edit(session, poisoned.get(), content, actor, reason)
                  && change(session, seq, kin, family, retry, " with other content");
            }));
  }

  private static boolean edit(
      Session session, Poisoned poisoned, EditedContent content, String actor, String reason)
      throws SQLException {
    session.update(FORGET_EDIT, params -> params.add(poisoned.seq()).add(poisoned.handler()));
    session.update(
        EDIT,
        params ->
            params
                .add(poisoned.seq())
                .add(poisoned.handler())
                .add(content.content())
                .add(content.contentHash())
                .add(actor)
                .add(reason));
    return session.update(EDITED, params -> params.add(poisoned.seq())) == 1;
  }

  @Override
  public Effect replay(String source, String id, HandlerId handler, String actor, String reason) {
    AdminChange change = new AdminChange(Action.REPLAY, handler, actor, reason);
    return jdbc.transaction(
        session -> {
          Optional<Stored> message = stored(session, source, id);
          return message.isPresent()
              ? apply(session, new Place(message.get().seq(), 0), change, true)
              : Effect.GONE;
        });
  }

  @Override
  public Operation begin(Operation operation, String actor, String reason) {
    return operations.begin(operation, actor, reason);
  }

  @Override
  public Optional<Operation> operation(String name) {
    return operations.find(name);
  }

  @Override
  public Operation step(Operation operation, AdminChange change, List<Place> chosen, boolean last) {
    Operation after =
        operations.step(
            operation,
            chosen,
            last,
            (session, place, waiting) -> apply(session, place, change, waiting));
    keys.finishing(after.changed() > operation.changed());
    return after;
  }

  /**
   * Changes one thing.
   *
   * @param waiting for whoever holds it, or else leave it out
   */
  private Effect apply(Session session, Place place, AdminChange change, boolean waiting)
      throws SQLException {
    HandlerId target = change.target();
    if (change.action() == Action.REPLAY && target != null) {
      Replays.Replayed replayed = replays.replay(session, place.seq(), target, waiting);
      if (replayed.effect() == Effect.CHANGED) {
        String subject =
            "%s for handler '%s'".formatted(replayed.message(), key(session, target.keyId()));
        audit(session, change, subject);
      }
      return replayed.effect();
    }
    if (change.action() == Action.PURGE) {
      MessageRef ref = ref(session, place.seq());
      Effect effect = pruning.purge(session, place.seq());
      if (effect == Effect.CHANGED) {
        audit(session, change, String.valueOf(ref));
      }
      return effect;
    }
    // Exactly this one was chosen: nothing that only counts as the same handler.
    Set<Integer> chosen = Set.of(place.handler());
    return change(session, place.seq(), chosen, place.handler(), change, "")
        ? Effect.CHANGED
        : Effect.NOT_POISONED;
  }

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

  /** One of these families; if there are several, the first one that was asked for. */
  private static Optional<Poisoned> lockPoisoned(
      Session session, long seq, Set<Integer> among, int first) throws SQLException {
    return session.one(
        session.sql(LOCK_POISON).replace(":kin", Lists.numbers(among)),
        params -> params.add(seq).add(first),
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
  }

  /** Puts something else in the place of a poisoned delivery; false if there is none. */
  private boolean change(
      Session session, long seq, Set<Integer> among, int first, AdminChange change, String how)
      throws SQLException {
    Optional<Poisoned> poisoned = lockPoisoned(session, seq, among, first);
    if (poisoned.isEmpty()) {
      return false;
    }
    Poisoned head = poisoned.get();
    session.update(DELETE_POISON, params -> params.add(head.seq()).add(head.handler()));
    if (change.action() == Action.RETRY) {
      revive(session, head);
    } else {
      receipt(session, head, change.action() == Action.DISCARD);
    }
    Long keyHash = head.keyHash();
    if (keyHash != null) {
      gates.letGo(session, new KeyGates.Key(head.handler(), keyHash), head.keyId());
    }
    String subject =
        "%s for handler '%s'%s"
            .formatted(ref(session, head.seq()), key(session, head.keyId()), how);
    audit(session, change, subject);
    CrashPoints.reach("retry.before-commit");
    return true;
  }

  private static void revive(Session session, Poisoned head) throws SQLException {
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
                .add(head.keyHash()));
  }

  private static void receipt(Session session, Poisoned head, boolean discarded)
      throws SQLException {
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
                .add(discarded ? 1 : 0));
  }

  private static MessageRef ref(Session session, long seq) throws SQLException {
    return session
        .one(
            REF,
            params -> params.add(seq),
            row -> new MessageRef(row.getString(1), row.getString(2)))
        .orElse(new MessageRef("", "#" + seq));
  }

  private static void audit(Session session, AdminChange change, String subject)
      throws SQLException {
    String action = change.action().name().toLowerCase(Locale.ROOT);
    session.update(
        AUDIT, params -> params.add(change.actor()).add(action).add(change.reason()).add(subject));
  }

  @Override
  public List<ConflictView> conflicts(int limit) {
    return jdbc.read(
        session ->
            session.query(
                NEWEST_CONFLICTS, params -> params.add(limit), row -> conflict(session, row)));
  }

  static List<ConflictView> conflictsOf(Session session, long seq) throws SQLException {
    return session.query(CONFLICTS_OF, params -> params.add(seq), row -> conflict(session, row));
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
  public long open(HandlerId handler, int most) {
    return bounded.open(handler, most);
  }

  @Override
  public List<TypeCount> countsByType(int most) {
    return bounded.byType(most);
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

  @Override
  public List<BlockedKey> blockedKeys(int limit) {
    return keys.blocked(limit);
  }

  @Override
  public boolean releaseKey(
      int family, int keyId, String orderingKey, long keyHash, String actor, String reason) {
    return keys.release(family, keyId, orderingKey, keyHash, actor, reason);
  }
}
