package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.MessageRef;
import dev.pigeonhole.store.Ahead;
import dev.pigeonhole.store.AheadRead;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.NewMessage;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * H2 runs in our own process, where a statement costs a call and not a round trip: rows go through
 * statements one by one, and their counts are exact.
 */
final class H2Statements implements Statements {

  // Index: message_identity. A concurrent copy waits here for the first one.
  private static final String INSERT =
      """
      INSERT INTO {message} (seq, source, id, type, oldest_type, channel, transport, lane, ordering_key,
                             key_hash, content, content_type, headers, content_hash, occurred_at, token,
                             received_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, {now})
      """;

  // Index: message_identity.
  private static final String LOCK_MESSAGE =
      """
      SELECT seq, source, id, lane, content_hash, received_at, token,
             last_repeat_at IS NULL OR last_repeat_at < DATEADD(SECOND, -1, {now}), dropped,
             type, oldest_type
      FROM {message}
      WHERE source = ? AND id = ?
      FOR UPDATE
      """;

  private static final String TAKE =
      "DELETE FROM %s WHERE lane = ? AND handler = ? AND seq = ? AND version = ?";

  // Index: delivery_pk.
  private static final String TAKE_FRESH = TAKE.formatted("{delivery}");

  // Index: later_pk.
  private static final String TAKE_LATE = TAKE.formatted("{later}");

  private static final String OPEN =
      """
      SELECT handler, seq FROM %s
      WHERE lane = ? AND handler = ? AND seq = ? AND version = ?%s
      """;

  private final H2Dialect dialect;

  H2Statements(H2Dialect dialect) {
    this.dialect = dialect;
  }

  @Override
  public boolean insertsInOneStatement() {
    return false;
  }

  @Override
  public Inserted insert(Session session, List<NewMessage> messages, long token)
      throws SQLException {
    long base = session.nextValue("{message_seq}");
    Map<Integer, Long> fresh = new HashMap<>();
    for (int position : Gate.inKeyOrder(messages)) {
      long seq = base + position;
      if (dialect.insertUnlessThere(
          session,
          INSERT,
          params -> ValueRows.bindMessage(params, seq, messages.get(position), token))) {
        fresh.put(position, seq);
      }
    }
    boolean someLater = messages.stream().anyMatch(message -> message.notBefore() != null);
    ValueRows.deliver(session, messages, fresh, token, someLater ? session.now() : Instant.MAX);
    return new Inserted(fresh, Map.of());
  }

  @Override
  public List<Known> lock(Session session, List<MessageRef> identities) throws SQLException {
    List<Known> found = new ArrayList<>();
    for (MessageRef each : identities) {
      found.addAll(
          session.query(
              LOCK_MESSAGE,
              params -> params.add(each.source()).add(each.id()),
              row -> Known.of(session, row)));
    }
    return found;
  }

  @Override
  public Set<MessageRef> held(Session session, List<MessageRef> identities) throws SQLException {
    int former = session.query("SELECT LOCK_TIMEOUT()", params -> {}, row -> row.getInt(1)).get(0);
    Set<MessageRef> held = new HashSet<>();
    session.update("SET LOCK_TIMEOUT " + session.lockWait.millis, params -> {});
    try {
      for (MessageRef each : identities) {
        if (isHeld(session, each)) {
          held.add(each);
        }
      }
    } finally {
      session.update("SET LOCK_TIMEOUT " + former, params -> {});
    }
    return held;
  }

  private boolean isHeld(Session session, MessageRef identity) throws SQLException {
    try {
      if (!dialect.insertUnlessThere(
          session, HeldIdentities.INSERT, params -> HeldIdentities.bind(params, identity))) {
        lock(session, List.of(identity));
      }
      return false;
    } catch (SQLException e) {
      if (dialect.fault(e) == Fault.LOCK_TIMEOUT) {
        return true;
      }
      throw e;
    }
  }

  @Override
  public Set<Delivery> take(Session session, List<Delivery> deliveries) throws SQLException {
    return Named.hits(
        deliveries,
        (named, late) -> {
          List<Delivery> part = named.part(late);
          int[] counts = session.batch(late ? TAKE_LATE : TAKE_FRESH, part, Named::bind);
          for (int i = 0; i < counts.length; i++) {
            if (counts[i] == 1) {
              named.hit(late, part.get(i).cell().handler(), part.get(i).seq());
            }
          }
        });
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
          String text = OPEN.formatted(late ? "{later}" : "{delivery}", hold);
          for (Delivery each : named.part(late)) {
            session.query(
                text,
                params -> Named.bind(params, each),
                row -> named.hit(late, row.getInt(1), row.getLong(2)));
          }
        });
  }

  @Override
  public AheadRead ahead(Session session, List<Ahead> rows) throws SQLException {
    return UnionReads.ahead(session, rows, 1, "");
  }

  /**
   * All of them at once, which sorts all of their rows. H2 takes longer to compile a union of some
   * hundred selects than to sort a hundred thousand rows.
   */
  @Override
  public List<String> ofEachCell(List<Cell> cells, String select) {
    return List.of(
        select
            .replace("= :lane", in(cells.stream().map(Cell::lane)))
            .replace("= :handler", in(cells.stream().map(Cell::handler))));
  }

  private static String in(Stream<Integer> numbers) {
    return "IN (" + Lists.numbers(numbers.distinct().toList()) + ")";
  }

  @Override
  public void receipts(Session session, List<Delivery> completed) throws SQLException {
    for (Delivery each : completed) {
      if (!receipt(session, each)
          && session.update(
                  Receipts.FORGET_RUNNING,
                  params -> params.add(each.seq()).add(each.cell().handler()))
              == 1) {
        receipt(session, each);
      }
    }
  }

  private boolean receipt(Session session, Delivery completed) throws SQLException {
    return dialect.insertUnlessThere(
        session, Receipts.INSERT + Receipts.ROW, params -> Receipts.bind(params, completed));
  }

  /** H2 forgets savepoints silently, but it numbers transactions: DDL begins another one. */
  @Override
  public Canary canary(Session session) throws SQLException {
    String first = transaction(session);
    return () -> Objects.equals(first, transaction(session));
  }

  private static String transaction(Session session) throws SQLException {
    return session
        .query("SELECT TRANSACTION_ID()", params -> {}, row -> String.valueOf(row.getString(1)))
        .get(0);
  }

  @Override
  public boolean seesAllTablesAtOnce() {
    return false;
  }

  /**
   * A statement of H2 reads its tables one after the other, so a delivery that moves between two of
   * them meanwhile is seen in none. It has arrived by now: looking again finds it, and what was
   * added beside it is taken back before anybody can see it.
   */
  @Override
  public List<Added> addMissing(
      Session session, String table, String insert, IntFunction<Set<Integer>> kin)
      throws SQLException {
    List<Added> added = new ArrayList<>();
    for (Added each : Statements.super.addMissing(session, table, insert, kin)) {
      if (standsElsewhere(session, table, each.seq(), kin.apply(each.handler()))) {
        session.update(
            "DELETE FROM " + table + " WHERE seq = ? AND handler = ?",
            params -> params.add(each.seq()).add(each.handler()));
      } else {
        added.add(each);
      }
    }
    return added;
  }

  // Indexes: delivery_pk, later_pk, poison_pk, receipt_pk.
  private static boolean standsElsewhere(Session session, String table, long seq, Set<Integer> kin)
      throws SQLException {
    // Names first: what is resolved is kept, and this text is another one each time.
    String where = " WHERE seq = %d AND handler IN (%s)".formatted(seq, Lists.numbers(kin));
    String elsewhere =
        Stream.of("{delivery}", "{later}", "{poison}", "{receipt}") // the receipt last
            .filter(each -> !each.equals(table))
            .map(each -> "SELECT seq FROM " + session.sql(each) + where)
            .collect(Collectors.joining(" UNION ALL ", "", " AND " + Receipts.COUNTS));
    return !session.query(elsewhere, params -> {}, row -> row.getLong(1)).isEmpty();
  }
}
