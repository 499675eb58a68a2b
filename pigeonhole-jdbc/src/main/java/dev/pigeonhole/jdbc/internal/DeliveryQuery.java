package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellRow;
import dev.pigeonhole.store.DeliveryFilter;
import dev.pigeonhole.store.Place;
import dev.pigeonhole.store.Slice;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The deliveries that a filter means, as statements. Pages go by (seq, handler). One costs what it
 * shows, whatever waits beside it:
 *
 * <ul>
 *   <li>{@code poison} and {@code receipt} have a key in that order and are walked along it.
 *   <li>The key of {@code delivery} begins with lane and handler. As many rows as the page has are
 *       read from the beginning or the end of each cell, and the first of them all are the page.
 *       That is a page times the number of cells at most, and nothing else is sorted. Walking along
 *       {@code message} instead would pass by all that has ended, which is nearly everything. What
 *       is blocked in {@code later} is read in the same way.
 *   <li>What is due or scheduled in {@code later} is met along its key, but among all the others:
 *       one due row in a million that are not would have to be searched for. The index {@code
 *       later_due} keeps them apart, in the order of their times. So those that are few are read by
 *       that index, all of them, and sorted; those that are many are met along the key, behind
 *       others only if those are newer than all of them.
 *   <li>An identity leads to one message, and that to its deliveries.
 * </ul>
 *
 * <p>Only words on the message or on its failures can make a page look at more rows: each row that
 * is met is then compared with them.
 */
final class DeliveryQuery {

  private static final int SAMPLE_CHARACTERS = 300;

  /** Fewer rows of one kind are read whole. */
  static final int FEW = 10_000;

  private static final String ROWS =
      """
      SELECT %s AS state, d.seq AS seq, d.handler AS handler, d.key_id AS key_id, d.failures AS failures,
             d.crashes AS crashes, d.releases AS releases, %s AS due_at, %s AS ended_at
      FROM %s d""";

  private static final String NO_TIME = "CAST(NULL AS :time)";

  private static final String ALONG_KEY = "d.seq%1$s, d.handler%1$s";
  private static final String SORTED = "d.seq + 0%1$s, d.handler + 0%1$s";

  // How MariaDB calls every primary key.
  private static final String PRIMARY = "PRIMARY";
  private static final String BY_KIND = "{name}later_due";

  // What has a place waits for nothing, like what is fresh.
  private static final String FRESH_OR_LATE = "CASE WHEN d.place > 0 THEN 'd' ELSE 'l' END";

  private static final String FRESH = ROWS.formatted("'d'", NO_TIME, NO_TIME, "{delivery}");
  private static final String LATE = ROWS.formatted(FRESH_OR_LATE, "d.due_at", NO_TIME, "{later}");
  private static final String POISONED =
      ROWS.formatted("'p'", NO_TIME, "d.poisoned_at", "{poison}");
  private static final String COMPLETED =
      ROWS.formatted("'r'", NO_TIME, "d.completed_at", "{receipt}");
  private static final String DISCARDED =
      ROWS.formatted("'x'", NO_TIME, "d.completed_at", "{receipt}");

  private static final String IS_COMPLETED = "d.outcome = " + Receipts.COMPLETED;
  private static final String IS_DISCARDED = "d.outcome = " + Receipts.DISCARDED;

  private static final String OF_MESSAGE = " JOIN {message} m ON m.seq = d.seq";

  // Index: failure_pk.
  private static final String FAILED_LIKE =
      """
      EXISTS (SELECT 1 FROM {failure} f
              WHERE f.seq = d.seq AND f.handler = d.handler AND f.fingerprint = ?)""";

  private static final String POISONED_LIKE = "d.fingerprint = ?";

  // Indexes: message_pk and handler_pk, for the rows of the page.
  private static final String PAGE =
      """
      SELECT s.state, s.due_at, s.ended_at, s.failures, s.crashes, s.releases, h.handler_key, s.handler,
             s.seq, m.source, m.id, m.type, m.received_at
      FROM (SELECT * FROM (:rows) u ORDER BY seq:way, handler:way LIMIT :limit) s
      JOIN {message} m ON m.seq = s.seq
      JOIN {handler} h ON h.key_id = s.key_id
      ORDER BY s.seq:way, s.handler:way
      """;

  // Index: poison_pk, from its end.
  private static final String SAMPLES =
      """
      SELECT d.fingerprint, d.error_type, substring(d.error_text, 1, %d), h.handler_key, d.poisoned_at
      FROM {poison} d JOIN {handler} h ON h.key_id = d.key_id"""
          .formatted(SAMPLE_CHARACTERS);

  /** A statement, and what binds its values. */
  record Page(String text, Session.Bind bind) {}

  /** A select of a union. */
  private record Select(String text, Where where) {}

  private final Session session;
  private final Statements statements;
  private final DeliveryFilter filter;
  private final List<Cell> cells;
  private final String lanes;
  private final String handlers;
  private final boolean anyHandler;
  private final Instant now;

  /** Looks at the cells and at the clock. */
  DeliveryQuery(Session session, Statements statements, DeliveryFilter filter) throws SQLException {
    if (filter.states().contains(DeliveryState.HELD)
        || filter.states().contains(DeliveryState.PAUSED)) {
      throw new IllegalArgumentException("No row says so: " + filter.states());
    }
    Set<Integer> families = filter.handlers();
    this.session = session;
    this.statements = statements;
    this.filter = filter;
    this.cells =
        Cells.read(session).stream()
            .map(CellRow::cell)
            .filter(cell -> families == null || families.contains(cell.handler()))
            .toList();
    this.lanes = Lists.numbers(new TreeSet<>(cells.stream().map(Cell::lane).toList()));
    this.handlers = Lists.numbers(new TreeSet<>(cells.stream().map(Cell::handler).toList()));
    this.anyHandler = families == null;
    this.now = session.now();
  }

  /** Whether nobody can have such a delivery: every family has its cells. */
  boolean nobody() {
    return cells.isEmpty();
  }

  /** What is due by now is pending. */
  Instant now() {
    return now;
  }

  // ---- pages

  /** Reads state, due_at, ended_at, counters, key, handler, seq, and the message. */
  Page page(Slice slice) throws SQLException {
    Set<DeliveryState> states = filter.states();
    List<Select> selects = new ArrayList<>();
    if (states.contains(DeliveryState.PENDING)) {
      selects.addAll(fresh(slice));
    }
    selects.addAll(late(slice));
    if (states.contains(DeliveryState.POISONED)) {
      selects.add(along(POISONED, null, byKey(null, POISONED_LIKE, slice), slice));
    }
    if (states.contains(DeliveryState.COMPLETED)) {
      selects.add(along(COMPLETED, null, byKey(IS_COMPLETED, FAILED_LIKE, slice), slice));
    }
    if (states.contains(DeliveryState.DISCARDED)) {
      selects.add(along(DISCARDED, null, byKey(IS_DISCARDED, FAILED_LIKE, slice), slice));
    }
    String text =
        session
            .sql(PAGE)
            .replace(":way", way(slice))
            .replace(":limit", String.valueOf(slice.limit()))
            .replace(
                ":rows",
                selects.stream().map(Select::text).collect(Collectors.joining(" UNION ALL ")));
    return new Page(
        text,
        params -> {
          for (Select each : selects) {
            each.where().bind(params);
          }
        });
  }

  private static String way(Slice slice) {
    return slice.oldestFirst() ? "" : " DESC";
  }

  private List<Select> fresh(Slice slice) {
    return identified()
        ? List.of(along(FRESH, null, fromMessage(slice), slice))
        : inEachCell(FRESH, PRIMARY, null, "", slice);
  }

  private List<Select> late(Slice slice) throws SQLException {
    Set<LateKind> wanted = LateKind.in(filter.states());
    if (wanted.isEmpty()) {
      return List.of();
    }
    if (identified() || wanted.size() == LateKind.values().length) {
      return List.of(among(wanted, slice));
    }
    List<Select> selects = new ArrayList<>();
    Set<LateKind> many = EnumSet.noneOf(LateKind.class);
    for (LateKind kind : wanted) {
      if (kind == LateKind.BLOCKED) { // they share their due time, so their numbers sort them
        selects.addAll(inEachCell(LATE, BY_KIND, kind.range, "d.due_at%1$s, ", slice));
      } else if (few(kind)) {
        selects.add(whole(kind, slice));
      } else {
        many.add(kind);
      }
    }
    if (!many.isEmpty()) {
      selects.add(among(many, slice));
    }
    return selects;
  }

  private boolean few(LateKind kind) throws SQLException {
    String from = session.sql("{later}") + " d" + statements.by(session.sql(BY_KIND));
    return count(from, inCells(kind.range), FEW) < FEW;
  }

  /**
   * The first rows of each cell, by an index that has them in order.
   *
   * @param prefix the column of the index before their numbers, in which they are alike
   */
  private List<Select> inEachCell(
      String rows, String index, @Nullable String range, String prefix, Slice slice) {
    Where where = new Where().and("d.lane = :lane").and("d.handler = :handler");
    if (range != null) {
      where.and(timed(range));
    }
    narrow(where, FAILED_LIKE);
    after(where, slice, "d.seq");
    String ofCell = text(rows, index, where, prefix + ALONG_KEY, slice);
    return statements.ofEachCell(cells, ofCell).stream()
        .map(each -> new Select("(" + each + ")", where))
        .toList();
  }

  /** All of one kind by their index. No index knows a sum, so none but that one can be taken. */
  private Select whole(LateKind kind, Slice slice) {
    Where where = inCells(kind.range);
    narrow(where, FAILED_LIKE);
    after(where, slice, "d.seq + 0");
    return select(LATE, BY_KIND, where, SORTED, slice);
  }

  /** Those of several kinds as they are met along the key. */
  private Select among(Set<LateKind> kinds, Slice slice) {
    Where where = new Where();
    if (kinds.size() < LateKind.values().length) {
      where.and(timed(LateKind.isOneOf(kinds)));
    }
    if (!anyHandler) {
      where.and("d.handler + 0 IN (" + handlers + ")");
    }
    narrow(where, FAILED_LIKE);
    after(where, slice, "d.seq");
    return along(LATE, PRIMARY, where, slice);
  }

  private Select along(String rows, @Nullable String index, Where where, Slice slice) {
    return select(rows, index, where, ALONG_KEY, slice);
  }

  private Select select(
      String rows, @Nullable String index, Where where, String order, Slice slice) {
    return new Select("(" + text(rows, index, where, order, slice) + ")", where);
  }

  private String text(String rows, @Nullable String index, Where where, String order, Slice slice) {
    return session.sql(rows).replace(":time", session.dialect.timeType())
        + joined(index)
        + where.text()
        + " ORDER BY "
        + order.formatted(way(slice))
        + " LIMIT "
        + slice.limit();
  }

  /**
   * What stands behind {@code d}.
   *
   * @param index by which to read it, unless a message leads to it
   */
  private String joined(@Nullable String index) {
    String by = index == null || identified() ? "" : statements.by(session.sql(index));
    return by + (ofMessage() ? session.sql(OF_MESSAGE) : "");
  }

  /** Reads fingerprint, type, the beginning of the text, key and time of poisoned ones. */
  Page samples(int most) {
    Where where = byKey(null, POISONED_LIKE, null);
    String text =
        session.sql(SAMPLES) + joined(null) + where.text() + " ORDER BY d.seq DESC LIMIT " + most;
    return new Page(text, where::bind);
  }

  // ---- counts

  /** How many there are, counted no further than this. */
  long count(int most) throws SQLException {
    Set<DeliveryState> states = filter.states();
    long found = 0;
    if (states.contains(DeliveryState.PENDING)) {
      found += count(from("{delivery}", PRIMARY), narrowed(inCells(null)), most);
    }
    for (LateKind kind : LateKind.in(states)) {
      found += count(from("{later}", BY_KIND), narrowed(inCells(kind.range)), most);
    }
    if (states.contains(DeliveryState.POISONED)) {
      found += count(from("{poison}", null), byKey(null, POISONED_LIKE, null), most);
    }
    if (states.contains(DeliveryState.COMPLETED)) {
      found += count(from("{receipt}", null), byKey(IS_COMPLETED, FAILED_LIKE, null), most);
    }
    if (states.contains(DeliveryState.DISCARDED)) {
      found += count(from("{receipt}", null), byKey(IS_DISCARDED, FAILED_LIKE, null), most);
    }
    return Math.min(found, most);
  }

  private String from(String table, @Nullable String index) {
    return session.sql(table) + " d" + joined(index);
  }

  private long count(String from, Where where, int most) throws SQLException {
    return statements
        .firstRows(session, where.counting(from, most), where::bind, row -> row.getLong(1))
        .get(0);
  }

  // ---- conditions

  private Where byKey(@Nullable String condition, String failedLike, @Nullable Slice slice) {
    Where where = new Where();
    if (condition != null) {
      where.and(condition);
    }
    if (!anyHandler) {
      where.and("d.handler IN (" + handlers + ")");
    }
    narrow(where, failedLike);
    if (slice != null) {
      after(where, slice, "d.seq");
    }
    return where;
  }

  /** The key of fresh rows begins with lane and handler: with both, a message leads to them. */
  private Where fromMessage(Slice slice) {
    Where where = new Where().and("d.lane = m.lane").and("d.handler IN (" + handlers + ")");
    narrow(where, FAILED_LIKE);
    after(where, slice, "d.seq");
    return where;
  }

  private Where inCells(@Nullable String range) {
    Where where =
        new Where().and("d.lane IN (" + lanes + ")").and("d.handler IN (" + handlers + ")");
    return range == null ? where : where.and(timed(range));
  }

  private Where narrowed(Where where) {
    narrow(where, FAILED_LIKE);
    return where;
  }

  private void narrow(Where where, String failedLike) {
    where.ofMessage(
        filter.type(),
        filter.channel(),
        filter.source(),
        filter.id(),
        filter.receivedFrom(),
        filter.receivedBefore());
    String fingerprint = filter.fingerprint();
    if (fingerprint != null) {
      where.and(session.sql(failedLike), params -> params.add(fingerprint));
    }
  }

  private static void after(Where where, Slice slice, String seq) {
    Place last = slice.after();
    if (last != null) {
      String beyond = slice.oldestFirst() ? ">" : "<";
      // The first comparison is a range of the index, the second only cuts its first row.
      where.and(
          "%2$s %1$s= ? AND (%2$s %1$s ? OR d.handler %1$s ?)".formatted(beyond, seq),
          params -> params.add(last.seq()).add(last.seq()).add(last.handler()));
    }
  }

  private String timed(String condition) {
    return condition.replace(":now", session.dialect.literal(now));
  }

  private boolean identified() {
    return filter.source() != null && filter.id() != null;
  }

  private boolean ofMessage() {
    return filter.type() != null
        || filter.channel() != null
        || filter.source() != null
        || filter.id() != null
        || filter.receivedFrom() != null
        || filter.receivedBefore() != null;
  }
}
