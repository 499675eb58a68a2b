package dev.pigeonhole.support;

import java.sql.SQLException;
import java.time.Duration;
import org.h2.api.ErrorCode;

/** Tells when a statement stands still because somebody else holds a row. */
public final class LockWaits {

  private LockWaits() {}

  /** Returns when somebody waits for a lock of this database. */
  public static void awaitOne(TestDatabase database) {
    Eventually.until(
        "a transaction to wait for a lock", Duration.ofMinutes(3), () -> isOne(database));
  }

  /** Whether somebody waits for a lock of this database now. */
  public static boolean isOne(TestDatabase database) {
    String waiting =
        switch (database.kind()) {
          // Other tests wait on the same server: only who has locked tables of this schema counts.
          case POSTGRES ->
              """
              SELECT count(*) FROM pg_stat_activity AS waiting
              WHERE wait_event_type = 'Lock' AND EXISTS (
                SELECT 1 FROM pg_locks AS held
                JOIN pg_class AS class ON class.oid = held.relation
                JOIN pg_namespace AS space ON space.oid = class.relnamespace
                WHERE held.pid = waiting.pid AND space.nspname = '%s')
              """
                  .formatted(database.schema());
          // Not innodb_trx: it shows what it showed before, as long as somebody asks it often.
          case MARIADB ->
              """
              SELECT CAST(variable_value AS unsigned) FROM information_schema.global_status
              WHERE variable_name = 'INNODB_ROW_LOCK_CURRENT_WAITS'
              """;
          case H2 ->
              "SELECT count(*) FROM information_schema.sessions WHERE blocker_id IS NOT NULL";
        };
    try {
      return database.count(waiting) > 0;
    } catch (IllegalStateException e) {
      if (isUnreadable(e)) {
        return false;
      }
      throw e;
    }
  }

  /** H2 fails with an internal error if a transaction ends while it lists the sessions. */
  private static boolean isUnreadable(IllegalStateException e) {
    return e.getCause() instanceof SQLException cause
        && cause.getErrorCode() == ErrorCode.GENERAL_ERROR_1;
  }
}
