package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.Delivery;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * One connection with what every statement on it needs: names, clock, time limits. Not for sharing
 * between threads.
 */
final class Session {

  /** Makes something of one row. */
  @FunctionalInterface
  interface Mapper<T> {
    T map(ResultSet row) throws SQLException;
  }

  /** No statement of ours runs longer. */
  static final Duration LIMIT = Duration.ofSeconds(30);

  /** How long a statement waits for somebody else's row. */
  enum LockWait {
    /** Not at all, to find out what is held. */
    NONE(1, 0, Duration.ofSeconds(5)),
    /** As long as a transaction of the library usually takes; not at all where seconds count. */
    MOMENT(100, 0, LIMIT),
    /** In a batch: the others should not wait for one. */
    SHORT(250, 1, LIMIT),
    /** For rows that are held, one by one or by several transactions: all of them together. */
    TOGETHER(5_000, 5, Duration.ofSeconds(8)),
    NORMAL(5_000, 5, LIMIT);

    final int millis;

    /** The same for a database that knows no smaller unit. */
    final int seconds;

    /** How long the whole statement may take, however many rows it waits for. */
    final Duration statement;

    LockWait(int millis, int seconds, Duration statement) {
      this.millis = millis;
      this.seconds = seconds;
      this.statement = statement;
    }
  }

  private static final int ROWS_PER_INSERT = 2000;
  private static final String REPLICATION_DOUBT = "01000";

  final Connection connection;
  final Dialect dialect;
  final Tables tables;

  /** Whether the transaction belongs to somebody else: its settings must be left as they are. */
  final boolean foreign;

  final LockWait lockWait;

  /** Whether each statement commits itself. */
  final boolean committing;

  /** Whether the driver limits the time of statements; its cancel could hit a commit. */
  private final boolean timed;

  private final @Nullable InstantSource clock;
  private boolean replicationDoubt;

  /** The limit of silence that the next statement has to set. */
  private @Nullable Duration silence;

  Session(
      Connection connection,
      Dialect dialect,
      Tables tables,
      @Nullable InstantSource clock,
      boolean foreign,
      boolean committing,
      LockWait lockWait) {
    this(connection, dialect, tables, clock, foreign, committing, lockWait, !committing);
  }

  Session(
      Connection connection,
      Dialect dialect,
      Tables tables,
      @Nullable InstantSource clock,
      boolean foreign,
      boolean committing,
      LockWait lockWait,
      boolean timed) {
    this.connection = connection;
    this.dialect = dialect;
    this.tables = tables;
    this.clock = clock;
    this.foreign = foreign;
    this.committing = committing;
    this.timed = timed;
    this.lockWait = lockWait;
  }

  /** Has the next statement set a limit of silence for the transaction. */
  Session limitingSilence(Duration limit) {
    silence = limit;
    return this;
  }

  /** Returns, once, the limit that the next statement has to set if it can. */
  @Nullable Duration takeSilence() {
    Duration taken = silence;
    silence = null;
    return taken;
  }

  /** The statement with real table names and the clock in it. */
  String sql(String template) {
    String named = tables.sql(template);
    return named.contains("{now}") ? named.replace("{now}", nowExpression()) : named;
  }

  private String nowExpression() {
    return clock == null ? dialect.now() : dialect.literal(clock.instant());
  }

  /** The time by the clock that due times are compared with. */
  Instant now() throws SQLException {
    return one("SELECT {now}", params -> {}, row -> time(row, 1)).orElseThrow();
  }

  long nextValue(String sequence) throws SQLException {
    return one("SELECT " + dialect.nextValue(sql(sequence)), params -> {}, row -> row.getLong(1))
        .orElseThrow();
  }

  <T> List<T> query(String template, Bind bind, Mapper<T> mapper) throws SQLException {
    return queryNth(template, 0, bind, mapper);
  }

  /** Reads the result that comes after so many others of the same call. */
  <T> List<T> queryNth(String template, int skip, Bind bind, Mapper<T> mapper) throws SQLException {
    try (PreparedStatement statement = prepare(template)) {
      bind.bind(new Params(dialect, statement));
      boolean rows = statement.execute();
      for (int i = 0; i < skip; i++) {
        rows = statement.getMoreResults();
      }
      List<T> answer = new ArrayList<>();
      if (rows) {
        try (ResultSet result = statement.getResultSet()) {
          while (result.next()) {
            answer.add(mapper.map(result));
          }
        }
      }
      notice(statement.getWarnings());
      return answer;
    }
  }

  <T> Optional<T> one(String template, Bind bind, Mapper<T> mapper) throws SQLException {
    return query(template, bind, mapper).stream().findFirst();
  }

  int update(String template, Bind bind) throws SQLException {
    try (PreparedStatement statement = prepare(template)) {
      bind.bind(new Params(dialect, statement));
      int count = statement.executeUpdate();
      notice(statement.getWarnings());
      return count;
    }
  }

  /** Runs the statement once per row; the counts are exact only where the driver says so. */
  <R> int[] batch(String template, List<R> rows, Params.Binder<R> binder) throws SQLException {
    if (rows.isEmpty()) {
      return new int[0];
    }
    try (PreparedStatement statement = prepare(template)) {
      Params params = new Params(dialect, statement);
      for (R row : rows) {
        params.rewind();
        binder.bind(params, row);
        statement.addBatch();
      }
      return statement.executeBatch();
    }
  }

  /**
   * Inserts rows with as few statements as possible.
   *
   * @param insert up to and including VALUES
   * @param row the placeholders of one row, in parentheses
   */
  <R> void insert(String insert, String row, List<R> rows, Params.Binder<R> binder)
      throws SQLException {
    insert(insert, row, "", rows, binder);
  }

  /**
   * The same with something behind the rows.
   *
   * @param tail the end of the statement
   */
  <R> void insert(String insert, String row, String tail, List<R> rows, Params.Binder<R> binder)
      throws SQLException {
    for (List<R> chunk : Lists.chunks(rows, ROWS_PER_INSERT)) {
      update(
          sql(insert) + repeat(sql(row), chunk.size()) + tail,
          params -> {
            for (R each : chunk) {
              binder.bind(params, each);
            }
          });
    }
  }

  /** The same for rows whose key may be there already; those are left alone. */
  <R> void insertIfAbsent(
      String insert, String key, String row, List<R> rows, Params.Binder<R> binder)
      throws SQLException {
    dialect.insertIfAbsent(this, insert, key, row, rows, binder);
  }

  static String repeat(String row, int times) {
    return (row + ", ").repeat(times - 1) + row;
  }

  private PreparedStatement prepare(String template) throws SQLException {
    Duration pending = takeSilence();
    if (pending != null) {
      dialect.limitSilence(connection, pending);
    }
    PreparedStatement statement = connection.prepareStatement(sql(template));
    if (timed) {
      statement.setQueryTimeout((int) lockWait.statement.toSeconds());
    }
    return statement;
  }

  /** PostgreSQL only warns when it gave up waiting for a synchronous standby. */
  void notice(@Nullable SQLWarning first) {
    for (SQLWarning warning = first; warning != null; warning = warning.getNextWarning()) {
      replicationDoubt |= REPLICATION_DOUBT.equals(warning.getSQLState());
    }
  }

  boolean replicationDoubt() {
    return replicationDoubt;
  }

  Instant time(ResultSet row, int index) throws SQLException {
    Instant time = dialect.read(row, index);
    if (time == null) {
      throw new SQLException("Column " + index + " holds no time", "22004");
    }
    return time;
  }

  /**
   * Reads the columns {@code seq, lane, handler, version, key_id, failures, crashes, releases,
   * key_hash, mark}, from the first one on.
   */
  static Delivery delivery(ResultSet row, boolean late) throws SQLException {
    return new Delivery(
        new Cell(row.getInt(2), row.getInt(3)),
        row.getLong(1),
        row.getLong(4),
        row.getInt(5),
        row.getInt(6),
        row.getInt(7),
        row.getInt(8),
        longOrNull(row, 9),
        row.getLong(10),
        late);
  }

  /** The same with the column {@code place} behind them. */
  static Delivery placed(ResultSet row) throws SQLException {
    return delivery(row, true).at(row.getLong(11));
  }

  static @Nullable Long longOrNull(ResultSet row, int index) throws SQLException {
    long value = row.getLong(index);
    return row.wasNull() ? null : value;
  }

  /** Binds the values of a statement. */
  @FunctionalInterface
  interface Bind {
    void bind(Params params) throws SQLException;
  }
}
