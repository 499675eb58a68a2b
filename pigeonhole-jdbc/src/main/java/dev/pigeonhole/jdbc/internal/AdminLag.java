package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.admin.HandlerLag;
import dev.pigeonhole.jdbc.internal.AdminCounts.Key;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellRow;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.Range;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * How far behind each handler is. The first rows of each cell tell, whatever stands behind them:
 * indexes have them in the order of their numbers, of their due times, and of their places.
 */
final class AdminLag {

  /**
   * Places are made of age and priority. The first of them need not be the oldest, but whoever is
   * older and stands behind all of these has been overtaken for its low priority.
   */
  private static final int NEXT_IN_LINE = 16;

  // Index: later_due. Whether the first is due already is not asked here: that would be no range of
  // the index, and all that are not would be looked at.
  private static final String FIRST_DUE =
      """
      SELECT d.due_at AS due_at FROM {later} d
      WHERE d.lane = :lane AND d.handler = :handler AND d.place = 0 AND d.due_at IS NOT NULL
      ORDER BY d.due_at, d.seq LIMIT 1""";

  // Index: later_due.
  private static final String FIRST_PLACED =
      """
      SELECT d.due_at AS due_at FROM {later} d
      WHERE d.lane = :lane AND d.handler = :handler AND d.place > 0
      ORDER BY d.place, d.due_at, d.seq LIMIT %d"""
          .formatted(NEXT_IN_LINE);

  // Index: message_pk.
  private static final String RECEIVED = "SELECT seq, received_at FROM {message} WHERE seq :seqs";

  private final Jdbc jdbc;
  private final Statements statements;

  AdminLag(Jdbc jdbc, Statements statements) {
    this.jdbc = jdbc;
    this.statements = statements;
  }

  List<HandlerLag> lag() {
    return jdbc.read(
        session -> {
          Map<Integer, Key> newest = new TreeMap<>();
          AdminCounts.keys(session).forEach(key -> newest.put(key.family(), key));
          if (newest.isEmpty()) {
            return List.of();
          }
          Instant now = session.now();
          Map<Integer, List<Cell>> cells =
              Cells.read(session).stream()
                  .map(CellRow::cell)
                  .filter(cell -> newest.containsKey(cell.handler()))
                  .collect(Collectors.groupingBy(Cell::handler));
          Map<Integer, Instant> oldest = oldestFresh(session, cells.values());
          for (Map.Entry<Integer, List<Cell>> each : cells.entrySet()) {
            statements
                .firstRows(
                    session,
                    late(session, statements, each.getValue()),
                    params -> {},
                    row -> session.time(row, 1))
                .stream()
                .filter(due -> !due.isAfter(now))
                .forEach(due -> oldest.merge(each.getKey(), due, AdminLag::earlier));
          }
          return newest.values().stream()
              .map(key -> lag(key.text(), oldest.get(key.family()), now))
              .toList();
        });
  }

  /** Since when the first of the cells of one handler are due, or will be. */
  static String late(Session session, Statements statements, List<Cell> cells) {
    return Stream.of(FIRST_DUE, FIRST_PLACED)
        .flatMap(each -> statements.ofEachCell(cells, session.sql(each)).stream())
        .map(each -> "(" + each + ")")
        .collect(Collectors.joining(" UNION ALL ", "SELECT due_at FROM (", ") u"));
  }

  /** Numbers follow the time of receipt. */
  private Map<Integer, Instant> oldestFresh(Session session, Collection<List<Cell>> cells)
      throws SQLException {
    List<Range> firsts =
        cells.stream().flatMap(List::stream).map(cell -> Range.after(cell, 0, 1)).toList();
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
}
