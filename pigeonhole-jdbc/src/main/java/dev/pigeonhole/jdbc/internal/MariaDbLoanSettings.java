package dev.pigeonhole.jdbc.internal;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Isolation and limits of silence in one statement, so that the limits cost no trip of their own
 * where the isolation has to be set. A pool that comes with both costs none at all.
 */
final class MariaDbLoanSettings implements LoanSettings {

  /** A pool with a limit of its own that is not longer keeps it. */
  private static final long SHORT_ENOUGH = 60;

  private static final String ISOLATE = "SET SESSION tx_isolation = '%s', ";
  private static final String LIMIT =
      "SESSION idle_transaction_timeout = %d, SESSION idle_write_transaction_timeout = %d,"
          + " SESSION idle_readonly_transaction_timeout = %d";

  private static final String READ =
      """
      SELECT @@tx_isolation, @@idle_transaction_timeout, @@idle_write_transaction_timeout,
             @@idle_readonly_transaction_timeout
      """;

  /**
   * The settings with which connections come from the pool.
   *
   * @param all the limit in seconds for transactions whose own limit, one of the other two, is 0
   */
  private record Own(String isolation, long all, long write, long readOnly) {

    boolean isReadCommitted() {
      return isolation.equals("READ-COMMITTED");
    }

    /** The longest that a transaction may be silent, or 0. */
    long silence() {
      long writing = write > 0 ? write : all;
      long reading = readOnly > 0 ? readOnly : all;
      return writing == 0 || reading == 0 ? 0 : Math.max(writing, reading);
    }

    /** Whether the pool has a limit that stays. */
    boolean limits(long wanted) {
      return silence() > 0 && silence() <= Math.max(wanted, SHORT_ENOUGH);
    }

    /** The limits of a loan, as a part of a statement. */
    String limit(long wanted) {
      return limits(wanted) ? LIMIT.formatted(all, write, readOnly) : LIMIT.formatted(wanted, 0, 0);
    }

    String restore() {
      return ISOLATE.formatted(isolation) + LIMIT.formatted(all, write, readOnly);
    }
  }

  private volatile @Nullable Own own;

  @Override
  public @Nullable Restore apply(Connection connection, Duration silence) throws SQLException {
    Own former = own;
    if (former == null) {
      former = read(connection);
      own = former;
    }
    long wanted = silence.toSeconds();
    if (former.limits(wanted) && former.isReadCommitted()) {
      return null;
    }
    Dialect.execute(connection, ISOLATE.formatted("READ-COMMITTED") + former.limit(wanted));
    String restore = former.restore();
    return returned -> Dialect.execute(returned, restore);
  }

  @Override
  public Limits limits(Connection connection) throws SQLException {
    Own former = own;
    Own pool = former == null ? read(connection) : former;
    return (any, silence) -> Dialect.execute(any, "SET " + pool.limit(silence.toSeconds()));
  }

  private static Own read(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet row = statement.executeQuery(READ)) {
      row.next();
      return new Own(row.getString(1), row.getLong(2), row.getLong(3), row.getLong(4));
    }
  }
}
