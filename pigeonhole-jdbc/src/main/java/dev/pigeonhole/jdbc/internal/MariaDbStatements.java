package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.MessageRef;
import dev.pigeonhole.store.Ahead;
import dev.pigeonhole.store.AheadRead;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.NewMessage;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * MariaDB has no arrays: rows stand in the text as lists of values, and rows to be removed as
 * ranges of their key.
 */
final class MariaDbStatements implements Statements {

  private static final int TRANSACTION_IS_NOT_OURS = 1305;
  private static final int FOREIGN_LOCK_SECONDS = 30;

  // Or it walks along the primary key, which has the wanted order, through everything else.
  private static final String FORCE = " FORCE INDEX (%s)";

  // Holds for the statement behind it alone.
  private static final String LOCK_WAIT = "SET STATEMENT innodb_lock_wait_timeout = %d FOR\n";

  // The settings in front hold for this statement alone. A server that is not strict would cut an
  // id that is too long, and two of them could become one.
  // Locks the row that is there or inserts ours, in one step: a plain INSERT would leave a shared
  // lock behind its error, and two repeats that upgrade it deadlock. The first row takes the next
  // block of numbers and the others stand in it, so the number tells which it was; the token does
  // not, for an earlier try of the same call may have stored the row. Index: message_identity.
  private static final String INSERT =
      """
      SET STATEMENT innodb_lock_wait_timeout = %d, sql_mode = CONCAT(@@sql_mode, ',STRICT_TRANS_TABLES') FOR
      INSERT INTO {message} (seq, source, id, type, oldest_type, channel, transport, lane, ordering_key,
                             key_hash, content, content_type, headers, content_hash, occurred_at, token,
                             received_at)
      VALUES %s
      ON DUPLICATE KEY UPDATE token = token
      RETURNING seq, source, id, lane, content_hash, received_at, token,
                last_repeat_at IS NULL OR last_repeat_at < {now} - INTERVAL 1 SECOND, dropped,
                type, oldest_type, {now}, seq - PREVIOUS VALUE FOR {message_seq}
      """;

  private static final String VALUES = "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, {now})";
  private static final String FIRST_ROW = "(NEXT VALUE FOR {message_seq} + ?, " + VALUES;
  private static final String OTHER_ROWS = "(PREVIOUS VALUE FOR {message_seq} + ?, " + VALUES;

  // Index: message_identity.
  private static final String LOCK_MESSAGE =
      """
      SELECT seq, source, id, lane, content_hash, received_at, token,
             last_repeat_at IS NULL OR last_repeat_at < {now} - INTERVAL 1 SECOND, dropped,
             type, oldest_type
      FROM {message}
      WHERE source = ? AND id = ?
      FOR UPDATE
      """;

  // Assigned one after the other, so the outcome comes last. Index: receipt_pk.
  private static final String OVER_RUNNING =
      Stream.of("key_id", "failures", "crashes", "releases", "completed_at")
          .map(("%1$s = IF(" + Receipts.IS_RUNNING + ", VALUES(%1$s), %1$s)")::formatted)
          .collect(
              Collectors.joining(
                  ", ",
                  " ON DUPLICATE KEY UPDATE ",
                  (", token = IF(%1$s, 0, token), request_hash = IF(%1$s, NULL, request_hash),"
                          + " outcome = IF(%1$s, %2$d, outcome)")
                      .formatted(Receipts.IS_RUNNING, Receipts.COMPLETED)));

  // Index: delivery_pk or later_pk.
  private static final String TAKE_LOCKED = "DELETE d FROM %s d FORCE INDEX (PRIMARY) WHERE ";

  private static final String TAKE_LOCKED_FRESH = TAKE_LOCKED.formatted("{delivery}");
  private static final String TAKE_LOCKED_LATE = TAKE_LOCKED.formatted("{later}");

  @Override
  public boolean insertsInOneStatement() {
    return false;
  }

  private record Row(Known known, Instant now, long offset) {}

  @Override
  public Inserted insert(Session session, List<NewMessage> messages, long token)
      throws SQLException {
    Integer[] order = Gate.inKeyOrder(messages);
    String values =
        session.sql(FIRST_ROW) + (", " + session.sql(OTHER_ROWS)).repeat(order.length - 1);
    String text = session.sql(INSERT).formatted(lockSeconds(session), values);
    List<Row> rows =
        session.query(
            text,
            params -> {
              for (int position : order) {
                ValueRows.bindMessage(params, position, messages.get(position), token);
              }
            },
            row -> new Row(Known.of(session, row), session.time(row, 12), row.getLong(13)));
    Map<MessageRef, Integer> positions = new HashMap<>();
    for (int i = 0; i < messages.size(); i++) {
      positions.put(Gate.ref(messages.get(i)), i);
    }
    Map<Integer, Long> fresh = new HashMap<>();
    Map<Integer, Known> known = new HashMap<>();
    for (Row row : rows) {
      Integer position = positions.get(row.known().ref());
      if (position == null) {
        throw new IllegalStateException("Not asked for: " + row.known().ref());
      }
      if (row.offset() == position) {
        fresh.put(position, row.known().seq());
      } else {
        known.put(position, row.known());
      }
    }
    if (!rows.isEmpty()) {
      ValueRows.deliver(session, messages, fresh, token, rows.get(0).now());
    }
    return new Inserted(fresh, known);
  }

  private static int lockSeconds(Session session) {
    return session.foreign ? FOREIGN_LOCK_SECONDS : session.lockWait.seconds;
  }

  /** A statement that waits no longer than it may for somebody else's rows. */
  private static String limited(Session session, String statement) {
    return LOCK_WAIT.formatted(lockSeconds(session)) + session.sql(statement);
  }

  @Override
  public List<Known> lock(Session session, List<MessageRef> identities) throws SQLException {
    List<Known> found = new ArrayList<>();
    for (MessageRef each : identities) {
      found.addAll(
          session.query(
              limited(session, LOCK_MESSAGE),
              params -> params.add(each.source()).add(each.id()),
              row -> Known.of(session, row)));
    }
    return found;
  }

  @Override
  public Set<MessageRef> held(Session session, List<MessageRef> identities) throws SQLException {
    return HeldIdentities.onMariaDb(session, identities);
  }

  @Override
  public <T> List<T> guarded(
      Session session, String statement, Session.Bind bind, Session.Mapper<T> mapper)
      throws SQLException {
    return session.query(limited(session, statement), bind, mapper);
  }

  @Override
  public String by(String index) {
    return FORCE.formatted(index);
  }

  @Override
  public Set<Delivery> take(Session session, List<Delivery> deliveries) throws SQLException {
    return Named.hits(
        deliveries,
        (named, late) -> {
          String text =
              limited(
                      session,
                      late ? "DELETE FROM {later} WHERE " : "DELETE FROM {delivery} WHERE ")
                  + predicate(named.part(late))
                  + " RETURNING handler, seq";
          session.query(text, params -> {}, row -> named.hit(late, row.getInt(1), row.getLong(2)));
        });
  }

  /**
   * By ranges of the primary key alone: without the hint, a statement that names many rows may walk
   * along the index, and over rows that another transaction holds.
   */
  @Override
  public Set<Delivery> takeLocked(Session session, List<Delivery> deliveries) throws SQLException {
    return Named.hits(
        deliveries,
        (named, late) -> {
          String text =
              limited(session, late ? TAKE_LOCKED_LATE : TAKE_LOCKED_FRESH)
                  + predicate(named.part(late));
          session.update(text, params -> {});
          named.hitAll(late);
        });
  }

  @Override
  public void receipts(Session session, List<Delivery> completed) throws SQLException {
    session.insert(
        limited(session, Receipts.INSERT), Receipts.ROW, OVER_RUNNING, completed, Receipts::bind);
  }

  @Override
  public Set<Delivery> lock(Session session, List<Delivery> deliveries, boolean skipLocked)
      throws SQLException {
    return open(session, deliveries, skipLocked ? " FOR UPDATE SKIP LOCKED" : " FOR UPDATE");
  }

  @Override
  public Set<Delivery> there(Session session, List<Delivery> deliveries) throws SQLException {
    return open(session, deliveries, "");
  }

  private static Set<Delivery> open(Session session, List<Delivery> deliveries, String hold)
      throws SQLException {
    return Named.hits(
        deliveries,
        (named, late) -> {
          String text =
              session.sql(
                      late
                          ? "SELECT handler, seq FROM {later} WHERE "
                          : "SELECT handler, seq FROM {delivery} WHERE ")
                  + predicate(named.part(late))
                  + hold;
          session.query(text, params -> {}, row -> named.hit(late, row.getInt(1), row.getLong(2)));
        });
  }

  /** Rows at their versions as ranges of the primary key, cell by cell. */
  private static String predicate(List<Delivery> deliveries) {
    Map<Cell, List<Delivery>> cells =
        deliveries.stream()
            .collect(
                Collectors.groupingBy(Delivery::cell, LinkedHashMap::new, Collectors.toList()));
    return cells.entrySet().stream()
        .map(
            each ->
                "(lane = %d AND handler = %d AND seq IN (%s) AND %s)"
                    .formatted(
                        each.getKey().lane(),
                        each.getKey().handler(),
                        Lists.numbers(each.getValue().stream().map(Delivery::seq).toList()),
                        versions(each.getValue())))
        .collect(Collectors.joining(" OR ", "(", ")"));
  }

  /** What one call has accepted has one version. The server makes no range of pairs. */
  private static String versions(List<Delivery> ofCell) {
    long first = ofCell.get(0).version();
    return ofCell.stream().allMatch(each -> each.version() == first)
        ? "version = " + first
        : ofCell.stream()
            .map(each -> "(%d, %d)".formatted(each.seq(), each.version()))
            .collect(Collectors.joining(", ", "(seq, version) IN (", ")"));
  }

  @Override
  public AheadRead ahead(Session session, List<Ahead> rows) throws SQLException {
    return UnionReads.ahead(session, rows, Integer.MAX_VALUE, FORCE);
  }

  /**
   * After a deadlock MariaDB drops the whole transaction and goes on in a new one, and DDL commits
   * it: a savepoint set first is gone in both cases.
   */
  @Override
  public Canary canary(Session session) throws SQLException {
    return new FirstSavepoint(session.connection);
  }

  private static final class FirstSavepoint implements Canary {
    private final Connection connection;
    private final Savepoint first;
    private boolean released;

    FirstSavepoint(Connection connection) throws SQLException {
      this.connection = connection;
      this.first = connection.setSavepoint();
    }

    /** A second call comes after the end of the work, and returns the same. */
    @Override
    public boolean alive() throws SQLException {
      if (released) {
        return true;
      }
      try {
        connection.releaseSavepoint(first);
        released = true;
        return true;
      } catch (SQLException e) {
        if (e.getErrorCode() == TRANSACTION_IS_NOT_OURS) {
          return false;
        }
        throw e;
      }
    }
  }
}
