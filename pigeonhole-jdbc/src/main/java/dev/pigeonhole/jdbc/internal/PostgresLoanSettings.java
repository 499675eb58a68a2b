package dev.pigeonhole.jdbc.internal;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Sets nothing for a session: behind a pooler in transaction mode the next transaction may have
 * another one, and the setting would affect the next client. Where the pool does not come with READ
 * COMMITTED, each transaction begins with a statement that sets it.
 */
final class PostgresLoanSettings implements LoanSettings {
  private static final int NOT_READ_YET = -1;
  private static final String READ_COMMITTED = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED";

  private volatile int own = NOT_READ_YET;

  @Override
  public @Nullable Restore apply(Connection connection, Duration silence) throws SQLException {
    if (own == NOT_READ_YET) {
      own = connection.getTransactionIsolation();
    }
    return null;
  }

  @Override
  public @Nullable String beginning() {
    int known = own;
    return known == NOT_READ_YET || known == Connection.TRANSACTION_READ_COMMITTED
        ? null
        : READ_COMMITTED;
  }

  /** The limit that the session came with is asked for, because it is about to be replaced. */
  @Override
  public Limits limits(Connection connection) throws SQLException {
    String own;
    try (Statement statement = connection.createStatement();
        ResultSet row =
            statement.executeQuery(
                "SELECT current_setting('idle_in_transaction_session_timeout')")) {
      row.next();
      own = row.getString(1);
    }
    return (any, silence) ->
        Dialect.execute(any, "SELECT " + PostgresDialect.silence(own, silence));
  }

  @Override
  public void distrustSessions() {
    own = Connection.TRANSACTION_NONE;
  }
}
