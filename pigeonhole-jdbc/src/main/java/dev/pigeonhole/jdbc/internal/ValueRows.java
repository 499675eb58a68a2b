package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.Versions;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** New messages and their deliveries, for databases that need statements of their own for these. */
final class ValueRows {

  private record Row(long seq, long version, NewMessage message, HandlerId handler) {}

  private ValueRows() {}

  /** Binds a row of {@code message} up to its token; the time of receipt follows in the text. */
  static void bindMessage(Params params, long number, NewMessage message, long token)
      throws SQLException {
    params
        .add(number)
        .add(message.source())
        .add(message.id())
        .add(message.type())
        .add(message.oldestType())
        .add(message.channel())
        .add(message.transport())
        .add(message.lane())
        .add(message.orderingKey())
        .add(message.keyHash())
        .add(message.content())
        .add(message.contentType())
        .add(message.headers())
        .add(message.contentHash())
        .add(message.occurredAt())
        .add(token);
  }

  /**
   * Adds one delivery for each handler of each new message, and remembers what has no handler.
   *
   * @param fresh position in the list → number
   * @param token who stores them
   * @param now a message that must wait beyond this time goes to {@code later}
   */
  static void deliver(
      Session session, List<NewMessage> messages, Map<Integer, Long> fresh, long token, Instant now)
      throws SQLException {
    long version = Versions.first(token);
    List<Row> ready = new ArrayList<>();
    List<Row> waiting = new ArrayList<>();
    List<Long> unhandled = new ArrayList<>();
    List<Row> placed = new ArrayList<>();
    fresh.forEach(
        (position, seq) -> {
          NewMessage message = messages.get(position);
          if (message.handlers().isEmpty()) {
            unhandled.add(seq);
          }
          Instant notBefore = message.notBefore();
          List<Row> rows = message.place() == 0 ? ready : placed;
          if (notBefore != null && notBefore.isAfter(now)) {
            rows = waiting;
          }
          for (HandlerId handler : message.handlers()) {
            rows.add(new Row(seq, version, message, handler));
          }
        });
    session.insert(
        "INSERT INTO {delivery} (lane, handler, seq, version, key_id, key_hash) VALUES ",
        "(?, ?, ?, ?, ?, ?)",
        ready,
        ValueRows::bind);
    session.insert(
        "INSERT INTO {later} (lane, handler, seq, version, key_id, key_hash, reason, due_at) VALUES ",
        "(?, ?, ?, ?, ?, ?, 'not before', ?)",
        waiting,
        (params, row) -> bind(params, row).add(row.message().notBefore()));
    session.insert(
        "INSERT INTO {later} (lane, handler, seq, version, key_id, key_hash, reason, place, due_at)"
            + " VALUES ",
        "(?, ?, ?, ?, ?, ?, 'priority', ?, {now})",
        placed,
        (params, row) -> bind(params, row).add(row.message().place()));
    session.insert(
        "INSERT INTO {unhandled} (seq) VALUES ",
        "(?)",
        unhandled,
        (params, seq) -> params.add(seq.longValue()));
  }

  private static Params bind(Params params, Row row) throws SQLException {
    return params
        .add(row.message().lane())
        .add(row.handler().family())
        .add(row.seq())
        .add(row.version())
        .add(row.handler().keyId())
        .add(row.message().keyHash());
  }
}
