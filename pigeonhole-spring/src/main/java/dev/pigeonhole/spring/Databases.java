package dev.pigeonhole.spring;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.store.StoreException;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/** What exceptions of Spring say of the database. */
final class Databases {
  private static final int DEEPEST = 50;

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
    return new StoreException(
        StoreException.Kind.TRANSIENT,
        ErrorCode.DATABASE_UNREACHABLE,
        "There is no connection to the database. Check that it is running, and that address, user"
            + " and password of the data source are right: "
            + e.getMessage(),
        e);
  }
}
