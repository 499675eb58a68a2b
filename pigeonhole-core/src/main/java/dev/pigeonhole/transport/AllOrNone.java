package dev.pigeonhole.transport;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.store.StoreException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Takes back what was staged before one was refused, in a transaction that then goes on. */
final class AllOrNone {
  private AllOrNone() {}

  static <T> T run(Connection connection, Supplier<T> staging) {
    Savepoint before = savepoint(connection);
    try {
      T answer = staging.get();
      release(connection, before);
      return answer;
    } catch (StoreException e) {
      throw e; // the whole transaction is to be rolled back
    } catch (RuntimeException e) {
      undo(connection, before, e);
      throw e;
    }
  }

  /**
   * Null where there can be none, in autocommit mode or on a broken connection: what comes next
   * says so better.
   */
  private static @Nullable Savepoint savepoint(Connection connection) {
    try {
      return connection.getAutoCommit() ? null : connection.setSavepoint();
    } catch (SQLException e) {
      return null;
    }
  }

  private static void release(Connection connection, @Nullable Savepoint savepoint) {
    try {
      if (savepoint != null) {
        connection.releaseSavepoint(savepoint);
      }
    } catch (SQLException e) {
      throw lost(e);
    }
  }

  private static void undo(
      Connection connection, @Nullable Savepoint savepoint, RuntimeException why) {
    try {
      if (savepoint != null) {
        connection.rollback(savepoint);
        connection.releaseSavepoint(savepoint);
      }
    } catch (SQLException e) {
      StoreException lost = lost(e);
      lost.addSuppressed(why);
      throw lost;
    }
  }

  private static StoreException lost(SQLException e) {
    return new StoreException(
        StoreException.Kind.TRANSIENT,
        ErrorCode.DATABASE_TRANSIENT,
        "The savepoint before what is published together is gone, so some of it may be staged. Roll"
            + " back.",
        e);
  }
}
