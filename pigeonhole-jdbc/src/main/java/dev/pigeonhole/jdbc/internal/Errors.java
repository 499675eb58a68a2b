package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.store.StoreException.Kind;
import java.sql.BatchUpdateException;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLRecoverableException;
import java.sql.SQLTransientConnectionException;
import org.jspecify.annotations.Nullable;

/** Turns what drivers throw into what the engine understands. */
final class Errors {

  private Errors() {}

  /**
   * Translates an error of a statement that was not a commit.
   *
   * @param committing whether the statement commits itself, so that a lost connection leaves doubt
   */
  static StoreException of(
      Dialect dialect, Tables tables, SQLException thrown, boolean committing) {
    Fault fault = dialect.fault(thrown);
    SQLException e = ServerWords.only(thrown);
    if (fault == Fault.LOST && committing) {
      return unknown("The connection was lost while a statement was on its way", e);
    }
    if (fault.passes()) {
      return new StoreException(
          Kind.TRANSIENT,
          ErrorCode.DATABASE_TRANSIENT,
          "The database could not do this now: " + describe(e),
          e,
          fault == Fault.DEADLOCK);
    }
    if (fault == Fault.FORBIDDEN) {
      return new StoreException(
          Kind.PERMANENT,
          ErrorCode.DATABASE_PRIVILEGE,
          ("The role of this connection may not do what the inbox needs, or a table is gone. Let"
                  + " their owner run the output of %s.grants(\"%s\", role): %s")
              .formatted(tables.inJava(), dialect.name(), describe(e)),
          e);
    }
    return new StoreException(
        Kind.PERMANENT,
        ErrorCode.DATABASE_ERROR,
        "The database refused a statement. Fix or remove what the error names, or report a bug: "
            + describe(e),
        e);
  }

  /**
   * Translates an error of COMMIT. Unless the transaction was certainly rolled back, its outcome is
   * unknown. What a deferred key or trigger refuses only at COMMIT would be refused again.
   */
  static StoreException ofCommit(Dialect dialect, Tables tables, SQLException e) {
    boolean refused =
        switch (dialect.fault(e)) {
          case DEADLOCK, DUPLICATE, DATA -> true;
          default -> refusesContent(e) || dialect.refusesCommit(e);
        };
    return refused ? of(dialect, tables, e, false) : inDoubt(e);
  }

  /**
   * Translates an error of a statement that brings its COMMIT along: what the server has refused
   * was not committed.
   */
  static StoreException ofLastStatement(Dialect dialect, Tables tables, SQLException e) {
    return switch (dialect.fault(e)) {
      case FORBIDDEN, LOCK_TIMEOUT, CANCELLED -> of(dialect, tables, e, false);
      default -> ofCommit(dialect, tables, e);
    };
  }

  private static StoreException inDoubt(SQLException e) {
    return unknown("There was no clear answer to COMMIT", e);
  }

  static StoreException unknown(String what, @Nullable Exception cause) {
    String detail = cause instanceof SQLException e ? describe(e) : String.valueOf(cause);
    return new StoreException(
        Kind.UNKNOWN,
        ErrorCode.COMMIT_UNKNOWN,
        what + ", so it may or may not have been done" + (cause == null ? "." : ": " + detail),
        cause instanceof SQLException e ? ServerWords.only(e) : cause);
  }

  /** No connection could be had: nothing was done. */
  static StoreException unreachable(SQLException e) {
    ErrorCode code =
        root(e).getErrorCode() == H2Dialect.FILE_LOCKED
            ? ErrorCode.DATABASE_LOCKED
            : ErrorCode.DATABASE_UNREACHABLE;
    String text =
        code == ErrorCode.DATABASE_LOCKED
            ? "Another process has this H2 file open, and an embedded H2 database belongs to one"
                + " process. End the other one, or use another file: "
            : "There is no connection to the database. Check that it is running, that address, user"
                + " and password of the data source are right, and that its pool is not used up: ";
    return new StoreException(Kind.TRANSIENT, code, text + describe(root(e)), ServerWords.only(e));
  }

  /** The exception that carries the server's codes. */
  static SQLException root(SQLException e) {
    SQLException found = e;
    if (e instanceof BatchUpdateException && e.getNextException() != null) {
      found = e.getNextException();
    }
    while (found.getSQLState() == null
        && found.getErrorCode() == 0
        && found.getCause() instanceof SQLException deeper) {
      found = deeper;
    }
    return found;
  }

  /** The error of the database that an exception of a framework is about. */
  static @Nullable SQLException within(@Nullable Throwable thrown) {
    int depth = 0;
    for (Throwable each = thrown; each != null && depth < 50; each = each.getCause()) {
      if (each instanceof SQLException e) {
        return e;
      }
      depth++;
    }
    return null;
  }

  /**
   * Whether the server has looked at what was written and said no: a value, a constraint, a
   * trigger. It would say so again.
   */
  private static boolean refusesContent(SQLException e) {
    String state = root(e).getSQLState();
    return state != null
        && (state.startsWith("22") || state.startsWith("23") || state.startsWith("P0"));
  }

  /** Whether the type of the exception alone says that the connection is gone. */
  static boolean lostByType(SQLException e) {
    return e instanceof SQLNonTransientConnectionException
        || e instanceof SQLTransientConnectionException
        || e instanceof SQLRecoverableException;
  }

  static String describe(SQLException e) {
    return "%s [%s/%d]".formatted(ServerWords.of(e), e.getSQLState(), e.getErrorCode());
  }
}
