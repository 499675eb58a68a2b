package dev.pigeonhole.jdbc.internal;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The settings that a connection gets for the time of its loan: READ COMMITTED, and where only
 * sessions can have one, a limit of silence. The settings that connections of a pool come with are
 * read once, because all of them come with the same.
 */
interface LoanSettings {

  /** Puts back what was changed. */
  @FunctionalInterface
  interface Restore {
    void on(Connection connection) throws SQLException;
  }

  /** Changes the limit of silence in the middle of a transaction. */
  @FunctionalInterface
  interface Limits {
    void set(Connection connection, Duration silence) throws SQLException;
  }

  /**
   * Changes what has to be changed, outside of a transaction.
   *
   * @return null if nothing had to be
   */
  @Nullable Restore apply(Connection connection, Duration silence) throws SQLException;

  /**
   * The statement that each transaction of the connection has to begin with; null if there is none.
   */
  default @Nullable String beginning() {
    return null;
  }

  /**
   * For transactions in which a part may take longer than the others: the present one can be given
   * other limits, up to the one that its session came with. To be called before the first statement
   * of the transaction.
   */
  default Limits limits(Connection connection) throws SQLException {
    return (any, silence) -> {};
  }

  /** From now on no session is trusted to have the settings that its pool comes with. */
  default void distrustSessions() {}

  /** For databases whose transactions have a limit of silence of their own, or need none. */
  final class Isolation implements LoanSettings {
    private static final int NOT_READ_YET = -1;

    private volatile int own = NOT_READ_YET;

    @Override
    public @Nullable Restore apply(Connection connection, Duration silence) throws SQLException {
      int former = own;
      if (former == NOT_READ_YET) {
        former = connection.getTransactionIsolation();
        own = former;
      }
      if (former == Connection.TRANSACTION_READ_COMMITTED) {
        return null;
      }
      connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
      int back = former;
      return returned -> returned.setTransactionIsolation(back);
    }
  }
}
