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
            VALUES (NEXT VALUE FOR {message_seq}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, TRUE, {now})
            RETURNING seq
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
  public Optional<Long> enterNew(Session session, int waitMillis, Request request, long token)
      throws SQLException {
    List<Long> fresh;
    try {
      fresh =
          query(
              session,
              waitMillis,
              NEW_MESSAGE,
              params -> GuardSql.bind(params, request.message(), token),
              row -> row.getLong(1));
    } catch (SQLException e) {
      if (dialect.fault(e) == Fault.DUPLICATE) {
        return Optional.empty();
      }
      throw e;
    }
    long seq = fresh.get(0);
    GuardTaken nothing = GuardTaken.none(request.handler());
    session.update(INSERT_RECEIPT + ROW, GuardSql.receipt(seq, request, nothing, token));
    return Optional.of(seq);
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
