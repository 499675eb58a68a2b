package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Failure;
import dev.pigeonhole.store.Ahead;
import dev.pigeonhole.store.AheadRead;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellLimit;
import dev.pigeonhole.store.CrashPoints;
import dev.pigeonhole.store.Deliveries;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.DueRange;
import dev.pigeonhole.store.DueRead;
import dev.pigeonhole.store.Loaded;
import dev.pigeonhole.store.MarkResult;
import dev.pigeonhole.store.Range;
import dev.pigeonhole.store.SettleResult;
import dev.pigeonhole.store.Settlement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Reads deliveries and messages; settles through {@link JdbcSettles}. */
final class JdbcDeliveries implements Deliveries {

  private static final int SEQS_PER_STATEMENT = 1000;

  // Indexes: delivery_pk, later_due. All values are numbers, so they stand in the text.
  private static final String WAITING =
      """
      SELECT %1$d, count(*)
      FROM ((SELECT 1 AS one FROM {delivery} WHERE lane IN (%2$s) AND handler = %1$d LIMIT %3$d)
            UNION ALL
            (SELECT 1 AS one FROM {later}
             WHERE lane IN (%2$s) AND handler = %1$d AND place > 0 LIMIT %3$d)
            LIMIT %3$d) w%1$d
      """;

  // Index: failure_pk, with ten rows for each delivery at most. Only the newest is sent, with its
  // stack: ten of each handler of each message would be too much for a small heap.
  private static final String NEWEST_FAILURES =
      """
      SELECT f.seq, f.handler, f.error_code, f.error_type, f.error_text, f.stack, f.fingerprint,
             f.failed_at
      FROM {failure} f
      WHERE f.seq :seqs :handlers
        AND f.number = (SELECT max(n.number) FROM {failure} n
                        WHERE n.seq = f.seq AND n.handler = f.handler)
      """;

  // Index: delivery_pk or later_pk.
  private static final String MARK =
      """
      UPDATE %s SET mark = ?, crashes = crashes + ?
      WHERE lane = ? AND handler = ? AND seq = ? AND version = ?
      """;

  private static final String MARK_FRESH = MARK.formatted("{delivery}");
  private static final String MARK_LATE = MARK.formatted("{later}");

  private final Jdbc jdbc;
  private final Statements statements;
  private final JdbcSettles settles;

  JdbcDeliveries(Jdbc jdbc, Statements statements, Settling settling) {
    this.jdbc = jdbc;
    this.statements = statements;
    this.settles = new JdbcSettles(jdbc, statements, settling);
  }

  @Override
  public List<Delivery> fresh(List<Range> ranges) {
    return ranges.isEmpty() ? List.of() : jdbc.read(session -> statements.fresh(session, ranges));
  }

  @Override
  public DueRead due(List<DueRange> ranges) {
    return ranges.isEmpty()
        ? new DueRead(List.of(), Optional.empty(), Map.of())
        : jdbc.read(session -> statements.due(session, ranges));
  }

  @Override
  public List<Delivery> placed(List<CellLimit> cells) {
    return cells.isEmpty() ? List.of() : jdbc.read(session -> statements.placed(session, cells));
  }

  @Override
  public AheadRead ahead(List<Ahead> rows) {
    return rows.isEmpty()
        ? new AheadRead(List.of(), Set.of())
        : jdbc.read(session -> statements.ahead(session, rows));
  }

  @Override
  public Map<Integer, Integer> waiting(List<Cell> cells, int atMost) {
    if (cells.isEmpty()) {
      return Map.of();
    }
    Map<Integer, List<Integer>> lanes = new TreeMap<>();
    for (Cell cell : cells) {
      lanes.computeIfAbsent(cell.handler(), family -> new ArrayList<>()).add(cell.lane());
    }
    return jdbc.read(
        session -> {
          String each = session.sql(WAITING);
          String text =
              lanes.entrySet().stream()
                  .map(it -> each.formatted(it.getKey(), Lists.numbers(it.getValue()), atMost))
                  .collect(Collectors.joining("UNION ALL\n"));
          Map<Integer, Integer> waiting = new HashMap<>();
          statements.guarded(
              session, text, params -> {}, row -> waiting.put(row.getInt(1), row.getInt(2)));
          return waiting;
        });
  }

  @Override
  public Loaded load(List<Long> seqs, long bytes) {
    return jdbc.read(session -> Loads.load(session, statements, seqs, bytes));
  }

  @Override
  public Map<Delivery, Failure> lastFailures(List<Delivery> deliveries) {
    if (deliveries.isEmpty()) {
      return Map.of();
    }
    String handlers =
        deliveries.stream()
            .map(each -> String.valueOf(each.cell().handler()))
            .distinct()
            .sorted()
            .collect(Collectors.joining(", ", "AND f.handler IN (", ")"));
    Map<List<Long>, Failure> newest =
        jdbc.read(
            session ->
                newestFailures(
                    session,
                    statements,
                    deliveries.stream().map(Delivery::seq).distinct().toList(),
                    handlers));
    Map<Delivery, Failure> answer = new LinkedHashMap<>();
    for (Delivery each : deliveries) {
      Failure failure = newest.get(List.of(each.seq(), (long) each.cell().handler()));
      if (failure != null) {
        answer.put(each, failure);
      }
    }
    return answer;
  }

  /**
   * The failure with the highest number of each (seq, handler).
   *
   * @param handlers a condition that chooses handlers; empty for all
   */
  static Map<List<Long>, Failure> newestFailures(
      Session session, Statements statements, List<Long> seqs, String handlers)
      throws SQLException {
    Map<List<Long>, Failure> newest = new HashMap<>();
    String text = session.sql(NEWEST_FAILURES).replace(":handlers", handlers);
    for (List<Long> part : Lists.chunks(seqs, SEQS_PER_STATEMENT)) {
      statements.bySeqs(
          session,
          text,
          part,
          row -> newest.put(List.of(row.getLong(1), row.getLong(2)), failure(session, row, 3)));
    }
    return newest;
  }

  /** Reads code, type, text, stack, fingerprint and time from this column on. */
  static Failure failure(Session session, ResultSet row, int first) throws SQLException {
    return new Failure(
        ErrorCode.of(row.getString(first)),
        row.getString(first + 1),
        row.getString(first + 2),
        row.getString(first + 3),
        row.getString(first + 4),
        session.time(row, first + 5));
  }

  @Override
  public SettleResult settle(List<Settlement> settlements) {
    return settles.settle(settlements);
  }

  @Override
  public MarkResult mark(List<Delivery> deliveries, long incarnation, boolean lone) {
    if (deliveries.isEmpty()) {
      return MarkResult.allMarked();
    }
    MarkResult result =
        jdbc.transaction(
            session -> {
              // Locked rows are left out: a unit of a node that seems dead may still hold them.
              Set<Delivery> there = statements.lock(session, deliveries, true);
              for (boolean late : new boolean[] {false, true}) {
                session.batch(
                    late ? MARK_LATE : MARK_FRESH,
                    there.stream().filter(each -> each.late() == late).sorted(Named.ORDER).toList(),
                    (params, each) -> Named.bind(params.add(incarnation).add(lone ? 1 : 0), each));
              }
              CrashPoints.reach("mark.before-commit");
              Set<Delivery> missing = new LinkedHashSet<>(deliveries);
              missing.removeAll(there);
              if (missing.isEmpty()) {
                return MarkResult.allMarked();
              }
              Set<Delivery> locked = statements.there(session, List.copyOf(missing));
              missing.removeAll(locked);
              return new MarkResult(missing, locked);
            });
    CrashPoints.reach("mark.after-commit");
    return result;
  }
}
