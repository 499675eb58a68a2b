package dev.pigeonhole.jdbc.internal;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;

/**
 * The part of PostgreSQL's driver that JDBC has no word for. The one class that knows the driver,
 * which is not there for users of other databases: nobody else may touch it before {@link
 * #possible} has said yes.
 */
final class Notifications {
  private Notifications() {}

  /** Whether this connection can tell of notifications. */
  static boolean possible(Connection connection) throws SQLException {
    try {
      return connection.isWrapperFor(PGConnection.class);
    } catch (NoClassDefFoundError e) {
      return false; // another driver
    }
  }

  /** Waits until there is one, for so long at most. Takes all that have come. */
  static boolean came(Connection connection, Duration atMost) throws SQLException {
    int millis = (int) Math.max(1, atMost.toMillis()); // 0 would be for ever
    PGNotification[] words = connection.unwrap(PGConnection.class).getNotifications(millis);
    return words != null && words.length > 0;
  }
}
