package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.store.Delivery;
import java.sql.SQLException;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * What keeps the rows of an ordering key waiting, and lets them go again. Two things can be in the
 * way of a row: a poisoned one with a lower number that <em>blocks</em>, and a lower number from
 * which on its key is <em>closed</em>.
 *
 * <p>A row that is let go too early does no harm: the node that reads it asks what stands before
 * it, and has it wait again. A row that nobody lets go waits for ever. So whoever takes something
 * out of the way holds that row, and looks for what waits in a statement after that; and whoever
 * has a row wait holds what it waits for: either the one finds the row, or the other finds nothing
 * in the way. Locks are taken in the order poison, closed_key, handler: whoever has to do with
 * several keys takes all of one table before the first of the next, or two of them could wait for
 * each other. Closed keys are taken key by key. Poisoned rows are not: an operator takes them by
 * number, and where he meets a settler the database ends one of them, who tries again.
 *
 * <p>A key may hold very many rows. They are let go in parts, each in a commit of its own: the key
 * is closed from the last one on, as <em>releasing</em>, and {@link #step} goes on from there,
 * whoever calls it. At no moment is a row waiting that nothing is in the way of.
 *
 * <p>Keys are known by their hash: two that share it wait for each other and are released together.
 */
final class KeyGates {

  static final int PART = 1000;

  /** Key by key, so that two settlers wait for each other; in a key the lowest number first. */
  static final Comparator<Delivery> BY_KEY =
      Comparator.comparing(KeyGates::key, Key.ORDER).thenComparing(Delivery::seq);

  // Index: poison_key. Waits for an operator who is just dealing with the head.
  private static final String LOCK_HEAD =
      """
      SELECT seq FROM {poison}
      WHERE handler = ? AND key_hash = ? AND blocks = TRUE AND seq < ?
      ORDER BY seq LIMIT 1
      FOR UPDATE
      """;

  // Index: closed_key_pk.
  private static final String LOCK_CLOSED =
      "SELECT seq, releasing FROM {closed_key} WHERE handler = ? AND key_hash = ? FOR UPDATE";

  private static final String CLOSE =
      """
      INSERT INTO {closed_key} (handler, key_hash, key_id, seq, releasing, since, ordering_key)
      VALUES\s""";

  // Index: message_pk. The message may be gone before its key is released.
  private static final String CLOSED_ROW =
      "(?, ?, ?, ?, %s, {now}, (SELECT ordering_key FROM {message} WHERE seq = ?))";

  private static final String CLOSED_HELD = CLOSED_ROW.formatted("FALSE");
  private static final String CLOSED_RELEASING = CLOSED_ROW.formatted("TRUE");

  // Index: closed_key_pk. A release that is under way ends here.
  private static final String CLOSE_AGAIN =
      """
      UPDATE {closed_key} SET releasing = FALSE, seq = CASE WHEN seq > ? THEN ? ELSE seq END
      WHERE handler = ? AND key_hash = ? AND (seq > ? OR releasing = TRUE)
      """;

  private static final String CLOSE_LOWER =
      "UPDATE {closed_key} SET seq = ? WHERE handler = ? AND key_hash = ? AND seq > ?";

  private static final String MOVE =
      "UPDATE {closed_key} SET seq = ? WHERE handler = ? AND key_hash = ?";

  private static final String OPEN = "DELETE FROM {closed_key} WHERE handler = ? AND key_hash = ?";

  // Index: poison_key.
  private static final String LOWEST_HEAD =
      """
      SELECT seq FROM {poison}
      WHERE handler = ? AND key_hash = ? AND blocks = TRUE
      ORDER BY seq LIMIT 1
      """;

  // Index: poison_key.
  private static final String LOCK_HEADS =
      """
      SELECT seq FROM {poison}
      WHERE handler = ? AND key_hash = ? AND blocks = TRUE
      ORDER BY seq
      FOR UPDATE
      """;

  // Index: poison_key.
  private static final String PASS_OVER =
      """
      UPDATE {poison} SET blocks = FALSE
      WHERE handler = ? AND key_hash = ? AND blocks = TRUE
      """;

  // Index: handler_pk. A family bears the number of its first key.
  private static final String LOCK_HANDLER =
      "SELECT key_id FROM {handler} WHERE key_id = ? FOR UPDATE";

  // Index: later_key.
  private static final String ANY_WAITING =
      """
      SELECT seq FROM {later}
      WHERE handler = ? AND key_hash = ? AND due_at IS NULL
      ORDER BY seq LIMIT 1
      """;

  // Index: later_key.
  private static final String NEXT_OF_PART =
      """
      SELECT seq FROM {later}
      WHERE handler = ? AND key_hash = ? AND seq > ? AND seq <= ? AND due_at IS NULL
      ORDER BY seq LIMIT ?
      """;

  // Index: later_pk. By number: on the way along the key it would wait for rows that do not wait,
  // and somebody may be at work on one of them.
  private static final String LET_GO =
      """
      UPDATE {later} SET due_at = {now} WHERE seq IN (:seqs) AND handler = ? AND due_at IS NULL
      """;

  // Index: closed_key_releasing.
  private static final String RELEASING =
      "SELECT handler, key_hash FROM {closed_key} WHERE releasing = TRUE LIMIT 1";

  private final Statements statements;
  private final int part;

  KeyGates(Statements statements) {
    this(statements, PART);
  }

  /** With smaller parts, for tests. */
  KeyGates(Statements statements, int part) {
    this.statements = statements;
    this.part = part;
  }

  /** A key of one handler family. */
  record Key(int handler, long keyHash) {
    static final Comparator<Key> ORDER =
        Comparator.comparing(Key::handler).thenComparing(Key::keyHash);
  }

  private record Closed(long seq, boolean releasing) {}

  /**
   * The lowest poisoned row that is in the way of this row of the key, and of all between them; it
   * stays until the transaction ends.
   */
  Optional<Long> holdHead(Session session, Key key, long seq) throws SQLException {
    return statements
        .guarded(
            session,
            LOCK_HEAD,
            params -> params.add(key.handler()).add(key.keyHash()).add(seq),
            row -> row.getLong(1))
        .stream()
        .findFirst();
  }

  /**
   * The number behind which the key is closed; it stays so until the transaction ends. To be asked
   * after {@link #holdHead}: what is being released moves from poison to here.
   */
  Optional<Long> holdClosed(Session session, Key key) throws SQLException {
    return lockClosed(session, key).map(Closed::seq);
  }

  private Optional<Closed> lockClosed(Session session, Key key) throws SQLException {
    return statements
        .guarded(
            session,
            LOCK_CLOSED,
            params -> params.add(key.handler()).add(key.keyHash()),
            row -> new Closed(row.getLong(1), row.getBoolean(2)))
        .stream()
        .findFirst();
  }

  /** Closes the keys of these rows behind them, until somebody releases them. */
  void close(Session session, List<Delivery> heads) throws SQLException {
    List<Delivery> keyed =
        heads.stream().filter(each -> each.keyHash() != null).sorted(BY_KEY).toList();
    for (Delivery each : keyed) { // one by one: two of them may be of one key
      Key key = key(each);
      close(session, CLOSED_HELD, key, each.keyId(), each.seq());
      session.update(
          CLOSE_AGAIN,
          params ->
              params
                  .add(each.seq())
                  .add(each.seq())
                  .add(key.handler())
                  .add(key.keyHash())
                  .add(each.seq()));
    }
  }

  /** Closes a key that is open, and holds the row of one that is closed. */
  private void close(Session session, String row, Key key, int keyId, long seq)
      throws SQLException {
    // An insert that finds a row need not hold it: whoever ends a release may take it away before
    // we look. Then the key is open, and to be closed again.
    do {
      session.insertIfAbsent(
          CLOSE,
          "handler, key_hash",
          row,
          List.of(key),
          (params, each) ->
              params.add(each.handler()).add(each.keyHash()).add(keyId).add(seq).add(seq));
    } while (lockClosed(session, key).isEmpty());
  }

  static Key key(Delivery delivery) {
    Long keyHash = delivery.keyHash();
    return new Key(delivery.cell().handler(), keyHash == null ? 0 : keyHash);
  }

  /**
   * Lets go what waits in keys behind nothing any more; to be called by who has just taken poisoned
   * rows away, and still holds them.
   *
   * @param freed each key with the exact handler key of such a row
   */
  void letGo(Session session, Map<Key, Integer> freed) throws SQLException {
    Map<Key, Integer> keys = new TreeMap<>(Key.ORDER);
    keys.putAll(freed);
    Map<Key, Long> ends = new HashMap<>();
    for (Key key : keys.keySet()) {
      ends.put(key, lockClosed(session, key).map(Closed::seq).orElse(Long.MAX_VALUE));
    }
    Set<Key> headed = new HashSet<>();
    for (Key key : keys.keySet()) {
      if (lowestHead(session, key) != null) {
        headed.add(key);
      }
    }
    // Two who take two heads of one key away at once would each see the other's as still there,
    // and neither let go what stands behind both. The second looks again when the first is done.
    for (int handler : new TreeSet<>(headed.stream().map(Key::handler).toList())) {
      statements.guarded(
          session, LOCK_HANDLER, params -> params.add(handler), row -> row.getInt(1));
    }
    for (Map.Entry<Key, Integer> each : keys.entrySet()) {
      Key key = each.getKey();
      Long head = headed.contains(key) ? lowestHead(session, key) : null;
      long end = ends.getOrDefault(key, Long.MAX_VALUE);
      letGo(session, key, each.getValue(), head == null ? end : Math.min(head, end));
    }
  }

  private void letGo(Session session, Key key, int keyId, long upTo) throws SQLException {
    Long reached = letPartGo(session, key, 0, upTo);
    if (reached != null) {
      close(session, CLOSED_RELEASING, key, keyId, reached);
      session.update(
          CLOSE_LOWER,
          params -> params.add(reached).add(key.handler()).add(key.keyHash()).add(reached));
    }
  }

  private @Nullable Long lowestHead(Session session, Key key) throws SQLException {
    return statements
        .guarded(
            session,
            LOWEST_HEAD,
            params -> params.add(key.handler()).add(key.keyHash()),
            row -> row.getLong(1))
        .stream()
        .findFirst()
        .orElse(null);
  }

  /** Answers the last of a full part, behind which there may be more, or null. */
  private @Nullable Long letPartGo(Session session, Key key, long after, long upTo)
      throws SQLException {
    List<Long> waiting =
        statements.guarded(
            session,
            NEXT_OF_PART,
            params -> params.add(key.handler()).add(key.keyHash()).add(after).add(upTo).add(part),
            row -> row.getLong(1));
    if (!waiting.isEmpty()) {
      session.update(
          session.sql(LET_GO).replace(":seqs", Lists.numbers(waiting)),
          params -> params.add(key.handler()));
    }
    return waiting.size() < part ? null : waiting.get(part - 1);
  }

  /** Takes away whatever is in the way of anybody in the keys; false if there is nothing to do. */
  boolean release(Session session, List<Key> keys, int keyId) throws SQLException {
    Set<Key> blocking = new HashSet<>();
    for (Key key : keys) {
      if (!statements.guarded(session, LOCK_HEADS, bind(key), row -> row.getLong(1)).isEmpty()) {
        blocking.add(key);
      }
    }
    Set<Key> closed = new HashSet<>();
    for (Key key : keys) {
      if (lockClosed(session, key).isPresent()) {
        closed.add(key);
      }
    }
    boolean any = false;
    for (Key key : keys) {
      if (blocking.contains(key)) {
        session.update(PASS_OVER, bind(key));
      }
      if (closed.contains(key)) {
        session.update(OPEN, bind(key));
      }
      if (blocking.contains(key) || closed.contains(key) || anyWaiting(session, key)) {
        letGo(session, key, keyId, Long.MAX_VALUE);
        any = true;
      }
    }
    return any;
  }

  private boolean anyWaiting(Session session, Key key) throws SQLException {
    return !statements.guarded(session, ANY_WAITING, bind(key), row -> row.getLong(1)).isEmpty();
  }

  private static Session.Bind bind(Key key) {
    return params -> params.add(key.handler()).add(key.keyHash());
  }

  /** Lets the next part of some key go that is being released; false if there is none. */
  boolean step(Session session) throws SQLException {
    Optional<Key> found =
        session.one(RELEASING, params -> {}, row -> new Key(row.getInt(1), row.getLong(2)));
    if (found.isEmpty()) {
      return false;
    }
    Key key = found.get();
    Optional<Closed> closed = lockClosed(session, key).filter(Closed::releasing);
    if (closed.isEmpty()) {
      return true; // somebody else was faster; there may be others
    }
    // However many poisoned rows stand in between: who takes them away finds the key closed here,
    // and leaves what is behind to us.
    Long reached = letPartGo(session, key, closed.get().seq(), Long.MAX_VALUE);
    if (reached == null) {
      session.update(OPEN, params -> params.add(key.handler()).add(key.keyHash()));
    } else {
      session.update(MOVE, params -> params.add(reached).add(key.handler()).add(key.keyHash()));
    }
    return true;
  }
}
