package dev.pigeonhole.spring;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.store.StoreException;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/** What exceptions of Spring say of the database. */
final class Databases {
  private static final int DEEPEST = 50;
  private static final int H2_FILE_LOCKED = 90020;

  private Databases() {}

  /** The error of the database that an exception is about, if any. */
  static @Nullable SQLException errorIn(@Nullable Throwable thrown) {
    int depth = 0;
    for (Throwable each = thrown; each != null && depth < DEEPEST; each = each.getCause()) {
      if (each instanceof SQLException e) {
        return e;
      }
      depth++;
    }
    return null;
  }

  static StoreException unreachable(SQLException e) {
    boolean locked = e.getErrorCode() == H2_FILE_LOCKED;
    String text =
        locked
            ? "Another process has this H2 file open, and an embedded H2 database belongs to one"
                + " process. End the other one, or use another file: "
            : "There is no connection to the database. Check that it is running, and that address,"
                + " user and password of the data source are right: ";
    return new StoreException(
        StoreException.Kind.TRANSIENT,
        locked ? ErrorCode.DATABASE_LOCKED : ErrorCode.DATABASE_UNREACHABLE,
        text + e.getMessage(),
        e);
  }
}
