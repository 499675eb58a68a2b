package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.jdbc.TransactionSource;
import dev.pigeonhole.jdbc.internal.Session.LockWait;
import dev.pigeonhole.store.StoreException;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Owns connections: borrows one, makes it READ COMMITTED with time limits, runs work, and gives it
 * back as it was. Every SQLException ends here and leaves as a {@link StoreException}.
 */
final class Jdbc {

  /** Work on one connection. It may run again after a deadlock. */
  @FunctionalInterface
  interface Work<T> {
    T run(Session session) throws SQLException;
  }

  /** A statement that commits. */
  @FunctionalInterface
  interface Ending {
    void run(Session session) throws SQLException;
  }

  /** A transaction that somebody else manages was rolled back for what the handler did. */
  static final class RolledBackException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    RolledBackException(Exception cause) {
      super(cause);
    }

    /** What the handler has done. */
    Throwable why() {
      return getCause() == null ? this : getCause();
    }
  }

  /** Nothing of ours waits longer for an answer of the network. */
  static final Duration NETWORK_LIMIT = Duration.ofSeconds(60);

  static final int TRIES = 6;

  final Dialect dialect;
  final Tables tables;
  final @Nullable InstantSource clock;
  private final DataSource dataSource;
  private final @Nullable TransactionSource source;

  private final LoanSettings settings;
  final OwnTables ownTables;

  Jdbc(DataSource dataSource, Dialect dialect, Tables tables, @Nullable InstantSource clock) {
    this(dataSource, dialect, tables, clock, null);
  }

  Jdbc(
      DataSource dataSource,
      Dialect dialect,
      Tables tables,
      @Nullable InstantSource clock,
      @Nullable TransactionSource source) {
    this.source = source;
    this.dataSource = dataSource;
    this.dialect = dialect;
    this.tables = tables;
    this.clock = clock;
    this.settings = dialect.loanSettings();
    this.ownTables = new OwnTables(this, dataSource.getClass().getClassLoader());
  }

  /** Reads with statements that each see their own snapshot. */
  <T> T read(Work<T> work) {
    try (Borrowed borrowed = borrow(null, null)) {
      return work.run(borrowed.session(false, LockWait.NORMAL));
    } catch (SQLException e) {
      throw Errors.of(dialect, tables, e, false);
    }
  }

  /** Runs one statement that commits itself, or one transaction that needs a beginning. */
  <T> T write(LockWait lockWait, Work<T> work) {
    if (settings.beginning() != null) {
      return once(lockWait, work);
    }
    try (Borrowed borrowed = borrow(true, Silence.OF_THE_LIBRARY)) {
      Session session = borrowed.session(true, lockWait);
      T answer = work.run(session);
      refuseDoubt(session);
      return answer;
    } catch (SQLException e) {
      throw Errors.of(dialect, tables, e, true);
    }
  }

  /** Runs work in one transaction, again if it was chosen as the victim of a deadlock. */
  <T> T transaction(Work<T> work) {
    return transaction(LockWait.NORMAL, work);
  }

  /** The same with another limit for locks. */
  <T> T transaction(LockWait lockWait, Work<T> work) {
    return retrying(() -> once(lockWait, work));
  }

  /** For transactions in which code of users runs between our statements. */
  LoanSettings.Limits silenceLimits(Session session) throws SQLException {
    return settings.limits(session.connection);
  }

  /** What the database has said, if an error of it is the cause. */
  Fault fault(StoreException e) {
    return e.getCause() instanceof SQLException cause ? dialect.fault(cause) : Fault.OTHER;
  }

  /** Runs work in one transaction, once. */
  <T> T once(LockWait lockWait, Work<T> work) {
    try (Borrowed borrowed = borrow(false, Silence.OF_THE_LIBRARY)) {
      Session session = borrowed.transaction(lockWait);
      T answer = work.run(session);
      borrowed.commit(session);
      return answer;
    } catch (SQLException e) {
      if (e instanceof OtherIsolationException) {
        settings.distrustSessions();
      }
      throw Errors.of(dialect, tables, e, false);
    }
  }

  /**
   * A session on the connection of a caller, who commits.
   *
   * @throws StoreException if it does not lead to the tables of this store
   */
  Session foreign(Connection connection) throws SQLException {
    Session session =
        new Session(
            UnitConnection.inside(connection),
            dialect,
            tables,
            clock,
            true,
            false,
            LockWait.NORMAL);
    ownTables.check(session, connection);
    return session;
  }

  /** A connection in a transaction, for work that ends it by itself. */
  Borrowed begin() {
    return borrow(false, Silence.OF_THE_LIBRARY);
  }

  /**
   * A transaction for work of a handler, begun by the framework that manages them, if there is one.
   *
   * @param silence how long its client may be silent
   */
  Borrowed begin(String handler, Duration silence) {
    if (source == null) {
      return borrow(false, silence);
    }
    try {
      return new Borrowed(source.begin(handler));
    } catch (SQLException e) {
      throw Errors.unreachable(e);
    }
  }

  /** A connection on which every statement commits itself, to be kept. */
  Borrowed committing() {
    return borrow(true, null);
  }

  static <T> T retrying(Supplier<T> work) {
    for (int attempt = 1; ; attempt++) {
      try {
        return work.get();
      } catch (StoreException e) {
        if (!e.deadlock() || attempt >= TRIES) {
          throw e;
        }
        backOff(attempt);
      }
    }
  }

  /** Waits a random moment, longer each time, so that two victims do not meet again. */
  static void backOff(int attempt) {
    long most = Duration.ofMillis(5L << Math.min(attempt, 6)).toNanos();
    LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(most) + 1);
  }

  private static void refuseDoubt(Session session) {
    if (session.replicationDoubt()) {
      throw Errors.unknown(
          "The server gave up waiting for its synchronous standby",
          new SQLException("Committed locally only", "01000"));
    }
  }

  /** A pool may hand out a connection that has just died; nothing was done on it yet. */
  private Borrowed borrow(@Nullable Boolean autoCommit, @Nullable Duration silence) {
    for (int attempt = 1; ; attempt++) {
      Borrowed borrowed = new Borrowed(connect());
      try {
        borrowed.prepare(autoCommit, silence);
        return borrowed;
      } catch (SQLException e) {
        borrowed.close();
        if (attempt == 2) {
          throw Errors.unreachable(e);
        }
      } catch (RuntimeException | Error e) {
        borrowed.close();
        throw e;
      }
    }
  }

  private Connection connect() {
    try {
      return dataSource.getConnection();
    } catch (SQLException e) {
      throw Errors.unreachable(e);
    }
  }

  /** A connection on loan, and what must be put back before it is returned. */
  final class Borrowed implements AutoCloseable {
    final Connection connection;
    private final TransactionSource.@Nullable Managed managed;
    private @Nullable Boolean formerAutoCommit;
    private LoanSettings.@Nullable Restore formerSettings;
    private @Nullable Integer formerTimeout;
    private boolean open;

    Borrowed(Connection connection) {
      this.connection = connection;
      this.managed = null;
    }

    /** Somebody else has prepared the connection, and gets it back. */
    Borrowed(TransactionSource.Managed managed) {
      this.connection = managed.connection();
      this.managed = managed;
      this.open = true;
    }

    /** Whether handlers reach this connection beside the one that we guard. */
    boolean managed() {
      return managed != null;
    }

    /**
     * The error that the database gave under a handler. In a transaction that a framework manages,
     * the handler may write past the connection that we watch, and only its exception shows the
     * error. That may be an error of another database. It counts as ours if our transaction has
     * ended with it, or if it is a lock timeout, which ends no transaction on some databases.
     *
     * @param canary knows whether the transaction is still the one that the handler began in
     */
    @Nullable SQLException errorOf(
        UnitConnection unit, @Nullable Throwable thrown, Statements.Canary canary) {
      SQLException seen = unit.error();
      SQLException told = managed == null ? null : Errors.within(thrown);
      if (seen != null || told == null || dialect.fault(told) == Fault.LOCK_TIMEOUT) {
        return seen == null ? told : seen;
      }
      try {
        return canary.alive() ? null : told;
      } catch (SQLException e) {
        return dialect.fault(e) == Fault.LOST ? e : told;
      }
    }

    /** Sends what the handler's framework has held back. */
    void flush() throws Exception {
      if (managed != null) {
        managed.flush();
      }
    }

    /**
     * Makes the connection ours.
     *
     * @param autoCommit null for reading, which fits either mode
     * @param silence how long the client of its transactions may be silent; null for reading
     */
    void prepare(@Nullable Boolean autoCommit, @Nullable Duration silence) throws SQLException {
      limitNetwork();
      if (silence != null) {
        formerSettings = settings.apply(connection, silence);
      }
      boolean former = connection.getAutoCommit();
      if (autoCommit != null && former != autoCommit) {
        connection.setAutoCommit(autoCommit);
        formerAutoCommit = former;
      }
      open = !connection.getAutoCommit();
      if (silence != null) {
        beginTransaction();
      }
    }

    /** Sends what the next transaction has to begin with, if anything. */
    void beginTransaction() throws SQLException {
      String beginning = settings.beginning();
      if (open && beginning != null) {
        Dialect.execute(connection, beginning);
      }
    }

    Session session(boolean committing, LockWait lockWait) {
      return new Session(connection, dialect, tables, clock, false, committing, lockWait);
    }

    /** A session for one transaction in which only statements of ours run. */
    Session transaction(LockWait lockWait) {
      return session(false, lockWait).limitingSilence(Silence.OF_THE_LIBRARY);
    }

    /**
     * A session whose transaction is shared with somebody who must not notice us. Its statements
     * name single rows, and the network has its limit.
     */
    Session sharedSession(LockWait lockWait, Duration silence) {
      boolean timed = !dialect.timesByThreads();
      return new Session(connection, dialect, tables, clock, true, false, lockWait, timed)
          .limitingSilence(silence);
    }

    /** Bounds every wait for an answer; drivers that cannot do it are left as they are. */
    void limitNetwork() {
      if (managed != null) {
        return; // nobody could take it back before the pool has the connection again
      }
      try {
        int former = connection.getNetworkTimeout();
        int ours = (int) NETWORK_LIMIT.toMillis();
        if (former == 0 || former > ours) {
          connection.setNetworkTimeout(Runnable::run, ours);
          formerTimeout = former;
        }
      } catch (SQLException | AbstractMethodError | UnsupportedOperationException e) {
        formerTimeout = null;
      }
    }

    /** Lets work that is not ours take its time. */
    void liftNetworkLimit() throws SQLException {
      Integer former = formerTimeout;
      if (former != null) {
        connection.setNetworkTimeout(Runnable::run, former);
        formerTimeout = null;
      }
    }

    void commit(Session session) {
      if (managed == null) {
        commitAndGoOn(session);
      } else {
        commit(managed);
      }
      open = false;
    }

    private void commit(TransactionSource.Managed other) {
      open = false; // it ends with this, in whatever way
      try {
        other.commit();
      } catch (SQLException e) {
        throw Errors.ofCommit(dialect, tables, e);
      } catch (Exception e) {
        throw new RolledBackException(e);
      }
    }

    /**
     * Whether the transaction is ours from its begin: one of a pool that hands out connections in
     * autocommit mode. Another may be part of something larger, such as a transaction of JTA, whose
     * data source must see the call of commit, and refuse it.
     */
    boolean ownsTransaction() {
      return Boolean.TRUE.equals(formerAutoCommit);
    }

    /** Commits with the last statement of the transaction, which does so itself. */
    void commitBy(Session session, Ending last) {
      try {
        last.run(session);
      } catch (SQLException e) {
        throw Errors.ofLastStatement(dialect, tables, e);
      }
      open = false;
      refuseDoubt(session);
    }

    /** Commits; the next statement begins another transaction. */
    void commitAndGoOn(Session session) {
      try {
        dialect.commit(connection);
        session.notice(connection.getWarnings());
        connection.clearWarnings();
      } catch (SQLException e) {
        throw Errors.ofCommit(dialect, tables, e);
      }
      refuseDoubt(session);
    }

    /** Rolls back whatever is open and returns the connection; its errors tell nothing new. */
    @Override
    public void close() {
      if (managed != null) {
        if (open) {
          managed.rollback();
        }
        return;
      }
      try {
        if (open) {
          dialect.rollback(connection);
        }
        if (formerAutoCommit != null) {
          connection.setAutoCommit(formerAutoCommit);
        }
        if (formerSettings != null) {
          formerSettings.on(connection);
        }
        liftNetworkLimit();
      } catch (SQLException e) {
        // The connection is broken: the pool finds out when it is returned.
        abandon();
      }
      try {
        connection.close();
      } catch (SQLException e) {
        // What was to be said about the work has been said.
        open = false;
      }
    }

    /** Ends a connection that nobody should get any more. */
    void abandon() {
      try {
        connection.abort(Runnable::run);
      } catch (SQLException e) {
        open = false;
      }
    }
  }
}
