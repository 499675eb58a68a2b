package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.Failure;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.store.DeliveryFilter;
import dev.pigeonhole.store.Listed;
import dev.pigeonhole.store.Place;
import dev.pigeonhole.store.PoisonSample;
import dev.pigeonhole.store.Slice;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Deliveries by what they have in common. Lists go by the numbers of their rows, so that a page
 * begins where the last one ended, whatever came in between.
 */
final class AdminLists {
  private static final int SAMPLE_CHARACTERS = 300;

  /**
   * One table that holds deliveries of some state.
   *
   * @param state its letter, see {@link #state}
   * @param condition null for all of its rows
   */
  private record Part(
      String state, String table, String due, String ended, @Nullable String condition) {}

  private static final String NO_TIME = "CAST(NULL AS :time)";

  private static final String ROWS =
      """
      SELECT '%s' AS state, d.seq AS seq, d.handler AS handler, d.key_id AS key_id, d.failures AS failures,
             d.crashes AS crashes, d.releases AS releases, %s AS due_at, %s AS ended_at
      FROM %s d""";

  private static final String OF_MESSAGE = " JOIN {message} m ON m.seq = d.seq";

  private static final String ANY_HANDLER = "d.handler IN (SELECT family FROM {handler})";

  private static final String FAILED_LIKE =
      """
      EXISTS (SELECT 1 FROM {failure} f
              WHERE f.seq = d.seq AND f.handler = d.handler AND f.fingerprint = ?)""";

  // Indexes: message_pk and handler_pk, for the rows of one page.
  private static final String PAGE =
      """
      SELECT s.state, s.due_at, s.ended_at, s.failures, s.crashes, s.releases, h.handler_key, s.handler,
             s.seq, m.source, m.id, m.type, m.received_at, {now}
      FROM (:rows) s
      JOIN {message} m ON m.seq = s.seq
      JOIN {handler} h ON h.key_id = s.key_id
      """;

  private static final String SAMPLES =
      """
      SELECT d.fingerprint, d.error_type, substring(d.error_text, 1, %d), h.handler_key, d.poisoned_at
      FROM {poison} d JOIN {handler} h ON h.key_id = d.key_id"""
          .formatted(SAMPLE_CHARACTERS);

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

  private final Jdbc jdbc;
  private final Families families;
  private final Statements statements;

  AdminLists(Jdbc jdbc, Families families, Statements statements) {
    this.jdbc = jdbc;
    this.families = families;
    this.statements = statements;
  }

  private static List<Part> parts(Set<DeliveryState> states) {
    List<Part> parts = new ArrayList<>();
    for (DeliveryState state : new TreeSet<>(states)) {
      switch (state) {
        case PENDING -> {
          parts.add(new Part("d", "{delivery}", NO_TIME, NO_TIME, null));
          parts.add(new Part("l", "{later}", "d.due_at", NO_TIME, "d.due_at <= {now}"));
        }
        case SCHEDULED ->
            parts.add(new Part("l", "{later}", "d.due_at", NO_TIME, "d.due_at > {now}"));
        case BLOCKED ->
            parts.add(new Part("l", "{later}", "d.due_at", NO_TIME, "d.due_at IS NULL"));
        case COMPLETED ->
            parts.add(new Part("r", "{receipt}", NO_TIME, "d.completed_at", "d.outcome <> 1"));
        case DISCARDED ->
            parts.add(new Part("x", "{receipt}", NO_TIME, "d.completed_at", "d.outcome = 1"));
        case POISONED -> parts.add(new Part("p", "{poison}", NO_TIME, "d.poisoned_at", null));
        case HELD, PAUSED -> throw new IllegalArgumentException("No row says so: " + state);
      }
    }
    return parts;
  }

  private Where where(Session session, Part part, DeliveryFilter filter, @Nullable Slice slice) {
    Where where = new Where();
    String condition = part.condition();
    if (condition != null) {
      where.and(session.sql(condition));
    }
    Set<Integer> handlers = filter.handlers();
    if (handlers != null) {
      where.and("d.handler IN (" + Lists.numbers(kin(handlers)) + ")");
    }
    if (part.state().equals("d") && needsMessage(filter)) {
      // Its key begins with lane and handler: with both, a message leads to its deliveries.
      where.and("d.lane = m.lane");
      if (handlers == null) {
        where.and(session.sql(ANY_HANDLER));
      }
    }
    where.ofMessage(
        filter.type(),
        filter.channel(),
        filter.source(),
        filter.id(),
        filter.receivedFrom(),
        filter.receivedBefore());
    String fingerprint = filter.fingerprint();
    if (fingerprint != null) {
      where.and(
          part.state().equals("p") ? "d.fingerprint = ?" : session.sql(FAILED_LIKE),
          params -> params.add(fingerprint));
    }
    if (slice != null) {
      after(where, slice);
    }
    return where;
  }

  private Collection<Integer> kin(Set<Integer> handlers) {
    return handlers.stream()
        .flatMap(each -> families.kin(each).stream())
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static void after(Where where, Slice slice) {
    Place last = slice.after();
    if (last != null) {
      String beyond = slice.oldestFirst() ? ">" : "<";
      // The first comparison is a range of the index, the second only cuts its first row.
      where.and(
          "d.seq %1$s= ? AND (d.seq %1$s ? OR d.handler %1$s ?)".formatted(beyond),
          params -> params.add(last.seq()).add(last.seq()).add(last.handler()));
    }
  }

  private static boolean needsMessage(DeliveryFilter filter) {
    return filter.type() != null
        || filter.channel() != null
        || filter.source() != null
        || filter.id() != null
        || filter.receivedFrom() != null
        || filter.receivedBefore() != null;
  }

  List<Listed<DeliveryView>> deliveries(DeliveryFilter filter, Slice slice) {
    return jdbc.read(
        session -> {
          String way = slice.oldestFirst() ? "" : " DESC";
          String end = " ORDER BY seq%1$s, handler%1$s LIMIT %2$d".formatted(way, slice.limit());
          List<Where> wheres = new ArrayList<>();
          List<String> selects = new ArrayList<>();
          for (Part part : parts(filter.states())) {
            Where where = where(session, part, filter, slice);
            wheres.add(where);
            selects.add(
                "("
                    + session
                        .sql(ROWS.formatted(part.state(), part.due(), part.ended(), part.table()))
                        .replace(":time", session.dialect.timeType())
                    + (needsMessage(filter) ? session.sql(OF_MESSAGE) : "")
                    + where.text()
                    + end
                    + ")");
          }
          String text =
              session.sql(PAGE).replace(":rows", union(selects, end))
                  + " ORDER BY s.seq%1$s, s.handler%1$s".formatted(way);
          record Row(Place place, DeliveryView view) {}
          List<Row> rows =
              session.query(
                  text,
                  params -> {
                    for (Where where : wheres) {
                      where.bind(params);
                    }
                  },
                  row -> new Row(new Place(row.getLong(9), row.getInt(8)), view(session, row)));
          Map<List<Long>, Failure> failures =
              rows.isEmpty()
                  ? Map.of()
                  : JdbcDeliveries.newestFailures(
                      session,
                      statements,
                      rows.stream().map(each -> each.place().seq()).distinct().toList());
          return rows.stream()
              .map(
                  each ->
                      new Listed<>(
                          each.place(), withFailure(each.view(), failure(failures, each.place()))))
              .toList();
        });
  }

  /** One select may not be sorted and cut twice. */
  private static String union(List<String> selects, String end) {
    return selects.size() == 1 ? selects.get(0) : String.join(" UNION ALL ", selects) + end;
  }

  private static @Nullable Failure failure(Map<List<Long>, Failure> failures, Place place) {
    return failures.get(List.of(place.seq(), (long) place.handler()));
  }

  /** Reads state, times, counters and key from the first columns, the message from the others. */
  private static DeliveryView view(Session session, ResultSet row) throws SQLException {
    Instant due = session.dialect.read(row, 2);
    DeliveryState state = state(row.getString(1), due, session.time(row, 14));
    return new DeliveryView(
        new MessageRef(row.getString(10), row.getString(11)),
        row.getString(12),
        row.getString(7),
        state,
        row.getInt(4),
        row.getInt(5),
        row.getInt(6),
        session.time(row, 13),
        state == DeliveryState.SCHEDULED ? Optional.ofNullable(due) : Optional.empty(),
        Optional.ofNullable(session.dialect.read(row, 3)),
        Optional.empty());
  }

  private static DeliveryView withFailure(DeliveryView view, @Nullable Failure failure) {
    return new DeliveryView(
        view.message(),
        view.type(),
        view.handler(),
        view.state(),
        view.failures(),
        view.crashes(),
        view.releases(),
        view.receivedAt(),
        view.due(),
        view.ended(),
        Optional.ofNullable(failure));
  }

  long count(DeliveryFilter filter, int most) {
    return jdbc.read(
        session -> {
          long found = 0;
          for (Part part : parts(filter.states())) {
            Where where = where(session, part, filter, null);
            String from =
                session.sql(part.table())
                    + " d"
                    + (needsMessage(filter) ? session.sql(OF_MESSAGE) : "");
            found += where.count(session, from, most);
          }
          return Math.min(found, most);
        });
  }

  List<PoisonSample> failures(DeliveryFilter filter, int most) {
    Part poison = parts(Set.of(DeliveryState.POISONED)).get(0);
    return jdbc.read(
        session -> {
          Where where = where(session, poison, filter, null);
          return session.query(
              session.sql(SAMPLES)
                  + (needsMessage(filter) ? session.sql(OF_MESSAGE) : "")
                  + where.text()
                  + " ORDER BY d.seq DESC LIMIT "
                  + most,
              where::bind,
              row ->
                  new PoisonSample(
                      row.getString(1),
                      row.getString(2),
                      row.getString(3),
                      row.getString(4),
                      session.time(row, 5)));
        });
  }

  List<DeliveryView> poisoned(@Nullable Integer family, int limit) {
    return jdbc.read(
        session ->
            session.query(
                family == null
                    ? POISONED_OF_ALL
                    : families.ofKin(session, POISONED_OF_ONE, family),
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
}
