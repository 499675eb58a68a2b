package dev.pigeonhole.jdbc.internal;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/** H2 2.2 and later, embedded or as a server. */
final class H2Dialect implements Dialect {

  /** Another process has the file open. */
  static final int FILE_LOCKED = 90020;

  /**
   * Held at the end of every transaction. The end of any writes all tables to the file, one after
   * the other, while other transactions go on. One that is committed meanwhile may be there by half
   * if the process is then killed; one that is still open is rolled back as a whole (ADR 22). In
   * turn, for a beat must not starve.
   */
  private static final ReentrantLock ENDING = new ReentrantLock(true);

  @Override
  public String name() {
    return "h2";
  }

  @Override
  public String now() {
    return "CURRENT_TIMESTAMP(6)";
  }

  @Override
  public String literal(Instant time) {
    return "TIMESTAMP WITH TIME ZONE '" + time.truncatedTo(ChronoUnit.MICROS) + "'";
  }

  @Override
  public String plusMicros(String time, String micros) {
    return "DATEADD(MICROSECOND, %s, %s)".formatted(micros, time);
  }

  @Override
  public String timeType() {
    return "timestamp(6) with time zone";
  }

  @Override
  public String nextValue(String sequence) {
    return "NEXT VALUE FOR " + sequence;
  }

  @Override
  public String returning(String insert, String columns) {
    return "SELECT %s FROM FINAL TABLE (%s)".formatted(columns, insert);
  }

  /** An error takes back its own statement and leaves the transaction as it was. */
  @Override
  public <R> void insertIfAbsent(
      Session session, String insert, String key, String row, List<R> rows, Params.Binder<R> binder)
      throws SQLException {
    for (R each : rows) {
      insertUnlessThere(session, insert + row, params -> binder.bind(params, each));
    }
  }

  /** Whether the row was inserted; a copy in an open transaction is waited for. */
  boolean insertUnlessThere(Session session, String insert, Session.Bind bind) throws SQLException {
    try {
      session.update(insert, bind);
      return true;
    } catch (SQLException e) {
      if (fault(e) == Fault.DUPLICATE) {
        return false;
      }
      throw e;
    }
  }

  @Override
  public String grantSequence(String sequence, String grantee) {
    return "";
  }

  @Override
  public String isolation() {
    return "(SELECT isolation_level FROM information_schema.sessions"
        + " WHERE session_id = SESSION_ID())";
  }

  @Override
  public void commit(Connection connection) throws SQLException {
    ENDING.lock();
    try {
      connection.commit();
    } finally {
      ENDING.unlock();
    }
  }

  @Override
  public void rollback(Connection connection) throws SQLException {
    ENDING.lock();
    try {
      connection.rollback();
    } finally {
      ENDING.unlock();
    }
  }

  /** An interrupt closes the file of the whole database. */
  @Override
  public boolean interruptible() {
    return false;
  }

  @Override
  public Fault fault(SQLException e) {
    SQLException root = Errors.root(e);
    int code = root.getErrorCode();
    return switch (code) {
      case 40001, 90131 -> Fault.DEADLOCK;
      case 50200 -> Fault.LOCK_TIMEOUT;
      case 90067, 90098, 90121, 90007 -> Fault.LOST;
      case 57014 -> Fault.CANCELLED;
      case 90026, 90028, 90031, 90097, 90100, FILE_LOCKED -> Fault.BUSY;
      case 23505 -> Fault.DUPLICATE;
      case 23502, 23513, 23514 -> Fault.DATA;
      case 42102, 42104, 90079, 90096 -> Fault.FORBIDDEN;
      default -> {
        if (code >= 22000 && code < 23000) {
          yield Fault.DATA;
        }
        if ("40001".equals(root.getSQLState())) { // thrown by ourselves, so without a code of H2
          yield Fault.DEADLOCK;
        }
        yield Errors.lostByType(e) ? Fault.LOST : Fault.OTHER;
      }
    };
  }

  @Override
  public String driverConnection() {
    return "org.h2.jdbc.JdbcConnection";
  }

  @Override
  public Catalogue.Questions catalogue() {
    return Catalogue.H2;
  }

  @Override
  public GuardSql guardSql() {
    return new H2GuardSql(this);
  }

  @Override
  public Statements statements() {
    return new H2Statements(this);
  }
}
