package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.store.AdminChange.Effect;
import dev.pigeonhole.store.CrashPoints;
import dev.pigeonhole.store.Loaded;
import dev.pigeonhole.store.Pruning;
import dev.pigeonhole.store.Pruning.Fate;
import dev.pigeonhole.store.StoredMessage;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One step of retention. Messages are locked in one statement and looked at in the next, which sees
 * all tables at one moment, or is asked twice where it does not: a repeat adds deliveries under the
 * same lock, and a settle moves a row from one table to another in one commit, so nothing that is
 * open can be missed.
 */
final class JdbcPruning {
  /** Of content and headers. */
  private static final long MOST_ARCHIVED_AT_ONCE = 16 << 20;

  // The row is locked for the step; other nodes that prune at the same time skip it.
  private static final String BEGIN =
      """
      SELECT {now}, pruned_to, pruned_at, guarded_to, guarded_at, guarded_ms
      FROM {retention} WHERE id = 1 FOR UPDATE SKIP LOCKED
      """;

  // Index: message_pk.
  private static final String EXISTS = "SELECT 1 FROM {message} WHERE seq = ?";

  private static final String END =
      "UPDATE {retention} SET pruned_to = ?, pruned_at = {now} WHERE id = 1";
  private static final String END_OF_GUARDS =
      "UPDATE {retention} SET guarded_to = ?, guarded_ms = ?, guarded_at = {now} WHERE id = 1";

  private static final String FAMILIES = "SELECT DISTINCT family FROM {handler}";

  /** A step reads so often in search of messages that are due; most are kept for a while. */
  private static final int MOST_READ = 20;

  // Index: message_pk. Without locks: a lock is a write, and the messages of the other walk, or
  // those that are kept for a while, are nothing to this step.
  private static final String NEXT =
      """
      SELECT seq, received_at, transport, type, CASE WHEN content IS NULL THEN 0 ELSE 1 END
      FROM {message} WHERE seq > ? ORDER BY seq LIMIT ?
      """;

  private static final String LOCK =
      """
      SELECT seq, lane, type, transport, received_at, CASE WHEN content IS NULL THEN 0 ELSE 1 END
      FROM {message} WHERE seq IN (:seqs) ORDER BY seq FOR UPDATE SKIP LOCKED
      """;

  // Indexes: delivery_pk by ranges, later_pk, poison_pk, receipt_pk, conflict_copy.
  private static final String STANDING =
      """
      SELECT 'open' AS what, seq, handler, CAST(NULL AS :time) AS at,
             CAST(NULL AS :time) AS keep_until
      FROM {delivery}
      WHERE lane IN (:lanes) AND handler IN (:handlers) AND seq BETWEEN :first AND :last
      UNION ALL
      SELECT 'open', seq, handler, CAST(NULL AS :time), CAST(NULL AS :time) FROM {later}
      WHERE seq IN (:seqs)
      UNION ALL
      SELECT 'poisoned', seq, handler, poisoned_at, CAST(NULL AS :time) FROM {poison}
      WHERE seq IN (:seqs)
      UNION ALL
      SELECT 'completed', seq, handler, completed_at, keep_until FROM {receipt}
      WHERE seq IN (:seqs) AND %s
      UNION ALL
      SELECT 'conflict', seq, 0, CAST(NULL AS :time), CAST(NULL AS :time) FROM {conflict}
      WHERE seq IN (:seqs)
      """
          .formatted(Receipts.COUNTS);

  // Changes to many are few, so nothing but a walk over them finds the old ones.
  private static final String OLD_OPERATIONS =
      "SELECT operation_id FROM {operation} WHERE finished_at <= ? ORDER BY operation_id LIMIT ?";

  // Index: operation_pk. By name, and so without a lock on those that are under way.
  private static final String FORGET_OPERATION = "DELETE FROM {operation} WHERE operation_id = ?";

  private static final String DROP =
      "UPDATE {message} SET content = NULL, dropped = TRUE, edited = FALSE WHERE seq IN (:seqs)";
  private static final String HAND_OVER =
      "UPDATE {message} SET transport = 'inline' WHERE seq IN (:seqs)";
  private static final String FORGET_EDITS = "DELETE FROM {edit} WHERE seq IN (:seqs)";
  private static final String FORGET_UNHANDLED = "DELETE FROM {unhandled} WHERE seq IN (:seqs)";
  private static final String FORGET_FAILURES = "DELETE FROM {failure} WHERE seq IN (:seqs)";
  private static final String FORGET_POISON = "DELETE FROM {poison} WHERE seq IN (:seqs)";

  // Index: poison_pk. What they block must not wait for a head that is gone.
  private static final String LOCK_HEADS =
      """
      SELECT handler, key_hash, key_id FROM {poison}
      WHERE seq IN (:seqs) AND blocks = TRUE AND key_hash IS NOT NULL
      ORDER BY seq, handler FOR UPDATE
      """;

  private static final String FORGET_ANSWERS = "DELETE FROM {answer} WHERE seq IN (:seqs)";
  private static final String FORGET_RECEIPTS = "DELETE FROM {receipt} WHERE seq IN (:seqs)";
  private static final String FORGET = "DELETE FROM {message} WHERE seq IN (:seqs)";

  /**
   * Where a walk is.
   *
   * @param seq up to where it has come; 0 between two rounds
   * @param at when it was there
   * @param youngest how old messages had to be for whoever was there; null if all want the same.
   *     Who wants younger ones does not wait for the next round of others, and is not sent back by
   *     those who find all too young
   */
  private record Place(Instant now, long seq, @Nullable Instant at, @Nullable Duration youngest) {

    boolean rests(Pruning pruning) {
      int others = youngest == null ? 0 : youngest.compareTo(pruning.youngest());
      return at != null
          && !at.isAfter(now) // by a clock that was ahead, and would stop us until then
          && Duration.between(at, now).compareTo(pruning.betweenRounds()) < 0
          && (seq == 0 ? others <= 0 : others < 0);
    }
  }

  private record Next(
      long seq, Instant receivedAt, String transport, String type, boolean hasContent) {

    boolean olderThan(Duration age, Instant now) {
      return Duration.between(receivedAt, now).compareTo(age) >= 0;
    }

    boolean due(Pruning pruning, Instant now) {
      return pruning.walk().covers(transport) && pruning.due(type, receivedAt, now, hasContent);
    }
  }

  /**
   * A part of the walk.
   *
   * @param old whether some are old enough to be worth a look
   * @param due which of those may go, as far as their rows tell
   * @param reached up to where it has come; 0 if the walk ends here
   */
  private record Reading(boolean old, List<Long> due, long reached) {

    boolean goesOn() {
      return old && due.isEmpty() && reached > 0;
    }
  }

  private record Candidate(
      long seq, int lane, String type, String transport, Instant receivedAt, boolean hasContent) {}

  /** What stands where of one message. */
  private static final class Standing {
    boolean open;
    boolean conflicts;
    final Map<Integer, Instant> completed = new HashMap<>();
    final Map<Integer, Instant> keepUntil = new HashMap<>();
    final Map<Integer, Instant> poisoned = new HashMap<>();
  }

  /** What is to be done. */
  private static final class Judgement {
    final List<Long> dropped = new ArrayList<>();
    final List<Long> handedOver = new ArrayList<>();
    final List<Long> deleted = new ArrayList<>();

    /** How many poisoned deliveries go; they are not locked until then. */
    int poisoned;
  }

  private final Jdbc jdbc;
  private final Statements statements;
  private final KeyGates gates;

  JdbcPruning(Jdbc jdbc, Statements statements, KeyGates gates) {
    this.jdbc = jdbc;
    this.statements = statements;
    this.gates = gates;
  }

  Pruning.Step step(Pruning pruning, int limit) {
    return jdbc.transaction(
        session -> {
          LoanSettings.Limits limits =
              pruning.archives() ? jdbc.silenceLimits(session) : (any, silence) -> {};
          return step(session, pruning, limit, limits);
        });
  }

  /** Deletes one message because an operator says so, unless something stands in the way. */
  Effect purge(Session session, long seq) throws SQLException {
    List<Candidate> locked = lock(session, List.of(seq));
    if (locked.isEmpty()) {
      return session.one(EXISTS, params -> params.add(seq), row -> true).isPresent()
          ? Effect.IN_USE
          : Effect.GONE;
    }
    Standing standing = look(session, locked).getOrDefault(seq, new Standing());
    if (standing.open) {
      return Effect.OPEN;
    }
    if (!standing.poisoned.isEmpty()) {
      return Effect.POISONED;
    }
    if (standing.conflicts) {
      return Effect.CONFLICTS;
    }
    forget(session, List.of(seq));
    return Effect.CHANGED;
  }

  private Pruning.Step step(Session session, Pruning pruning, int limit, LoanSettings.Limits limits)
      throws SQLException {
    Pruning.Walk walk = pruning.walk();
    Optional<Place> free = place(session, walk);
    if (free.isEmpty()) {
      return Pruning.Step.inTheWay();
    }
    Place place = free.get();
    if (place.rests(pruning)) {
      return new Pruning.Step(0, 0, false);
    }
    boolean moreAnswers = OldAnswers.forget(session, place.now(), limit);
    if (moreAnswers || walk == Pruning.Walk.ANSWERS) {
      return new Pruning.Step(0, 0, moreAnswers); // the walk stays where it is
    }
    return walk(session, pruning, place, limit, limits);
  }

  /** Empty while somebody else prunes. */
  private static Optional<Place> place(Session session, Pruning.Walk walk) throws SQLException {
    return session.one(
        BEGIN,
        params -> {},
        row -> {
          Instant now = session.time(row, 1);
          Dialect dialect = session.dialect;
          return switch (walk) {
            case INBOX -> new Place(now, row.getLong(2), dialect.read(row, 3), null);
            case GUARDS ->
                new Place(
                    now, row.getLong(4), dialect.read(row, 5), Duration.ofMillis(row.getLong(6)));
            case ANSWERS -> new Place(now, 0, null, null);
          };
        });
  }

  private Pruning.Step walk(
      Session session, Pruning pruning, Place place, int limit, LoanSettings.Limits limits)
      throws SQLException {
    Reading reading = read(session, pruning, place.now(), place.seq(), limit);
    for (int read = 1; reading.goesOn() && read < MOST_READ; read++) {
      reading = read(session, pruning, place.now(), reading.reached(), limit);
    }
    Judgement judgement = new Judgement();
    if (!reading.due().isEmpty()) {
      judge(session, pruning, reading.due(), place.now(), judgement);
    }
    execute(session, pruning, judgement, limits);
    if (place.seq() == 0) {
      forgetOperations(session, place.now().minus(pruning.keepOperations()), limit);
    }
    end(session, pruning, reading.reached());
    CrashPoints.reach("prune.before-commit");
    return new Pruning.Step(
        judgement.deleted.size(), judgement.dropped.size(), reading.reached() > 0);
  }

  private static Reading read(Session session, Pruning pruning, Instant now, long after, int limit)
      throws SQLException {
    List<Next> next =
        session.query(
            NEXT,
            params -> params.add(after).add(limit),
            row ->
                new Next(
                    row.getLong(1),
                    session.time(row, 2),
                    row.getString(3),
                    row.getString(4),
                    row.getInt(5) == 1));
    List<Next> old = next.stream().filter(each -> each.olderThan(pruning.youngest(), now)).toList();
    // Numbers follow the time of receipt, roughly: behind a step full of young ones nearly all are
    // young. Times written by a clock that was ahead are ignored.
    boolean young =
        old.isEmpty() && next.stream().anyMatch(each -> !each.receivedAt().isAfter(now));
    boolean more = next.size() == limit && !young;
    return new Reading(
        !old.isEmpty(),
        old.stream().filter(each -> each.due(pruning, now)).map(Next::seq).toList(),
        more ? next.get(limit - 1).seq() : 0);
  }

  private static void end(Session session, Pruning pruning, long reached) throws SQLException {
    if (pruning.walk() == Pruning.Walk.GUARDS) {
      long youngest = pruning.youngest().toMillis();
      session.update(END_OF_GUARDS, params -> params.add(reached).add(youngest));
    } else {
      session.update(END, params -> params.add(reached));
    }
  }

  private static void forgetOperations(Session session, Instant finishedBy, int limit)
      throws SQLException {
    List<String> old =
        session.query(
            OLD_OPERATIONS, params -> params.add(finishedBy).add(limit), row -> row.getString(1));
    session.batch(FORGET_OPERATION, old, (params, name) -> params.add(name));
  }

  private void judge(
      Session session, Pruning pruning, List<Long> old, Instant now, Judgement judgement)
      throws SQLException {
    List<Candidate> candidates = lock(session, old);
    if (candidates.isEmpty()) {
      return;
    }
    Map<Long, Standing> standings = look(session, candidates);
    for (Candidate each : candidates) {
      Standing standing = standings.getOrDefault(each.seq(), new Standing());
      // An inbox may have accepted meanwhile what only guards had seen.
      boolean own = pruning.walk().covers(each.transport());
      if (!own || standing.open || standing.conflicts) {
        continue;
      }
      Fate fate =
          pruning.judge(
              new Pruning.Finished(
                  each.type(),
                  each.receivedAt(),
                  now,
                  each.hasContent(),
                  standing.completed,
                  standing.keepUntil,
                  standing.poisoned));
      switch (fate) {
        case KEEP -> {}
        case DROP_CONTENT -> judgement.dropped.add(each.seq());
        case HAND_OVER -> judgement.handedOver.add(each.seq());
        case DELETE -> {
          judgement.deleted.add(each.seq());
          judgement.poisoned += standing.poisoned.size();
        }
      }
    }
  }

  private void execute(
      Session session, Pruning pruning, Judgement judgement, LoanSettings.Limits limits)
      throws SQLException {
    if (!judgement.dropped.isEmpty()) {
      change(session, DROP, judgement.dropped);
      change(session, FORGET_EDITS, judgement.dropped);
    }
    if (!judgement.handedOver.isEmpty()) {
      change(session, HAND_OVER, judgement.handedOver);
    }
    if (!judgement.deleted.isEmpty()) {
      delete(session, pruning, judgement, limits);
    }
  }

  /** Those of these messages that nobody else is working on. */
  private List<Candidate> lock(Session session, List<Long> seqs) throws SQLException {
    return statements.locking(
        session,
        session.sql(LOCK).replace(":seqs", Lists.numbers(seqs)),
        params -> {},
        row ->
            new Candidate(
                row.getLong(1),
                row.getInt(2),
                row.getString(3),
                row.getString(4),
                session.time(row, 5),
                row.getInt(6) == 1));
  }

  private Map<Long, Standing> look(Session session, List<Candidate> candidates)
      throws SQLException {
    Map<Long, Standing> standings = new HashMap<>();
    look(session, candidates, standings);
    if (!statements.seesAllTablesAtOnce()) {
      look(session, candidates, standings); // what moved meanwhile has arrived by now
    }
    return standings;
  }

  private void look(Session session, List<Candidate> candidates, Map<Long, Standing> standings)
      throws SQLException {
    // This step holds the rows of these messages, and a transaction that adds a delivery to one of
    // them waits for its row; so a family that is not there yet has none of them.
    List<Integer> families = session.query(FAMILIES, params -> {}, row -> row.getInt(1));
    List<Long> seqs = candidates.stream().map(Candidate::seq).toList();
    Set<Integer> lanes = new HashSet<>();
    candidates.forEach(each -> lanes.add(each.lane()));
    String text =
        session
            .sql(STANDING)
            .replace(":time", session.dialect.timeType())
            .replace(":lanes", Lists.numbers(lanes))
            .replace(":handlers", families.isEmpty() ? "0" : Lists.numbers(families))
            .replace(":first", String.valueOf(Collections.min(seqs)))
            .replace(":last", String.valueOf(Collections.max(seqs)))
            .replace(":seqs", Lists.numbers(seqs));
    statements.guarded(
        session,
        text,
        params -> {},
        row -> {
          Standing standing = standings.computeIfAbsent(row.getLong(2), any -> new Standing());
          int handler = row.getInt(3);
          switch (row.getString(1)) {
            case "completed" -> {
              standing.completed.put(handler, session.time(row, 4));
              Instant keepUntil = session.dialect.read(row, 5);
              if (keepUntil != null) {
                standing.keepUntil.put(handler, keepUntil);
              }
            }
            case "poisoned" -> standing.poisoned.put(handler, session.time(row, 4));
            case "conflict" -> standing.conflicts = true;
            default -> standing.open = true;
          }
          return handler;
        });
  }

  private void delete(
      Session session, Pruning pruning, Judgement judgement, LoanSettings.Limits limits)
      throws SQLException {
    List<Long> seqs = judgement.deleted;
    if (pruning.archives()) {
      archive(session, pruning, seqs, limits);
    }
    if (judgement.poisoned > 0) {
      Audit.addForgotten(session, seqs);
      Map<KeyGates.Key, Integer> freed = new HashMap<>();
      statements.guarded(
          session,
          session.sql(LOCK_HEADS).replace(":seqs", Lists.numbers(seqs)),
          params -> {},
          row -> freed.put(new KeyGates.Key(row.getInt(1), row.getLong(2)), row.getInt(3)));
      if (change(session, FORGET_POISON, seqs) != judgement.poisoned) {
        throw new SQLException("An operator has changed what was about to go", "40001");
      }
      gates.letGo(session, freed);
    }
    forget(session, seqs);
  }

  /** In parts, for their content may be large. */
  private void archive(
      Session session, Pruning pruning, List<Long> seqs, LoanSettings.Limits limits)
      throws SQLException {
    List<Long> rest = seqs;
    while (!rest.isEmpty()) {
      Loaded part = Loads.load(session, statements, rest, MOST_ARCHIVED_AT_ONCE);
      List<StoredMessage> messages =
          rest.stream().map(part.messages()::get).filter(Objects::nonNull).toList();
      if (!messages.isEmpty()) {
        limits.set(session.connection, Silence.of(Optional.empty()));
        pruning.archive(messages);
        limits.set(session.connection, Silence.OF_THE_LIBRARY);
      }
      rest = List.copyOf(part.left());
    }
  }

  private static void forget(Session session, List<Long> seqs) throws SQLException {
    change(session, FORGET_EDITS, seqs);
    change(session, FORGET_UNHANDLED, seqs);
    change(session, FORGET_FAILURES, seqs);
    change(session, FORGET_ANSWERS, seqs);
    change(session, FORGET_RECEIPTS, seqs);
    change(session, FORGET, seqs);
  }

  private static int change(Session session, String template, List<Long> seqs) throws SQLException {
    return session.update(
        session.sql(template).replace(":seqs", Lists.numbers(seqs)), params -> {});
  }
}
