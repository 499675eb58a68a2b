package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.Failure;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.admin.ConflictView;
import dev.pigeonhole.admin.Content;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.admin.MessageDetail;
import dev.pigeonhole.admin.MessageView;
import dev.pigeonhole.store.DeliveryFilter;
import dev.pigeonhole.store.Listed;
import dev.pigeonhole.store.MessageState;
import dev.pigeonhole.store.Place;
import dev.pigeonhole.store.Slice;
import dev.pigeonhole.store.StoredMessage;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/** All that is known of one message, or of one of its deliveries. */
final class AdminDetail {
  private static final int MOST_HANDLERS = 10_000;

  private static final Set<DeliveryState> ALL_STATES =
      Set.of(
          DeliveryState.PENDING,
          DeliveryState.SCHEDULED,
          DeliveryState.BLOCKED,
          DeliveryState.COMPLETED,
          DeliveryState.DISCARDED,
          DeliveryState.POISONED);

  // Indexes: delivery_pk, later_pk, poison_pk, receipt_pk; one of the four holds the family, or two
  // of its kin, each in one, if the message came while they were apart.
  private static final String STATE =
      """
      SELECT s.state, s.due_at, s.ended_at, s.failures, s.crashes, s.releases, h.handler_key, s.handler
      FROM (SELECT 'd' AS state, CAST(NULL AS :time) AS due_at, CAST(NULL AS :time) AS ended_at,
                   failures, crashes, releases, key_id, handler
            FROM {delivery} WHERE lane = :lane AND seq = :seq AND handler IN (:kin)
            UNION ALL
            SELECT CASE WHEN place > 0 THEN 'd' ELSE 'l' END, due_at, CAST(NULL AS :time), failures, crashes, releases, key_id, handler
            FROM {later} WHERE seq = :seq AND handler IN (:kin)
            UNION ALL
            SELECT 'p', CAST(NULL AS :time), poisoned_at, failures, crashes, releases, key_id, handler
            FROM {poison} WHERE seq = :seq AND handler IN (:kin)
            UNION ALL
            SELECT CASE WHEN outcome = 1 THEN 'x' ELSE 'r' END, CAST(NULL AS :time), completed_at, failures, crashes, releases, key_id, handler
            FROM {receipt} WHERE seq = :seq AND handler IN (:kin) AND %s) s
      JOIN {handler} h ON h.key_id = s.key_id
      ORDER BY CASE WHEN s.handler = ? THEN 0 ELSE 1 END
      """
          .formatted(Receipts.COUNTS);

  // Index: message_identity.
  private static final String MESSAGE = MessageLists.SELECT + " WHERE m.source = ? AND m.id = ?";

  // Index: message_pk.
  private static final String LANE = "SELECT lane FROM {message} WHERE seq = ?";

  // Index: failure_pk.
  private static final String FAILURES =
      """
      SELECT handler, number, error_code, error_type, error_text, stack, fingerprint, failed_at
      FROM {failure} WHERE seq = ?
      """;

  // Index: edit_pk.
  private static final String EDITS =
      "SELECT handler, content, edited_at, actor, reason FROM {edit} WHERE seq = ?";

  private final Jdbc jdbc;
  private final Families families;
  private final Statements statements;
  private final AdminLists lists;

  AdminDetail(Jdbc jdbc, Families families, Statements statements, AdminLists lists) {
    this.jdbc = jdbc;
    this.families = families;
    this.statements = statements;
    this.lists = lists;
  }

  /** The delivery of this message to the family, or to one that counts as it. */
  Optional<DeliveryView> find(String source, String id, int family) {
    return jdbc.read(
        session -> {
          Optional<FoundMessage> message = FoundMessage.of(session, statements, source, id);
          if (message.isEmpty()) {
            return Optional.empty();
          }
          FoundMessage found = message.get();
          Map<List<Long>, Failure> failures =
              JdbcDeliveries.newestFailures(session, statements, List.of(found.seq()), "");
          String text =
              families
                  .ofKin(session, STATE, family)
                  .replace(":time", session.dialect.timeType())
                  .replace(":lane", String.valueOf(found.lane()))
                  .replace(":seq", String.valueOf(found.seq()));
          return statements
              .guarded(
                  session,
                  text,
                  params -> params.add(family),
                  row -> view(session, row, new MessageRef(source, id), found, failures))
              .stream()
              .findFirst();
        });
  }

  private static DeliveryView view(
      Session session,
      ResultSet row,
      MessageRef ref,
      FoundMessage found,
      Map<List<Long>, Failure> failures)
      throws SQLException {
    Instant due = session.dialect.read(row, 2);
    DeliveryState state = AdminLists.state(row.getString(1), due, found.now());
    return new DeliveryView(
        ref,
        found.type(),
        row.getString(7),
        state,
        row.getInt(4),
        row.getInt(5),
        row.getInt(6),
        found.receivedAt(),
        state == DeliveryState.SCHEDULED ? Optional.ofNullable(due) : Optional.empty(),
        Optional.ofNullable(session.dialect.read(row, 3)),
        Optional.ofNullable(failures.get(List.of(found.seq(), row.getLong(8)))));
  }

  private record Found(long seq, MessageView view) {}

  Optional<MessageState> message(String source, String id) {
    Optional<Found> found =
        jdbc.read(
            session ->
                session.one(
                    MESSAGE,
                    params -> params.add(source).add(id),
                    row -> new Found(row.getLong(1), MessageLists.message(session, row))));
    return found.flatMap(each -> state(each, source, id));
  }

  private Optional<MessageState> state(Found found, String source, String id) {
    DeliveryFilter all =
        new DeliveryFilter(ALL_STATES, null, null, null, source, id, null, null, null);
    List<Listed<DeliveryView>> deliveries = lists.rows(all, new Slice(null, true, MOST_HANDLERS));
    return jdbc.read(
        session -> {
          StoredMessage message =
              Loads.load(session, statements, List.of(found.seq()), Long.MAX_VALUE)
                  .messages()
                  .get(found.seq());
          if (message == null) { // pruned in between
            return Optional.empty();
          }
          int lane =
              session.one(LANE, params -> params.add(found.seq()), row -> row.getInt(1)).orElse(0);
          Map<Integer, List<Failure>> failures = failures(session, found.seq());
          Map<Integer, MessageDetail.Edit> edits = edits(session, found.seq(), message);
          List<ConflictView> conflicts = Conflicts.of(session, found.seq());
          return Optional.of(
              new MessageState(
                  found.view(),
                  message,
                  lane,
                  deliveries.stream()
                      .map(each -> delivery(each.place(), each.view(), failures, edits))
                      .toList(),
                  conflicts));
        });
  }

  private static MessageDetail.Delivery delivery(
      Place place,
      DeliveryView view,
      Map<Integer, List<Failure>> failures,
      Map<Integer, MessageDetail.Edit> edits) {
    List<Failure> newestFirst = failures.getOrDefault(place.handler(), List.of());
    return new MessageDetail.Delivery(
        AdminLists.withFailure(view, newestFirst.isEmpty() ? null : newestFirst.get(0)),
        newestFirst,
        Optional.ofNullable(edits.get(place.handler())));
  }

  private static Map<Integer, List<Failure>> failures(Session session, long seq)
      throws SQLException {
    Map<Integer, Map<Integer, Failure>> byNumber = new HashMap<>();
    session.query(
        FAILURES,
        params -> params.add(seq),
        row ->
            byNumber
                .computeIfAbsent(row.getInt(1), any -> new TreeMap<>(Comparator.reverseOrder()))
                .put(row.getInt(2), JdbcDeliveries.failure(session, row, 3)));
    Map<Integer, List<Failure>> newestFirst = new HashMap<>();
    byNumber.forEach((handler, all) -> newestFirst.put(handler, List.copyOf(all.values())));
    return newestFirst;
  }

  private static Map<Integer, MessageDetail.Edit> edits(
      Session session, long seq, StoredMessage message) throws SQLException {
    Map<Integer, MessageDetail.Edit> edits = new HashMap<>();
    session.query(
        EDITS,
        params -> params.add(seq),
        row ->
            edits.put(
                row.getInt(1),
                new MessageDetail.Edit(
                    new Content(row.getBytes(2), message.contentType()),
                    session.time(row, 3),
                    row.getString(4),
                    row.getString(5))));
    return edits;
  }
}
