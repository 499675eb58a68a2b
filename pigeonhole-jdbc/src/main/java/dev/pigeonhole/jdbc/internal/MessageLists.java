package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.MessageRef;
import dev.pigeonhole.admin.MessageView;
import dev.pigeonhole.store.Listed;
import dev.pigeonhole.store.MessageFilter;
import dev.pigeonhole.store.Place;
import dev.pigeonhole.store.Slice;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;

/** Messages by what they have in common, by their numbers. */
final class MessageLists {

  // Index: message_pk, or unhandled_pk.
  static final String SELECT =
      """
      SELECT m.seq, m.source, m.id, m.type, m.channel, m.transport, m.ordering_key,
             octet_length(m.content), m.received_at, m.repeats, m.last_repeat_at
      FROM {message} m""";

  private static final String NOBODY_TOOK = " JOIN {unhandled} u ON u.seq = m.seq";

  private final Jdbc jdbc;

  MessageLists(Jdbc jdbc) {
    this.jdbc = jdbc;
  }

  List<Listed<MessageView>> messages(MessageFilter filter, Slice slice) {
    return jdbc.read(
        session -> {
          Where where = where(filter);
          Place last = slice.after();
          if (last != null) {
            where.and(
                slice.oldestFirst() ? "m.seq > ?" : "m.seq < ?", params -> params.add(last.seq()));
          }
          return session.query(
              session.sql(SELECT)
                  + (filter.unhandled() ? session.sql(NOBODY_TOOK) : "")
                  + where.text()
                  + " ORDER BY m.seq%s LIMIT %d"
                      .formatted(slice.oldestFirst() ? "" : " DESC", slice.limit()),
              where::bind,
              row -> new Listed<>(new Place(row.getLong(1), 0), message(session, row)));
        });
  }

  private static Where where(MessageFilter filter) {
    Where where = new Where();
    where.ofMessage(
        filter.type(),
        filter.channel(),
        filter.source(),
        filter.id(),
        filter.receivedFrom(),
        filter.receivedBefore());
    return where;
  }

  /** Reads the columns of {@link #SELECT}. */
  static MessageView message(Session session, ResultSet row) throws SQLException {
    Long bytes = Session.longOrNull(row, 8);
    return new MessageView(
        new MessageRef(row.getString(2), row.getString(3)),
        row.getString(4),
        row.getString(5),
        row.getString(6),
        Optional.ofNullable(row.getString(7)),
        Optional.ofNullable(bytes),
        session.time(row, 9),
        row.getInt(10),
        Optional.ofNullable(session.dialect.read(row, 11)));
  }

  long count(MessageFilter filter, int most) {
    return jdbc.read(
        session -> {
          String from =
              session.sql("{message}")
                  + " m"
                  + (filter.unhandled() ? session.sql(NOBODY_TOOK) : "");
          Where where = where(filter);
          return session
              .one(where.counting(from, most), where::bind, row -> row.getLong(1))
              .orElse(0L);
        });
  }
}
