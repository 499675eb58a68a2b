package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.Failure;
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
import java.sql.SQLException;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/** All that is known of one message. */
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

  // Index: message_identity.
  private static final String MESSAGE = AdminLists.MESSAGES + " WHERE m.source = ? AND m.id = ?";

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
  private final AdminLists lists;
  private final Statements statements;

  AdminDetail(Jdbc jdbc, AdminLists lists, Statements statements) {
    this.jdbc = jdbc;
    this.lists = lists;
    this.statements = statements;
  }

  private record Found(long seq, MessageView view) {}

  Optional<MessageState> message(String source, String id) {
    Optional<Found> found =
        jdbc.read(
            session ->
                session.one(
                    MESSAGE,
                    params -> params.add(source).add(id),
                    row -> new Found(row.getLong(1), AdminLists.message(session, row))));
    return found.flatMap(each -> state(each, source, id));
  }

  private Optional<MessageState> state(Found found, String source, String id) {
    DeliveryFilter all =
        new DeliveryFilter(ALL_STATES, null, null, null, source, id, null, null, null);
    List<Listed<DeliveryView>> deliveries =
        lists.deliveries(all, new Slice(null, true, MOST_HANDLERS));
    return jdbc.read(
        session -> {
          Map<Long, StoredMessage> messages =
              JdbcDeliveries.load(session, statements, List.of(found.seq()));
          StoredMessage message = messages.get(found.seq());
          if (message == null) { // pruned in between
            return Optional.empty();
          }
          int lane =
              session.one(LANE, params -> params.add(found.seq()), row -> row.getInt(1)).orElse(0);
          Map<Integer, List<Failure>> failures = failures(session, found.seq());
          Map<Integer, MessageDetail.Edit> edits = edits(session, found.seq(), message);
          List<ConflictView> conflicts = JdbcAdmin.conflictsOf(session, found.seq());
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
    return new MessageDetail.Delivery(
        view,
        failures.getOrDefault(place.handler(), List.of()),
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
