package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How one kind of database spells what the others spell differently; standard SQL where there is a
 * body. Has no state.
 */
interface Dialect {

  /** The folder of its schema scripts. */
  String name();

  /** What stands around a name. */
  default char quote() {
    return '"';
  }

  /** Whether JDBC takes for a catalog what the others call a schema. */
  default boolean schemasAreCatalogs() {
    return false;
  }

  /** The schema that unqualified names mean on this connection. */
  default @Nullable String currentSchema(Connection connection) throws SQLException {
    return schemasAreCatalogs() ? connection.getCatalog() : connection.getSchema();
  }

  /** The database's clock, as an expression. */
  String now();

  /** A fixed time as an expression; stands for the clock in tests. */
  String literal(Instant time);

  /** The time that lies so many microseconds, an expression, after another. */
  String plusMicros(String time, String micros);

  /** The type of time columns, as CAST spells it. */
  String timeType();

  /** The next value of a sequence, as an expression. */
  String nextValue(String sequence);

  /** Binds a time, cut to what every database can keep. */
  default void bind(PreparedStatement statement, int index, @Nullable Instant time)
      throws SQLException {
    if (time == null) {
      statement.setNull(index, Types.TIMESTAMP_WITH_TIMEZONE);
    } else {
      statement.setObject(index, time.truncatedTo(ChronoUnit.MICROS).atOffset(ZoneOffset.UTC));
    }
  }

  /** Reads a time that {@link #bind} or {@link #now} has written. */
  default @Nullable Instant read(ResultSet result, int index) throws SQLException {
    OffsetDateTime time = result.getObject(index, OffsetDateTime.class);
    return time == null ? null : time.toInstant();
  }

  /** Makes an insert answer these columns of the rows it has added. */
  String returning(String insert, String columns);

  /** Inserts rows whose key is not there yet and leaves the others alone. */
  <R> void insertIfAbsent(
      Session session, String insert, String key, String row, List<R> rows, Params.Binder<R> binder)
      throws SQLException;

  /** The right to use a sequence, as a statement with its semicolon. */
  String grantSequence(String sequence, String grantee);

  /** A role as GRANT spells it. */
  default String grantee(String role) {
    Tables.check(role, "p");
    return quote() + role + quote();
  }

  /** The isolation of the present transaction, as an expression. */
  String isolation();

  /**
   * A condition that is true on a server that follows another one, whose answers may be old. Null
   * for databases without such servers.
   */
  default @Nullable String isStandby() {
    return null;
  }

  /** Commits. All transactions of ours but migrations end here or in {@link #rollback}. */
  default void commit(Connection connection) throws SQLException {
    connection.commit();
  }

  /**
   * Whether an error of COMMIT shows that the server rolled the transaction back, for faults that
   * do not show it by themselves.
   */
  default boolean refusesCommit(SQLException e) {
    return false;
  }

  /** Undoes all of a transaction. */
  default void rollback(Connection connection) throws SQLException {
    connection.rollback();
  }

  /** What connections of a pool are set to while they are on loan; one for each pool. */
  default LoanSettings loanSettings() {
    return new LoanSettings.Isolation();
  }

  /**
   * Has the server end the session if its client falls silent for so long within the present
   * transaction, see {@link Silence}. Not where {@link #loanSettings} does it for all transactions
   * of a loan, or where the database goes down with its only process.
   */
  default void limitSilence(Connection connection, Duration silence) throws SQLException {}

  /** Asks which session holds the lock of the migrations. */
  default String holderOfMigrationLock(String name) {
    throw new UnsupportedOperationException(name() + " has no such lock");
  }

  /**
   * What the end of a query has that reads one row for a caller without making the snapshot of the
   * caller's transaction.
   */
  default String withoutSnapshot() {
    return "";
  }

  /** The class of the driver's own connections, under all wrappers. */
  String driverConnection();

  /** Whether its nodes can wake each other with words of the database. */
  default boolean notifies() {
    return false;
  }

  /** Whether a thread may be interrupted while it waits for the database. */
  default boolean interruptible() {
    return true;
  }

  /** Whether its driver needs a timer of this process for each statement with a time limit. */
  default boolean timesByThreads() {
    return false;
  }

  /** What went wrong, told by SQLState or vendor code. */
  Fault fault(SQLException e);

  /** How it is asked for the tables that there are. */
  Catalogue.Questions catalogue();

  /** How a guard enters. */
  GuardSql guardSql();

  /** The hot statements, each in the form that is fastest here. */
  Statements statements();

  /** Runs a statement that answers nothing. */
  static void execute(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  static Dialect of(String product) {
    return switch (product) {
      case "PostgreSQL" -> new PostgresDialect();
      case "MariaDB" -> new MariaDbDialect();
      case "H2" -> new H2Dialect();
      case "MySQL" ->
          throw new ConfigurationException(
              ErrorCode.DATABASE_UNSUPPORTED,
              "The database is MySQL, which has no sequences and no RETURNING, so the statements for"
                  + " MariaDB do not run on it. Use MariaDB 10.6 and later, PostgreSQL or H2.");
      default ->
          throw new ConfigurationException(
              ErrorCode.DATABASE_UNSUPPORTED,
              ("The database is '%s'. Supported are PostgreSQL 14 and later, MariaDB 10.6 and"
                      + " later, and H2 2.2 and later.")
                  .formatted(product));
    };
  }

  /** The dialect of a folder of schema scripts. */
  static Dialect named(String name) {
    return switch (name) {
      case "postgresql" -> new PostgresDialect();
      case "mariadb" -> new MariaDbDialect();
      case "h2" -> new H2Dialect();
      default ->
          throw new ConfigurationException(
              ErrorCode.DATABASE_UNSUPPORTED,
              "There is no schema for '%s'; there is one for postgresql, mariadb and h2."
                  .formatted(name));
    };
  }
}
