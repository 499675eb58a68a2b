package dev.pigeonhole.store;

import java.sql.Connection;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Deliveries whose effects and receipts commit together.
 *
 * <p>Lock the rows at their versions, skipping what somebody else holds; run the work for each that
 * was locked; then one last step deletes the rows and inserts the receipts and must count every one
 * of them; commit. Anything else rolls back, so the effects of an attempt exist if and only if its
 * receipt does. Nothing is deleted before the handler has returned: an implicit commit can cost a
 * repeat, never a message.
 *
 * <p>The connection handed to the work refuses what would end the transaction (commit, rollback,
 * close, autocommit, transaction statements and DDL in SQL text) with {@code PH-TX-01..05}, and any
 * SQL error, swallowed or not, makes the unit roll back.
 */
public interface Transactions {

  /**
   * Runs one unit.
   *
   * @param deliveries sorted by handler and seq; one, unless the handler shares commits
   * @return the deliveries that were completed; the others were not ours to run, or not begun
   *     because the work had {@linkplain Work#enough() enough}
   * @throws WorkFailedException if the work threw, misused the connection or wrote what the commit
   *     refuses; all is rolled back
   * @throws StoreException if the database failed, a deadlock included; all is rolled back, or for
   *     {@link StoreException.Kind#UNKNOWN} nobody can say until the rows are read again
   */
  Set<Delivery> run(List<Delivery> deliveries, Work work) throws WorkFailedException;

  /** The handler's part of a unit. */
  @FunctionalInterface
  interface Work {
    /** Runs the handler for one delivery; what it throws rolls the whole unit back. */
    void run(Delivery delivery, Connection connection) throws Exception;

    /** The key of the handler, for whoever manages transactions and cares. */
    default String handler() {
      return "";
    }

    /**
     * Whether the unit should commit what has run and leave the rest. Asked after each delivery, so
     * that one is always run.
     */
    default boolean enough() {
      return false;
    }

    /**
     * How long the handler may take for one delivery; empty without a limit. If the client of its
     * transaction falls silent, the store ends the transaction, somewhat later than that.
     */
    default Optional<Duration> timeLimit() {
      return Optional.empty();
    }

    /**
     * Whether all its statements are the library's own, which wait no longer for the network than
     * the others of a store. A handler may take its time.
     */
    default boolean callsNoHandler() {
      return false;
    }
  }

  /** The work of one delivery ended with an exception; the unit was rolled back. */
  final class WorkFailedException extends Exception {
    private static final long serialVersionUID = 1L;

    private final transient Delivery delivery;

    /** The cause is what the work threw, or what it did wrong. */
    public WorkFailedException(Delivery delivery, Throwable cause) {
      super(cause);
      this.delivery = delivery;
    }

    /** Whose work it was. */
    public Delivery delivery() {
      return delivery;
    }
  }
}
