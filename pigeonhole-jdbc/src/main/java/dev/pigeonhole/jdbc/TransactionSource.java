package dev.pigeonhole.jdbc;

import java.sql.Connection;
import java.sql.SQLException;

/**
 * Begins the transactions that handlers run in, where somebody else manages them: a framework whose
 * repositories are to write in the same one. The store locks and completes the delivery on the
 * connection that it is given, and everything commits together, or nothing does.
 *
 * <p>Called by many threads at once. A transaction is ended by the thread that began it, and no
 * thread begins a second one before that.
 */
@FunctionalInterface
public interface TransactionSource {

  /**
   * Begins a transaction: READ COMMITTED, not in autocommit mode, and new, never part of another.
   *
   * @param handler the key of the handler that it is for
   * @throws SQLException if the database could not be reached; nothing was done
   */
  Managed begin(String handler) throws SQLException;

  /** A transaction that was begun. Either {@link #commit} or {@link #rollback} is called, once. */
  interface Managed {

    /** Its connection, which is given back by whoever manages the transaction. */
    Connection connection();

    /**
     * Called when the handler has returned and nothing was decided: sends what was held back to the
     * database, so that it can still refuse it.
     *
     * @throws Exception if it is refused, or if the transaction can only be rolled back: the
     *     attempt has failed
     */
    void flush() throws Exception;

    /**
     * Commits. To return means that it is done, whatever else went wrong after it.
     *
     * @throws SQLException if the database has failed, and perhaps nobody can say whether it is
     *     done
     * @throws Exception anything else says that it was rolled back for what the handler did
     */
    void commit() throws Exception;

    /** Rolls back; what goes wrong then tells nothing new. */
    void rollback();
  }
}
