package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.store.Guards.Request;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;

/**
 * An insert that meets a known key fails, and leaves a shared lock on its row: that is what a guard
 * wants to have there. With ON DUPLICATE KEY UPDATE the lock would be exclusive, and guards of
 * other handlers would wait for the body; IGNORE would swallow what does not fit. The price is a
 * warning in the log of the driver for each repeat. Waits are counted in seconds here.
 */
final class MariaDbGuardSql implements GuardSql {

  // A server that is not strict would cut an id that is too long, and two of them could become one.
  private static final String WAITING =
      "SET STATEMENT innodb_lock_wait_timeout = %d,"
          + " sql_mode = CONCAT(@@sql_mode, ',STRICT_TRANS_TABLES') FOR\n";

  private static final String NEW_MESSAGE =
      INSERT_MESSAGE
          + """
            VALUES (NEXT VALUE FOR {message_seq}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, TRUE, {now})
            RETURNING seq
            """;

  // Locks the row of a known one at once: from the shared lock that an error leaves, two who want
  // it alone would each wait for the other. The number tells whose the row is.
  private static final String NEW_MESSAGE_OR_LOCK =
      INSERT_MESSAGE
          + """
            VALUES (NEXT VALUE FOR {message_seq}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, TRUE, {now})
            ON DUPLICATE KEY UPDATE token = token
            RETURNING CASE WHEN seq = PREVIOUS VALUE FOR {message_seq} THEN seq END
            """;

  private final MariaDbDialect dialect;

  MariaDbGuardSql(MariaDbDialect dialect) {
    this.dialect = dialect;
  }

  @Override
  public <T> List<T> query(
      Session session,
      int waitMillis,
      String statement,
      Session.Bind bind,
      Session.Mapper<T> mapper)
      throws SQLException {
    int seconds = Math.max(1, waitMillis / 1000);
    return session.query(WAITING.formatted(seconds) + session.sql(statement), bind, mapper);
  }

  @Override
  public Optional<Fresh> enterNew(
      Session session, int waitMillis, Request request, long token, boolean alone)
      throws SQLException {
    String insert = alone ? NEW_MESSAGE_OR_LOCK : NEW_MESSAGE;
    long seq;
    try {
      seq =
          query(
                  session,
                  waitMillis,
                  insert,
                  params -> GuardSql.bind(params, request.message(), token),
                  row -> row.getLong(1))
              .get(0);
    } catch (SQLException e) {
      if (dialect.fault(e) == Fault.DUPLICATE) {
        return Optional.empty();
      }
      throw e;
    }
    if (seq == 0) {
      return Optional.empty(); // null: another's
    }
    GuardTaken nothing = GuardTaken.none(request.handler());
    session.update(INSERT_RECEIPT + ROW, GuardSql.receipt(seq, request, nothing, token));
    return Optional.of(new Fresh(seq, null));
  }

  @Override
  public boolean insertUnlessThere(
      Session session, int waitMillis, String insert, Session.Bind bind) throws SQLException {
    try {
      query(session, waitMillis, insert, bind, row -> true);
      return true;
    } catch (SQLException e) {
      if (dialect.fault(e) == Fault.DUPLICATE) {
        return false;
      }
      throw e;
    }
  }

  @Override
  public String keepAnswer(String until) {
    return INSERT_ANSWER.formatted(until)
        + """
          ON DUPLICATE KEY UPDATE content_type = VALUES(content_type), content = VALUES(content),
            keep_until = VALUES(keep_until)
          """;
  }

  @Override
  public String share() {
    return "LOCK IN SHARE MODE";
  }
}
