package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.MessageRef;
import dev.pigeonhole.admin.BlockedKey;
import dev.pigeonhole.jdbc.internal.KeyGates.Key;
import dev.pigeonhole.store.StoreException;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Ordering keys that do not go on by themselves, as operators see and release them. */
final class KeyAdmin {

  private static final int KEYS_PER_STATEMENT = 100;

  // Every poisoned row is looked at; index poison_key for the lower ones of each key.
  private static final String BLOCKED =
      """
      SELECT p.handler, p.key_hash, h.handler_key, m.ordering_key, p.poisoned_at, m.source, m.id
      FROM {poison} p
      JOIN {message} m ON m.seq = p.seq
      JOIN {handler} h ON h.key_id = p.key_id
      WHERE p.blocks = TRUE AND p.key_hash IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM {poison} q
                        WHERE q.handler = p.handler AND q.key_hash = p.key_hash
                          AND q.blocks = TRUE AND q.seq < p.seq)
      ORDER BY p.poisoned_at, p.seq
      LIMIT ?
      """;

  // Every closed key is looked at; index poison_pk for its head.
  private static final String CLOSED =
      """
      SELECT c.handler, c.key_hash, h.handler_key, c.ordering_key, c.since, m.source, m.id
      FROM {closed_key} c
      JOIN {handler} h ON h.key_id = c.key_id
      LEFT JOIN {poison} p ON p.seq = c.seq AND p.handler = c.handler
      LEFT JOIN {message} m ON m.seq = p.seq
      ORDER BY c.since, c.seq
      LIMIT ?
      """;

  // Index: later_key. All values are numbers, so they stand in the text.
  private static final String WAITING =
      """
      SELECT %1$d, count(*)
      FROM (SELECT 1 FROM {later} WHERE handler = %2$d AND key_hash = %3$d AND due_at IS NULL
            LIMIT %4$d) w%1$d
      """;

  private final Jdbc jdbc;
  private final Families families;
  private final Statements statements;
  private final KeyGates gates;

  KeyAdmin(Jdbc jdbc, Families families, Statements statements, KeyGates gates) {
    this.jdbc = jdbc;
    this.families = families;
    this.statements = statements;
    this.gates = gates;
  }

  /** What was found of a key; it may be blocked and closed. */
  private record Found(
      String handler, String orderingKey, @Nullable MessageRef head, boolean held, Instant since) {

    Found and(Found other) {
      return new Found(
          handler,
          orderingKey,
          head == null ? other.head : head,
          held || other.held,
          since.isBefore(other.since) ? since : other.since);
    }
  }

  List<BlockedKey> blocked(int limit) {
    return jdbc.read(
        session -> {
          Map<Key, Found> found = new LinkedHashMap<>();
          collect(session, BLOCKED, false, limit, found);
          collect(session, CLOSED, true, limit, found);
          List<Map.Entry<Key, Found>> oldest =
              found.entrySet().stream()
                  .sorted(
                      Comparator.comparing((Map.Entry<Key, Found> each) -> each.getValue().since()))
                  .limit(limit)
                  .toList();
          Map<Key, Integer> waiting =
              waiting(session, oldest.stream().map(Map.Entry::getKey).toList());
          return oldest.stream()
              .map(each -> view(each.getValue(), waiting.getOrDefault(each.getKey(), 0)))
              .toList();
        });
  }

  private static BlockedKey view(Found found, int waiting) {
    return new BlockedKey(
        found.handler(),
        found.orderingKey(),
        Optional.ofNullable(found.head()),
        found.held(),
        waiting,
        found.since());
  }

  private static void collect(
      Session session, String select, boolean held, int limit, Map<Key, Found> found)
      throws SQLException {
    session.query(
        select,
        params -> params.add(limit),
        row -> {
          String source = row.getString(6);
          MessageRef head = source == null ? null : new MessageRef(source, row.getString(7));
          return found.merge(
              new Key(row.getInt(1), row.getLong(2)),
              new Found(
                  row.getString(3),
                  Objects.requireNonNullElse(row.getString(4), ""),
                  head,
                  held,
                  session.time(row, 5)),
              Found::and);
        });
  }

  private Map<Key, Integer> waiting(Session session, List<Key> keys) throws SQLException {
    Map<Key, Integer> waiting = new HashMap<>();
    String each = session.sql(WAITING);
    for (List<Key> part : Lists.chunks(keys, KEYS_PER_STATEMENT)) {
      List<String> selects = new ArrayList<>();
      for (int i = 0; i < part.size(); i++) {
        Key key = part.get(i);
        selects.add(each.formatted(i, key.handler(), key.keyHash(), BlockedKey.MOST));
      }
      statements.guarded(
          session,
          selects.stream().collect(Collectors.joining("UNION ALL\n")),
          params -> {},
          row -> waiting.put(part.get(row.getInt(1)), row.getInt(2)));
    }
    return waiting;
  }

  boolean release(
      int family, int keyId, String orderingKey, long keyHash, String actor, String reason) {
    boolean released =
        jdbc.transaction(
            session -> {
              List<Key> kin =
                  families.kin(family).stream().map(each -> new Key(each, keyHash)).toList();
              boolean any = gates.release(session, kin, keyId);
              if (any) {
                String subject =
                    "key '%s' of %s".formatted(orderingKey, Audit.handler(session, keyId));
                Audit.add(session, "release", actor, reason, subject);
              }
              return any;
            });
    return finishing(released);
  }

  /**
   * Goes on behind a change that may have begun to let a key go.
   *
   * @return what it was given
   */
  boolean finishing(boolean changed) {
    if (changed) {
      try {
        finishReleases();
      } catch (StoreException e) {
        // The change has committed and must not look as if it had not. Every node looks after what
        // is left, see Maintenance.finishReleases.
        return true;
      }
    }
    return changed;
  }

  /** Goes on with every key that is being released until there is none. */
  void finishReleases() {
    boolean more = true;
    while (more) {
      more = jdbc.transaction(gates::step);
    }
  }
}
