package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.store.Ahead;
import dev.pigeonhole.store.AheadRead;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellLimit;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.DuePosition;
import dev.pigeonhole.store.DueRange;
import dev.pigeonhole.store.DueRead;
import dev.pigeonhole.store.Range;
import java.sql.SQLException;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Many ranges in one read for databases without LATERAL: the union of one parenthesised select per
 * range. All values are numbers and times, so they stand in the text.
 */
final class UnionReads {

  private static final int RANGES_PER_STATEMENT = 128;

  // Index: delivery_pk.
  private static final String FRESH =
      """
      (SELECT seq, lane, handler, version, key_id, failures, crashes, releases, key_hash, mark
       FROM {delivery}
       WHERE lane = %d AND handler = %d AND seq > %d AND seq <= %d ORDER BY seq LIMIT %d)
      """;

  // Index: later_due; one row more than asked for tells what is next. Without the columns that are
  // alike in the order, H2 would sort all that waits.
  private static final String DUE =
      """
      (SELECT seq, lane, handler, version, key_id, failures, crashes, releases, key_hash, mark, due_at, {now}
       FROM {later}
       WHERE lane = %d AND handler = %d AND place = 0 AND %s
       ORDER BY lane, handler, place, due_at, seq LIMIT %d)
      """;

  // Index: later_due, from the first place on.
  private static final String PLACED =
      """
      (SELECT seq, lane, handler, version, key_id, failures, crashes, releases, key_hash, mark, place
       FROM {later}
       WHERE lane = %d AND handler = %d AND place > 0 ORDER BY place, due_at, seq LIMIT %d)
      """;

  // Index: delivery_key.
  private static final String AHEAD_FRESH =
      """
      (SELECT seq, lane, handler, version, key_id, failures, crashes, releases, key_hash, mark, 'd'
       FROM {delivery}%s
       WHERE handler = %d AND key_hash = %d AND seq < %d AND lane = %d ORDER BY seq LIMIT %d)
      """;

  // Index: later_key.
  private static final String AHEAD_LATE =
      """
      (SELECT seq, lane, handler, version, key_id, failures, crashes, releases, key_hash, mark, 'l'
       FROM {later}%s
       WHERE handler = %d AND key_hash = %d AND seq < %d AND lane = %d ORDER BY seq LIMIT %d)
      """;

  // Index: poison_key.
  private static final String AHEAD_POISON =
      """
      (SELECT min(seq), lane, handler, 0, 0, 0, 0, 0, key_hash, 0, 'p'
       FROM {poison}
       WHERE lane = %d AND handler = %d AND seq < %d AND key_hash IN (%s) AND blocks = TRUE
       GROUP BY lane, handler, key_hash)
      """;

  // Index: closed_key_pk. Last: what is being released moves from poison to here.
  private static final String AHEAD_CLOSED =
      """
      (SELECT seq, %1$d, handler, 0, 0, 0, 0, 0, key_hash, 0, 'p'
       FROM {closed_key}
       WHERE handler = %2$d AND seq < %3$d AND key_hash IN (%4$s))
      """;

  private UnionReads() {}

  static List<Delivery> fresh(Session session, List<Range> ranges) throws SQLException {
    String each = session.sql(FRESH);
    List<Delivery> rows = new ArrayList<>();
    for (List<Range> part : Lists.chunks(ranges, RANGES_PER_STATEMENT)) {
      rows.addAll(
          session.query(
              union(
                  part.stream()
                      .map(
                          range ->
                              each.formatted(
                                  range.cell().lane(),
                                  range.cell().handler(),
                                  range.after(),
                                  range.upTo(),
                                  range.limit()))
                      .toList()),
              params -> {},
              row -> Session.delivery(row, false)));
    }
    rows.sort(
        Comparator.comparing(
                Delivery::cell, Comparator.comparing(Cell::handler).thenComparing(Cell::lane))
            .thenComparing(Delivery::seq));
    return rows;
  }

  static DueRead due(Session session, List<DueRange> ranges) throws SQLException {
    String each = session.sql(DUE);
    DueRows due = new DueRows(ranges);
    for (List<DueRange> part : Lists.chunks(ranges, RANGES_PER_STATEMENT)) {
      List<String> selects = new ArrayList<>();
      for (DueRange range : part) {
        for (String condition : behind(session.dialect, range.after())) {
          selects.add(
              each.formatted(
                  range.cell().lane(), range.cell().handler(), condition, range.limit() + 1));
        }
      }
      session.query(union(selects), params -> {}, row -> due.add(row, session));
    }
    return due.read();
  }

  /**
   * What lies behind a position, as ranges of the index, one after the other: the rest of those
   * that share its time, then the others. H2 would begin a range of what is greater with what is
   * equal, so the next microsecond tells where they begin.
   */
  private static List<String> behind(Dialect dialect, @Nullable DuePosition after) {
    if (after == null) {
      return List.of("due_at IS NOT NULL");
    }
    return List.of(
        "due_at = %s AND seq > %d".formatted(dialect.literal(after.dueAt()), after.seq()),
        "due_at >= " + dialect.literal(after.dueAt().plus(1, ChronoUnit.MICROS)));
  }

  static List<Delivery> placed(Session session, List<CellLimit> cells) throws SQLException {
    String each = session.sql(PLACED);
    List<Delivery> rows = new ArrayList<>();
    for (List<CellLimit> part : Lists.chunks(cells, RANGES_PER_STATEMENT)) {
      String union =
          union(
              part.stream()
                  .map(
                      limit ->
                          each.formatted(
                              limit.cell().lane(), limit.cell().handler(), limit.limit()))
                  .toList());
      rows.addAll(session.query(union, params -> {}, Session::placed));
    }
    rows.sort(Comparator.comparing(Delivery::place).thenComparing(Delivery::seq));
    return rows;
  }

  /**
   * Reads what stands before these rows.
   *
   * @param keysPerSelect how many keys the database finds poison of by index in one select
   * @param force tells the database which index to use, if it would take another one
   */
  static AheadRead ahead(Session session, List<Ahead> rows, int keysPerSelect, String force)
      throws SQLException {
    AheadRows ahead = new AheadRows(rows);
    Map<Cell, List<Ahead>> byCell =
        ahead.highestOfKeys().stream()
            .collect(Collectors.groupingBy(Ahead::cell, LinkedHashMap::new, Collectors.toList()));
    String fresh = force.formatted(session.sql("{name}delivery_key"));
    String late = force.formatted(session.sql("{name}later_key"));
    List<String> selects = new ArrayList<>();
    byCell.forEach(
        (cell, keys) -> {
          // In the order in which a delivery moves, for H2 reads one table after the other.
          keys.forEach(key -> selects.add(lowest(session, AHEAD_FRESH, fresh, key)));
          keys.forEach(key -> selects.add(lowest(session, AHEAD_LATE, late, key)));
          for (List<Ahead> part : Lists.chunks(keys, keysPerSelect)) {
            selects.add(select(session, AHEAD_POISON, cell, part));
            selects.add(select(session, AHEAD_CLOSED, cell, part));
          }
        });
    String standby = session.dialect.isStandby();
    if (standby != null) {
      selects.add("(SELECT 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 's' FROM DUAL WHERE " + standby + ")\n");
    }
    // One statement, whatever its length: the answers must be of one snapshot.
    session.query(union(selects), params -> {}, ahead::add);
    return ahead.read();
  }

  private static String lowest(Session session, String template, String force, Ahead key) {
    return session
        .sql(template)
        .formatted(
            force, key.cell().handler(), key.keyHash(), key.seq(), key.cell().lane(), Ahead.MOST);
  }

  private static String select(Session session, String template, Cell cell, List<Ahead> keys) {
    long top = keys.stream().mapToLong(Ahead::seq).max().orElse(0);
    String hashes = Lists.numbers(keys.stream().map(Ahead::keyHash).toList());
    return session.sql(template).formatted(cell.lane(), cell.handler(), top, hashes);
  }

  private static String union(List<String> selects) {
    return String.join("UNION ALL\n", selects);
  }
}
