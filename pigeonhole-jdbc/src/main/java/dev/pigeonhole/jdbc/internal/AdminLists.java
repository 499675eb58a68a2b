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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Deliveries by what they have in common. Lists go by the numbers of their rows, so that a page
 * begins where the last one ended, whatever came in between.
 */
final class AdminLists {

  private static final String POISONED =
      """
      SELECT m.source, m.id, m.received_at, h.handler_key, p.failures, p.crashes, p.releases, p.poisoned_at,
             p.error_code, p.error_type, p.error_text, '', p.fingerprint, p.failed_at, m.type
      FROM {poison} p
      JOIN {message} m ON m.seq = p.seq
      JOIN {handler} h ON h.key_id = p.key_id
      %s
      ORDER BY p.poisoned_at DESC, p.seq DESC
      LIMIT ?
      """;

  private static final String POISONED_OF_ALL = POISONED.formatted("");
  private static final String POISONED_OF_ONE = POISONED.formatted("WHERE p.handler IN (:kin)");

  // Index: failure_pk, with ten rows for each delivery at most. Nobody reads a hundred stacks.
  private static final String NEWEST_FAILURES =
      """
      SELECT f.seq, f.handler, f.error_code, f.error_type, f.error_text, '', f.fingerprint, f.failed_at
      FROM {failure} f
      WHERE f.seq :seqs
        AND f.number = (SELECT max(n.number) FROM {failure} n
                        WHERE n.seq = f.seq AND n.handler = f.handler)
      """;

  private final Jdbc jdbc;
  private final Families families;
  private final Statements statements;

  AdminLists(Jdbc jdbc, Families families, Statements statements) {
    this.jdbc = jdbc;
    this.families = families;
    this.statements = statements;
  }

  List<Listed<DeliveryView>> deliveries(DeliveryFilter filter, Slice slice) {
    return jdbc.read(
        session -> {
          List<Listed<DeliveryView>> rows = rows(session, filter, slice);
          Map<Place, Failure> failures = newestFailures(session, rows);
          return rows.stream()
              .map(
                  each ->
                      new Listed<>(
                          each.place(), withFailure(each.view(), failures.get(each.place()))))
              .toList();
        });
  }

  /** The same without their failures. */
  List<Listed<DeliveryView>> rows(DeliveryFilter filter, Slice slice) {
    return jdbc.read(session -> rows(session, filter, slice));
  }

  List<Listed<MessageRef>> named(DeliveryFilter filter, Slice slice) {
    return rows(filter, slice).stream()
        .map(each -> new Listed<>(each.place(), each.view().message()))
        .toList();
  }

  private Map<Place, Failure> newestFailures(Session session, List<Listed<DeliveryView>> rows)
      throws SQLException {
    Map<Place, Failure> failures = new HashMap<>();
    if (!rows.isEmpty()) {
      statements.bySeqs(
          session,
          NEWEST_FAILURES,
          rows.stream().map(each -> each.place().seq()).distinct().toList(),
          row ->
              failures.put(
                  new Place(row.getLong(1), row.getInt(2)),
                  JdbcDeliveries.failure(session, row, 3)));
    }
    return failures;
  }

  private List<Listed<DeliveryView>> rows(Session session, DeliveryFilter filter, Slice slice)
      throws SQLException {
    DeliveryQuery query = new DeliveryQuery(session, statements, filter);
    if (query.nobody()) {
      return List.of();
    }
    DeliveryQuery.Page page = query.page(slice);
    return statements.firstRows(
        session,
        page.text(),
        page.bind(),
        row ->
            new Listed<>(
                new Place(row.getLong(9), row.getInt(8)), view(session, row, query.now())));
  }

  private static DeliveryView view(Session session, ResultSet row, Instant now)
      throws SQLException {
    Instant due = session.dialect.read(row, 2);
    DeliveryState state = state(row.getString(1), due, now);
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

  static DeliveryView withFailure(DeliveryView view, @Nullable Failure failure) {
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
          DeliveryQuery query = new DeliveryQuery(session, statements, filter);
          return query.nobody() ? 0L : query.count(most);
        });
  }

  List<PoisonSample> failures(DeliveryFilter filter, int most) {
    return jdbc.read(
        session -> {
          DeliveryQuery query = new DeliveryQuery(session, statements, filter);
          if (query.nobody()) {
            return List.of();
          }
          DeliveryQuery.Page samples = query.samples(most);
          return session.query(
              samples.text(),
              samples.bind(),
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
                family == null ? POISONED_OF_ALL : families.ofKin(session, POISONED_OF_ONE, family),
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

  /** The state of a row by the letter of its table, see {@link DeliveryQuery}. */
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
