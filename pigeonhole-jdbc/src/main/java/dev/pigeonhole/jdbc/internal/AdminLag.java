package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.admin.HandlerLag;
import dev.pigeonhole.jdbc.internal.AdminCounts.Key;
import dev.pigeonhole.store.CellRow;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.Range;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** How far behind each handler is. */
final class AdminLag {

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
          Map<Integer, Instant> oldest = oldestFresh(session, newest.keySet());
          session.query(
              session
                  .sql(OLDEST_DUE)
                  .replace(":families", Lists.numbers(newest.keySet()))
                  .replace(":lanes", AdminCounts.lanes(session)),
              params -> {},
              row -> oldest.merge(row.getInt(1), session.time(row, 2), AdminLag::earlier));
          return newest.values().stream()
              .map(key -> lag(key.text(), oldest.get(key.family()), now))
              .toList();
        });
  }

  /** The first row of each cell tells; numbers follow the time of receipt. */
  private Map<Integer, Instant> oldestFresh(Session session, Set<Integer> wanted)
      throws SQLException {
    List<Range> firsts =
        Cells.read(session).stream()
            .map(CellRow::cell)
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
}
