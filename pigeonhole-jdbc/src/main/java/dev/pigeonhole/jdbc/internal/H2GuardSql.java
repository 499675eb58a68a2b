package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.store.Guards.Request;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;

/** H2 has one lock time-out for a session, which is set and put back in calls of our process. */
final class H2GuardSql implements GuardSql {

  private static final String NEW_MESSAGE =
      INSERT_MESSAGE + "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, TRUE, {now})";

  private final H2Dialect dialect;

  H2GuardSql(H2Dialect dialect) {
    this.dialect = dialect;
  }

  private interface Work<T> {
    T run() throws SQLException;
  }

  @Override
  public <T> List<T> query(
      Session session,
      int waitMillis,
      String statement,
      Session.Bind bind,
      Session.Mapper<T> mapper)
      throws SQLException {
    return waiting(session, waitMillis, () -> session.query(statement, bind, mapper));
  }

  private static <T> T waiting(Session session, int millis, Work<T> work) throws SQLException {
    int former = session.query("CALL LOCK_TIMEOUT()", params -> {}, row -> row.getInt(1)).get(0);
    session.update("SET LOCK_TIMEOUT " + millis, params -> {});
    try {
      return work.run();
    } finally {
      session.update("SET LOCK_TIMEOUT " + former, params -> {});
    }
  }

  @Override
  public Optional<Fresh> enterNew(
      Session session, int waitMillis, Request request, long token, boolean alone)
      throws SQLException {
    long seq = session.nextValue("{message_seq}");
    boolean fresh =
        insertUnlessThere(
            session,
            waitMillis,
            NEW_MESSAGE,
            params -> GuardSql.bind(params.add(seq), request.message(), token));
    if (!fresh) {
      return Optional.empty();
    }
    GuardTaken nothing = GuardTaken.none(request.handler());
    session.update(INSERT_RECEIPT + ROW, GuardSql.receipt(seq, request, nothing, token));
    return Optional.of(new Fresh(seq, null));
  }

  @Override
  public boolean insertUnlessThere(
      Session session, int waitMillis, String insert, Session.Bind bind) throws SQLException {
    return waiting(session, waitMillis, () -> dialect.insertUnlessThere(session, insert, bind));
  }

  @Override
  public String keepAnswer(String until) {
    return """
        MERGE INTO {answer} (seq, handler, content_type, content, keep_until) KEY (seq, handler)
        VALUES (?, ?, ?, ?, %s)
        """
        .formatted(until);
  }

  /** There is no weaker lock: two handlers of one known message wait for each other here. */
  @Override
  public String share() {
    return "FOR UPDATE";
  }
}
