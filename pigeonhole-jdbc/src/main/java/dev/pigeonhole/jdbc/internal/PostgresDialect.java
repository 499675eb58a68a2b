package dev.pigeonhole.jdbc.internal;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Set;

/** PostgreSQL 14 and later. */
final class PostgresDialect implements Dialect {

  /** A condition. */
  static final String IS_STANDBY = "pg_is_in_recovery()";

  /**
   * Classes of SQLStates behind which a COMMIT may have been done: lost connections, transactions
   * that are not what the driver takes them for, a server that is full, stopped or broken, and the
   * driver's own.
   */
  private static final Set<String> TROUBLE = Set.of("08", "25", "53", "57", "58", "60", "99", "XX");

  @Override
  public String name() {
    return "postgresql";
  }

  @Override
  public String now() {
    return "clock_timestamp()";
  }

  @Override
  public String literal(Instant time) {
    return "TIMESTAMPTZ '" + time.truncatedTo(ChronoUnit.MICROS) + "'";
  }

  @Override
  public String plusMicros(String time, String micros) {
    return "%s + (%s) * interval '1 microsecond'".formatted(time, micros);
  }

  @Override
  public String timeType() {
    return "timestamptz";
  }

  @Override
  public String nextValue(String sequence) {
    return "nextval('" + sequence + "')";
  }

  @Override
  public String returning(String insert, String columns) {
    return insert + " RETURNING " + columns;
  }

  @Override
  public <R> void insertIfAbsent(
      Session session, String insert, String key, String row, List<R> rows, Params.Binder<R> binder)
      throws SQLException {
    session.insert(insert, row, " ON CONFLICT (" + key + ") DO NOTHING", rows, binder);
  }

  @Override
  public String grantSequence(String sequence, String grantee) {
    return "GRANT USAGE ON SEQUENCE %s TO %s;\n".formatted(sequence, grantee);
  }

  @Override
  public String isolation() {
    return "current_setting('transaction_isolation')";
  }

  @Override
  public LoanSettings loanSettings() {
    return new PostgresLoanSettings();
  }

  @Override
  public String isStandby() {
    return IS_STANDBY;
  }

  /** Ends with the transaction, which is all that a pool of transactions gives us. */
  @Override
  public void limitSilence(Connection connection, Duration silence) throws SQLException {
    Dialect.execute(connection, "SELECT " + silence(silence));
  }

  /** The expression that does it. */
  static String silence(Duration silence) {
    return atMost("idle_in_transaction_session_timeout", silence);
  }

  /**
   * The same for a transaction that has a limit already.
   *
   * @param own the limit that its session came with
   */
  static String silence(String own, Duration silence) {
    return atMost("idle_in_transaction_session_timeout", "'" + own + "'", silence);
  }

  /**
   * The expression that limits a setting of the present transaction. A limit that is shorter stays
   * as it is.
   */
  static String atMost(String setting, Duration limit) {
    return atMost(setting, "current_setting('" + setting + "')", limit);
  }

  private static String atMost(String setting, String own, Duration limit) {
    return """
        set_config('%1$s',
          CASE WHEN %2$s::interval BETWEEN interval '1 ms' AND interval '%3$d ms'
               THEN %2$s ELSE '%3$d' END, true)"""
        .formatted(setting, own, limit.toMillis());
  }

  @Override
  public String holderOfMigrationLock(String name) {
    return ("SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted"
            + " AND objid::bigint = (hashtext('%s')::bigint & 4294967295)")
        .formatted(name);
  }

  @Override
  public boolean notifies() {
    return true;
  }

  @Override
  public boolean timesByThreads() {
    return true;
  }

  @Override
  public Fault fault(SQLException e) {
    String state = Errors.root(e).getSQLState();
    if (state == null) {
      return Errors.lostByType(e) ? Fault.LOST : Fault.OTHER;
    }
    return switch (state) {
      case "40001", "40P01" -> Fault.DEADLOCK;
      case "55P03" -> Fault.LOCK_TIMEOUT;
      case "25P03", "25P04", "57P01", "57P02", "57P03", "57P05" -> Fault.LOST;
      case "57014" -> Fault.CANCELLED;
      case "25006", "55006" -> Fault.BUSY;
      case "23505" -> Fault.DUPLICATE;
      case "42501", "42P01", "3F000" -> Fault.FORBIDDEN;
      default ->
          switch (state.substring(0, 2)) {
            case "08" -> Fault.LOST;
            case "53", "58" -> Fault.BUSY;
            case "22", "23", "54", "P0" -> Fault.DATA;
            case "28" -> Fault.FORBIDDEN;
            default -> Errors.lostByType(e) ? Fault.LOST : Fault.OTHER;
          };
    };
  }

  /**
   * Deferred triggers run before the transaction counts as committed, and may raise any SQLState.
   * After that point the server only warns or goes down. The outcome is in doubt after errors of
   * the server itself, those of databases derived from it, and those that the driver raises without
   * the server.
   */
  @Override
  public boolean refusesCommit(SQLException e) {
    String state = Errors.root(e).getSQLState();
    return state != null
        && state.length() == 5
        && switch (state) {
          case "25P02", "57014" -> true;
          case "40003" -> false;
          default -> !Errors.lostByType(e) && !TROUBLE.contains(state.substring(0, 2));
        };
  }

  @Override
  public String driverConnection() {
    return "org.postgresql.jdbc.PgConnection";
  }

  @Override
  public Catalogue.Questions catalogue() {
    return Catalogue.POSTGRES;
  }

  @Override
  public GuardSql guardSql() {
    return new PostgresGuardSql();
  }

  @Override
  public Statements statements() {
    return new PostgresStatements();
  }
}
