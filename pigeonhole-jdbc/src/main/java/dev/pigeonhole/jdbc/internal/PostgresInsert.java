package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.jdbc.internal.Statements.Inserted;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.Versions;
import java.sql.Array;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/** Stores new messages with their deliveries on PostgreSQL: one statement, which has no look-up. */
final class PostgresInsert {

  // Which of them were new is told only if some were not: most batches are new as a whole.
  private static final String ANSWER =
      """
      SELECT base.seq,
             CASE WHEN inserted.count < ?
               THEN ARRAY(SELECT (f.seq - base.seq)::int FROM fresh f) END
      FROM base CROSS JOIN (SELECT count(*) AS count FROM fresh) AS inserted
      """;

  // Numbers are base + position in the list, whatever order the rows are inserted in. Handlers of
  // message p stand at first[p]..last[p] of the arrays behind. Arbiter: message_identity.
  private static final String INSERT =
      """
      WITH base AS MATERIALIZED (
        SELECT nextval('{message_seq}') AS seq, {now} AS now, ?::bigint AS version
      ), fresh AS (
        INSERT INTO {message} (seq, source, id, type, oldest_type, channel, transport, lane,
                               ordering_key, key_hash, content, content_type, headers, content_hash,
                               occurred_at, received_at, token)
        SELECT (SELECT seq FROM base) + i.position, i.source, i.id, i.type, i.oldest_type, i.channel,
               i.transport, i.lane, i.ordering_key, i.key_hash, i.content, i.content_type, i.headers,
               i.content_hash, i.occurred_at, (SELECT now FROM base), ?
        FROM unnest(?::int[], ?::text[], ?::text[], ?::text[], ?::text[], ?::text[], ?::text[], ?::int[],
                    ?::text[], ?::bigint[], ?::bytea[], ?::text[], ?::bytea[], ?::bytea[],
                    ?::timestamptz[])
          AS i(position, source, id, type, oldest_type, channel, transport, lane, ordering_key,
               key_hash, content, content_type, headers, content_hash, occurred_at)
        ON CONFLICT (source, id) DO NOTHING
        RETURNING seq, lane, key_hash
      ), wanted AS MATERIALIZED (
        SELECT f.seq, f.lane, f.key_hash, base.version,
               (?::int[])[n] AS handler, (?::int[])[n] AS key_id,
               %s AS due_at, %s AS place
        FROM base CROSS JOIN fresh f
        CROSS JOIN LATERAL generate_series((?::int[])[(f.seq - base.seq)::int + 1],
                                           (?::int[])[(f.seq - base.seq)::int + 1]) AS n
      ), ready AS (
        INSERT INTO {delivery} (lane, handler, seq, version, key_id, key_hash)
        SELECT lane, handler, seq, version, key_id, key_hash FROM wanted%s
      )%s
      """
          + ANSWER;

  // Messages that nobody takes; most batches have none.
  private static final String UNHANDLED =
      """
      , unhandled AS (
        INSERT INTO {unhandled} (seq)
        SELECT f.seq FROM fresh f CROSS JOIN base WHERE (?::bool[])[(f.seq - base.seq)::int + 1]
      )""";

  private static final String INSERT_READY = insertReady("");
  private static final String INSERT_READY_SOME_UNHANDLED = insertReady(UNHANDLED);
  private static final String INSERT_SOME_LATER = insertSomeLater("");
  private static final String INSERT_SOME_LATER_SOME_UNHANDLED = insertSomeLater(UNHANDLED);

  private static String insertReady(String unhandled) {
    return INSERT.formatted("NULL::timestamptz", "0", "", unhandled);
  }

  private static String insertSomeLater(String unhandled) {
    return INSERT.formatted(
        """
        (SELECT due FROM (SELECT (?::timestamptz[])[(f.seq - base.seq)::int + 1] AS due) AS d
                   WHERE due > base.now)""",
        "(?::bigint[])[(f.seq - base.seq)::int + 1]",
        " WHERE due_at IS NULL AND place = 0",
        """
        , waiting AS (
          INSERT INTO {later} (lane, handler, seq, version, key_id, key_hash, due_at, reason)
          SELECT lane, handler, seq, version, key_id, key_hash, due_at, 'not before'
          FROM wanted WHERE due_at IS NOT NULL
        ), placed AS (
          INSERT INTO {later} (lane, handler, seq, version, key_id, key_hash, due_at, place, reason)
          SELECT lane, handler, seq, version, key_id, key_hash, (SELECT now FROM base), place, 'priority'
          FROM wanted WHERE due_at IS NULL AND place <> 0
        )"""
            + unhandled);
  }

  // As above, for messages that differ in nothing but this, and have the same handlers: most
  // batches. Fewer arrays are sent and taken apart.
  private static final String INSERT_ALIKE =
      """
      WITH base AS MATERIALIZED (
        SELECT nextval('{message_seq}') AS seq, {now} AS now
      ), fresh AS (
        INSERT INTO {message} (seq, source, id, type, oldest_type, channel, transport, lane,
                               ordering_key, key_hash, content, content_type, headers, content_hash,
                               occurred_at, received_at, token)
        SELECT (SELECT seq FROM base) + i.position, ?, i.id, ?, ?, ?, ?, i.lane, i.ordering_key,
               i.key_hash, i.content, ?, i.headers, i.content_hash, i.occurred_at,
               (SELECT now FROM base), ?
        FROM unnest(?::int[], ?::text[], ?::int[], ?::text[], ?::bigint[], ?::bytea[], ?::bytea[],
                    ?::bytea[], ?::timestamptz[])
          AS i(position, id, lane, ordering_key, key_hash, content, headers, content_hash, occurred_at)
        ON CONFLICT (source, id) DO NOTHING
        RETURNING seq, lane, key_hash
      ), ready AS (
        INSERT INTO {delivery} (lane, handler, seq, version, key_id, key_hash)
        SELECT f.lane, h.handler, f.seq, ?::bigint, h.key_id, f.key_hash
        FROM fresh f CROSS JOIN unnest(?::int[], ?::int[]) AS h(handler, key_id)
      )
      """
          + ANSWER;

  private PostgresInsert() {}

  static Inserted insert(Session session, List<NewMessage> messages, long token)
      throws SQLException {
    boolean someLater = messages.stream().anyMatch(PostgresInsert::standsInLater);
    boolean someUnhandled = messages.stream().anyMatch(message -> message.handlers().isEmpty());
    boolean alike = !someLater && !someUnhandled && alike(messages);
    // Positions in the order of insertion: two batches that share identities wait, never deadlock.
    Integer[] order = Gate.inKeyOrder(messages);
    Columns columns = new Columns(messages, order);
    Map<Integer, Long> fresh = new HashMap<>();
    PostgresStatements.limited(
        session,
        alike ? INSERT_ALIKE : statement(someLater, someUnhandled),
        params -> {
          if (alike) {
            bindAlike(params, columns, messages.get(0), token);
          } else {
            bind(params, columns, messages, token, someLater, someUnhandled);
          }
          params.add(messages.size());
        },
        row -> {
          readNumbers(row, messages.size(), fresh);
          return fresh;
        });
    return new Inserted(fresh, Map.of());
  }

  /** The numbers of what was new, by position in the list. */
  private static void readNumbers(ResultSet row, int messages, Map<Integer, Long> fresh)
      throws SQLException {
    long base = row.getLong(1);
    Array some = row.getArray(2);
    if (some == null) {
      for (int position = 0; position < messages; position++) {
        fresh.put(position, base + position);
      }
    } else {
      for (Integer position : (Integer[]) some.getArray()) {
        fresh.put(position, base + position);
      }
    }
  }

  /** Whether all have the same handlers, and the same of what stands in {@link #INSERT_ALIKE}. */
  private static boolean alike(List<NewMessage> messages) {
    NewMessage first = messages.get(0);
    for (NewMessage each : messages) {
      if (!each.source().equals(first.source())
          || !each.type().equals(first.type())
          || !Objects.equals(each.oldestType(), first.oldestType())
          || !each.channel().equals(first.channel())
          || !each.transport().equals(first.transport())
          || !each.contentType().equals(first.contentType())
          || !each.handlers().equals(first.handlers())) {
        return false;
      }
    }
    return true;
  }

  private static void bindAlike(Params params, Columns columns, NewMessage any, long token)
      throws SQLException {
    params.add(any.source()).add(any.type()).add(any.oldestType());
    params.add(any.channel()).add(any.transport());
    params.add(any.contentType()).add(token);
    params.array("int4", columns.order);
    params.array("text", columns.of(String[]::new, NewMessage::id));
    params.array("int4", columns.of(Integer[]::new, NewMessage::lane));
    params.array("text", columns.of(String[]::new, NewMessage::orderingKey));
    params.array("int8", columns.of(Long[]::new, NewMessage::keyHash));
    params.array("bytea", columns.of(byte[][]::new, NewMessage::content));
    params.array("bytea", columns.of(byte[][]::new, NewMessage::headers));
    params.array("bytea", columns.of(byte[][]::new, NewMessage::contentHash));
    params.array("text", columns.of(String[]::new, each -> text(each.occurredAt())));
    params.add(Versions.first(token));
    Handlers handlers = Handlers.of(List.of(any));
    params.array("int4", handlers.families());
    params.array("int4", handlers.keyIds());
  }

  private static void bind(
      Params params,
      Columns columns,
      List<NewMessage> messages,
      long token,
      boolean someLater,
      boolean someUnhandled)
      throws SQLException {
    Handlers handlers = Handlers.of(messages);
    params.add(Versions.first(token)).add(token);
    params.array("int4", columns.order);
    params.array("text", columns.of(String[]::new, NewMessage::source));
    params.array("text", columns.of(String[]::new, NewMessage::id));
    params.array("text", columns.of(String[]::new, NewMessage::type));
    params.array("text", columns.of(String[]::new, NewMessage::oldestType));
    params.array("text", columns.of(String[]::new, NewMessage::channel));
    params.array("text", columns.of(String[]::new, NewMessage::transport));
    params.array("int4", columns.of(Integer[]::new, NewMessage::lane));
    params.array("text", columns.of(String[]::new, NewMessage::orderingKey));
    params.array("int8", columns.of(Long[]::new, NewMessage::keyHash));
    params.array("bytea", columns.of(byte[][]::new, NewMessage::content));
    params.array("text", columns.of(String[]::new, NewMessage::contentType));
    params.array("bytea", columns.of(byte[][]::new, NewMessage::headers));
    params.array("bytea", columns.of(byte[][]::new, NewMessage::contentHash));
    params.array("text", columns.of(String[]::new, each -> text(each.occurredAt())));
    params.array("int4", handlers.families());
    params.array("int4", handlers.keyIds());
    if (someLater) {
      params.array(
          "text", messages.stream().map(each -> text(each.notBefore())).toArray(String[]::new));
      params.array("int8", messages.stream().map(NewMessage::place).toArray(Long[]::new));
    }
    params.array("int4", handlers.first());
    params.array("int4", handlers.last());
    if (someUnhandled) {
      params.array(
          "bool", messages.stream().map(each -> each.handlers().isEmpty()).toArray(Boolean[]::new));
    }
  }

  private static String statement(boolean someLater, boolean someUnhandled) {
    if (someUnhandled) {
      return someLater ? INSERT_SOME_LATER_SOME_UNHANDLED : INSERT_READY_SOME_UNHANDLED;
    }
    return someLater ? INSERT_SOME_LATER : INSERT_READY;
  }

  private static boolean standsInLater(NewMessage message) {
    return message.notBefore() != null || message.place() != 0;
  }

  private static @Nullable String text(@Nullable Instant time) {
    return time == null ? null : time.toString();
  }

  /** The messages in the order of their insertion, field by field. */
  private record Columns(List<NewMessage> messages, Integer[] order) {

    /** Of the type of its values: the driver writes an array of anything else as one long text. */
    <T> @Nullable T[] of(
        IntFunction<@Nullable T[]> array, Function<NewMessage, @Nullable T> field) {
      @Nullable T[] values = array.apply(order.length);
      for (int i = 0; i < order.length; i++) {
        values[i] = field.apply(messages.get(order[i]));
      }
      return values;
    }
  }

  /** The handlers of all messages in one row of numbers, with each message's part of it. */
  private record Handlers(Integer[] first, Integer[] last, Integer[] families, Integer[] keyIds) {

    static Handlers of(List<NewMessage> messages) {
      List<HandlerId> all = new ArrayList<>();
      Integer[] first = new Integer[messages.size()];
      Integer[] last = new Integer[messages.size()];
      for (int i = 0; i < first.length; i++) {
        first[i] = all.size() + 1;
        all.addAll(messages.get(i).handlers());
        last[i] = all.size();
      }
      return new Handlers(
          first,
          last,
          all.stream().map(HandlerId::family).toArray(Integer[]::new),
          all.stream().map(HandlerId::keyId).toArray(Integer[]::new));
    }
  }
}
