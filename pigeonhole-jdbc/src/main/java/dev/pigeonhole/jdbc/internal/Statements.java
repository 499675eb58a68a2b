package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.MessageRef;
import dev.pigeonhole.store.Ahead;
import dev.pigeonhole.store.AheadRead;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellLimit;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.DueRange;
import dev.pigeonhole.store.DueRead;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.Range;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * The statements whose shape decides speed and safety, one implementation per database. Where there
 * is a body here it is the plain form, for databases that have no faster one.
 */
interface Statements {

  /**
   * A message row that was there before, locked by this transaction.
   *
   * @param token who stored it, see {@link Gate}
   * @param stale whether its counter of repeats was last written more than a second ago
   * @param dropped whether it has no content: only guards have seen it, or the content was
   *     forgotten
   */
  record Known(
      long seq,
      MessageRef ref,
      int lane,
      byte[] contentHash,
      Instant receivedAt,
      long token,
      boolean stale,
      boolean dropped,
      String type,
      @Nullable String oldestType) {

    /** Whether content and type are the same, as far as both are known. */
    boolean hasCopy(NewMessage message) {
      return message.isCopyOf(contentHash, type, oldestType);
    }

    /** From the first eleven columns of a row; the identity takes two of them. */
    static Known of(Session session, ResultSet row) throws SQLException {
      return new Known(
          row.getLong(1),
          new MessageRef(row.getString(2), row.getString(3)),
          row.getInt(4),
          row.getBytes(5),
          session.time(row, 6),
          row.getLong(7),
          row.getBoolean(8),
          row.getBoolean(9),
          row.getString(10),
          row.getString(11));
    }
  }

  /**
   * What an insert of messages found.
   *
   * @param fresh position in the list → number, for those that are new
   * @param known position in the list → row, for those that were there, if the statement tells
   */
  record Inserted(Map<Integer, Long> fresh, Map<Integer, Known> known) {}

  /** Whether {@link #insert} does all for new messages in one statement that may commit itself. */
  boolean insertsInOneStatement();

  /**
   * Inserts messages of different identities that are not there yet, with their deliveries, numbers
   * in the order of the list.
   */
  Inserted insert(Session session, List<NewMessage> messages, long token) throws SQLException;

  /** Locks the rows of these identities; one that is gone is missing from the answer. */
  List<Known> lock(Session session, List<MessageRef> identities) throws SQLException;

  /**
   * Those of these identities that another open transaction is inserting or has locked, found
   * without waiting; see {@link HeldIdentities}.
   */
  Set<MessageRef> held(Session session, List<MessageRef> identities) throws SQLException;

  /** A delivery that was added for a message that was there. */
  record Added(int handler, long seq) {}

  /**
   * Adds deliveries to {@code table} where none of the same family stands; answers those added.
   *
   * @param insert looks whether one stands and answers {@code handler, seq} of what it adds
   * @param kin the numbers under which the family of a number may stand
   */
  default List<Added> addMissing(
      Session session, String table, String insert, IntFunction<Set<Integer>> kin)
      throws SQLException {
    return guarded(session, insert, params -> {}, row -> new Added(row.getInt(1), row.getLong(2)));
  }

  /**
   * Records for the last statement of a guard that its transaction has added deliveries of known
   * messages, on databases where that statement cannot find it out.
   */
  default void noteAdded(Session session) throws SQLException {}

  /** Whether a row that moves between two tables is seen in one of them by every statement. */
  default boolean seesAllTablesAtOnce() {
    return true;
  }

  /** Runs a statement that looks rows up by key, protected against a stale plan if need be. */
  default <T> List<T> guarded(
      Session session, String statement, Session.Bind bind, Session.Mapper<T> mapper)
      throws SQLException {
    return session.query(statement, bind, mapper);
  }

  /**
   * The same for a statement that locks rows, so that later ones of its transaction show what is
   * there then; refused where the transaction keeps a snapshot.
   */
  default <T> List<T> locking(
      Session session, String statement, Session.Bind bind, Session.Mapper<T> mapper)
      throws SQLException {
    return guarded(session, statement, bind, mapper);
  }

  /**
   * Looks rows up by these numbers: {@code :seqs} in the template becomes the comparison that
   * follows a column.
   */
  default <T> List<T> bySeqs(
      Session session, String template, Collection<Long> seqs, Session.Mapper<T> mapper)
      throws SQLException {
    return session.query(
        session.sql(template).replace(":seqs", "IN (" + Lists.numbers(seqs) + ")"),
        params -> {},
        mapper);
  }

  /** The same as {@link #guarded} for the first rows of long ranges of an index. */
  default <T> List<T> firstRows(
      Session session, String statement, Session.Bind bind, Session.Mapper<T> mapper)
      throws SQLException {
    return guarded(session, statement, bind, mapper);
  }

  /**
   * The first rows of each of these cells, as selects of one union.
   *
   * @param select reads those where {@code lane = :lane} and {@code handler = :handler}
   */
  default List<String> ofEachCell(List<Cell> cells, String select) {
    return cells.stream()
        .map(
            cell ->
                select
                    .replace(":lane", String.valueOf(cell.lane()))
                    .replace(":handler", String.valueOf(cell.handler())))
        .toList();
  }

  /** What stands behind a table that is to be read by this index, where that can be told. */
  default String by(String index) {
    return "";
  }

  /** Whether {@link #complete} is one statement that may commit itself. */
  default boolean completesInOneStatement() {
    return false;
  }

  /** Removes open rows at their versions and leaves receipts; answers which were there. */
  default Set<Delivery> complete(Session session, List<Delivery> deliveries) throws SQLException {
    Set<Delivery> taken = take(session, deliveries);
    receipts(session, List.copyOf(taken));
    return taken;
  }

  /** Inserts receipts of what is completed; one that is there and counts is left alone. */
  void receipts(Session session, List<Delivery> completed) throws SQLException;

  /** Removes open rows at their versions; answers which were there. */
  Set<Delivery> take(Session session, List<Delivery> deliveries) throws SQLException;

  /** The same for rows that this transaction has locked before, so that all of them are there. */
  default Set<Delivery> takeLocked(Session session, List<Delivery> deliveries) throws SQLException {
    return take(session, deliveries);
  }

  /** Locks open rows at their versions; answers which are there (and free, when skipping). */
  Set<Delivery> lock(Session session, List<Delivery> deliveries, boolean skipLocked)
      throws SQLException;

  /** Which open rows are there at their versions, locked or not; does not wait. */
  Set<Delivery> there(Session session, List<Delivery> deliveries) throws SQLException;

  /** See {@link dev.pigeonhole.store.Deliveries#fresh}. */
  default List<Delivery> fresh(Session session, List<Range> ranges) throws SQLException {
    return UnionReads.fresh(session, ranges);
  }

  /** See {@link dev.pigeonhole.store.Deliveries#due}. */
  default DueRead due(Session session, List<DueRange> ranges) throws SQLException {
    return UnionReads.due(session, ranges);
  }

  /** See {@link dev.pigeonhole.store.Deliveries#placed}. */
  default List<Delivery> placed(Session session, List<CellLimit> cells) throws SQLException {
    return UnionReads.placed(session, cells);
  }

  /** See {@link dev.pigeonhole.store.Deliveries#ahead}. */
  AheadRead ahead(Session session, List<Ahead> rows) throws SQLException;

  /** Proves at the end of a unit that the transaction is still the one it began with. */
  Canary canary(Session session) throws SQLException;

  /**
   * The same where the handler has other ways to the connection than the one that we guard, so that
   * no refused statement tells of a commit.
   */
  default Canary strictCanary(Session session) throws SQLException {
    return canary(session);
  }

  /** See {@link #canary}. */
  @FunctionalInterface
  interface Canary {
    boolean alive() throws SQLException;
  }
}
