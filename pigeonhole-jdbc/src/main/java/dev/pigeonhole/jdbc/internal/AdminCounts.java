package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.admin.Count;
import dev.pigeonhole.admin.HandlerCounts;
import java.sql.SQLException;
import java.time.Instant;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** How much stands where. */
final class AdminCounts {

  /** Of receipts, which no index finds by handler, only so many of the newest are looked at. */
  private static final int NEWEST_RECEIPTS = 100_000;

  private static final String LANES = "SELECT lanes FROM {inbox} WHERE id = 1";

  private static final String KEYS =
      "SELECT key_id, handler_key, family FROM {handler} ORDER BY key_id";

  // Indexes: delivery_pk, later_due, poison_key; each is read no further than the bound. The time
  // is
  // a constant: with a clock that ticks, what is due would be searched for in all that is not.
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
            WHERE handler = :family AND lane IN (:lanes) AND place = 0 AND due_at <= :now LIMIT :most) l
      GROUP BY key_id
      UNION ALL
      SELECT 'scheduled', key_id, count(*)
      FROM (SELECT key_id FROM {later}
            WHERE handler = :family AND lane IN (:lanes) AND place = 0 AND due_at > :now LIMIT :most) s
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
      FROM (SELECT key_id FROM {receipt} WHERE %s ORDER BY seq DESC LIMIT ?) r
      GROUP BY key_id
      """
          .formatted(Receipts.COUNTS);

  private static final String OPEN =
      """
      SELECT (SELECT count(*) FROM {delivery} WHERE key_id = ?)
           + (SELECT count(*) FROM {later} WHERE key_id = ?)
      """;

  private final Jdbc jdbc;
  private final Statements statements;

  AdminCounts(Jdbc jdbc, Statements statements) {
    this.jdbc = jdbc;
    this.statements = statements;
  }

  /** A handler key as it is registered. */
  record Key(int keyId, String text, int family) {}

  static List<Key> keys(Session session) throws SQLException {
    return session.query(
        KEYS, params -> {}, row -> new Key(row.getInt(1), row.getString(2), row.getInt(3)));
  }

  static String lanes(Session session) throws SQLException {
    int lanes = session.one(LANES, params -> {}, row -> row.getInt(1)).orElse(1);
    return Lists.numbers(IntStream.range(0, lanes).boxed().toList());
  }

  List<HandlerCounts> counts(int most) {
    return jdbc.read(
        session -> {
          String lanes = lanes(session);
          Instant now = session.now();
          List<Key> all = keys(session);
          Map<Integer, Map<String, Count>> found = new HashMap<>();
          for (int family : all.stream().map(Key::family).distinct().toList()) {
            String text = ofFamily(session, family, lanes, now, most + 1);
            List<Integer> keyIds =
                all.stream().filter(key -> key.family() == family).map(Key::keyId).toList();
            count(session, text, params -> {}, most, keyIds, found);
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

  /**
   * What one family has open and poisoned, by state and key.
   *
   * @param lanes as numbers
   */
  static String ofFamily(Session session, int family, String lanes, Instant now, int most) {
    return session
        .sql(COUNTS)
        .replace(":family", String.valueOf(family))
        .replace(":lanes", lanes)
        .replace(":most", String.valueOf(most))
        .replace(":now", session.dialect.literal(now));
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
        statements.firstRows(
            session, text, bind, row -> new Row(row.getString(1), row.getInt(2), row.getLong(3)));
    Map<String, Long> sums =
        rows.stream()
            .collect(Collectors.groupingBy(Row::state, Collectors.summingLong(Row::count)));
    sums.forEach(
        (state, sum) -> {
          Set<Integer> counted = new HashSet<>(keyIds);
          // What is replayed to another key of its handler keeps its key, whose family is another.
          rows.forEach(row -> counted.add(row.keyId()));
          for (int keyId : counted) {
            long own =
                rows.stream()
                    .filter(row -> row.keyId() == keyId && row.state().equals(state))
                    .mapToLong(Row::count)
                    .sum();
            found
                .computeIfAbsent(keyId, any -> new HashMap<>())
                .merge(state, new Count(Math.min(most, own), sum > most), Count::plus);
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
        atMost(most, found.getOrDefault("scheduled", none)),
        none,
        none,
        atMost(most, found.getOrDefault("blocked", none)),
        atMost(most, found.getOrDefault("completed", none)),
        atMost(most, found.getOrDefault("poisoned", none)));
  }

  private static Count atMost(int most, Count count) {
    return count.value() > most ? new Count(most, true) : count;
  }

  /** How many deliveries stand open under this exact key. */
  long open(int keyId) {
    return jdbc.read(
        session ->
            session
                .one(OPEN, params -> params.add(keyId).add(keyId), row -> row.getLong(1))
                .orElse(0L));
  }

  long messages() {
    return jdbc.read(
        session ->
            session
                .one("SELECT count(*) FROM {message}", params -> {}, row -> row.getLong(1))
                .orElse(0L));
  }
}
