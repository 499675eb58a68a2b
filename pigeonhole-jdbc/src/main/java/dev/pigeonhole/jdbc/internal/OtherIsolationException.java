package dev.pigeonhole.jdbc.internal;

import java.sql.SQLException;

/**
 * A transaction that must be READ COMMITTED is not, although its pool said so: another client has
 * set the isolation of a server's session, and a pooler has given that session to us. To be tried
 * again, like the victim of a deadlock.
 */
final class OtherIsolationException extends SQLException {
  private static final long serialVersionUID = 1L;

  OtherIsolationException(SQLException cause) {
    super("The transaction is not READ COMMITTED", "40001", cause);
  }
}
