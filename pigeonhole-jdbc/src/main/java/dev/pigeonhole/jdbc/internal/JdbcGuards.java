package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.jdbc.internal.GuardEntry.Comer;
import dev.pigeonhole.jdbc.internal.GuardEntry.Entered;
import dev.pigeonhole.jdbc.internal.Session.LockWait;
import dev.pigeonhole.store.CrashPoints;
import dev.pigeonhole.store.Guards;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.store.StoreException.Kind;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Guarded runs: enter, run, complete the receipt, commit. Who may enter says {@link GuardEntry}.
 */
final class JdbcGuards implements Guards {
  private static final Logger LOG = LoggerFactory.getLogger(JdbcGuards.class);

  private static final int RERUNS = 3;

  /** The last day that every database can keep. */
  private static final Instant END_OF_TIME = Instant.parse("9999-12-31T00:00:00Z");

  // Index: receipt_pk. Of a run that was committed before its end.
  private static final String TAKE_BACK =
      "DELETE FROM {receipt} WHERE seq = ? AND handler = ? AND token = ? AND "
          + Receipts.IS_RUNNING;

  /** The database has undone a run: nothing of it is left, and it may be run again. */
  private static final class Undone extends Exception {
    private static final long serialVersionUID = 1L;

    final StoreException error;
    final transient @Nullable Throwable thrown;

    Undone(StoreException error, @Nullable Throwable thrown) {
      super(error);
      this.error = error;
      this.thrown = thrown;
    }
  }

  /**
   * How the work has ended.
   *
   * @param failure what it threw, if that is its answer; then all behind the savepoint is undone
   * @param delivering whether it has added deliveries of known messages; on a connection that we do
   *     not watch it may have done so anyway
   */
  private record Done(
      @Nullable Answer answer,
      @Nullable Throwable failure,
      @Nullable Savepoint clean,
      boolean delivering) {}

  /** A run for (message, handler) in these tables. */
  private record Purpose(String tables, MessageRef message, int handler) {}

  private final Jdbc jdbc;
  private final Statements statements;
  private final GuardSql sql;
  private final Families families;
  private final GuardEntry entry;

  /** Few: a guard keeps what it was told to keep. */
  private final Map<Duration, String> untils = new ConcurrentHashMap<>();

  JdbcGuards(Jdbc jdbc, Statements statements, GuardSql sql, Families families) {
    this.jdbc = jdbc;
    this.statements = statements;
    this.sql = sql;
    this.families = families;
    this.entry = new GuardEntry(statements, sql, families);
  }

  @Override
  public Verdict run(Request request, Work work) throws WorkFailedException {
    long token = newToken();
    boolean doubt = false;
    for (int reruns = 0; ; reruns++) {
      StoreException failed;
      Throwable thrown = null;
      try {
        Verdict verdict = once(request, new Comer(token, doubt, false), work);
        if (doubt && verdict instanceof Verdict.Busy) {
          // Whom it waits for may be itself: the server may not have noticed that we were cut off.
          throw Errors.unknown("An earlier try may still be under way", null);
        }
        return verdict;
      } catch (Undone e) {
        failed = e.error;
        thrown = e.thrown;
      } catch (StoreException e) {
        failed = e;
      }
      doubt |= failed.kind() == Kind.UNKNOWN;
      if (reruns == RERUNS || !isWorthARerun(failed)) {
        if (doubt && failed.kind() != Kind.UNKNOWN) {
          throw Errors.unknown("An earlier try was in doubt and the last one failed", failed);
        }
        if (thrown != null) {
          throw new WorkFailedException(thrown);
        }
        throw failed;
      }
      Jdbc.backOff(reruns + 1);
    }
  }

  /** Never zero, which stands for receipts of deliveries. */
  private static long newToken() {
    return ThreadLocalRandom.current().nextLong(1, Long.MAX_VALUE);
  }

  /** A pool that has waited in vain for a connection would only wait as long again. */
  private boolean isWorthARerun(StoreException failed) {
    return failed.deadlock()
        || failed.kind() == Kind.UNKNOWN
        || (failed.code() != ErrorCode.DATABASE_UNREACHABLE && jdbc.fault(failed) == Fault.LOST);
  }

  private Verdict once(Request request, Comer comer, Work work) throws WorkFailedException, Undone {
    Duration silence = Silence.of(Optional.of(request.timeLimit()));
    try (Jdbc.Borrowed borrowed = jdbc.begin(request.handler().key(), silence)) {
      // The transaction is shared with the work, so its settings must stay as they are.
      Session session = borrowed.sharedSession(LockWait.NORMAL, silence);
      Entered entered = enter(session, request, comer);
      if (entered.verdict() != null) {
        return entered.verdict();
      }
      CrashPoints.reach("guard.entered");
      // Before the canary, which on some databases ends with every savepoint behind it.
      // Whoever manages the transaction would flush, behind it, what the failed work has left.
      Savepoint clean = borrowed.managed() ? null : clean(borrowed.connection, work);
      Statements.Canary canary =
          borrowed.managed() ? statements.strictCanary(session) : statements.canary(session);
      Done done;
      try {
        done = unlimited(borrowed, canary, purpose(request), entered.handler(), work, clean);
        if (!canary.alive()) {
          throw lost(done);
        }
      } catch (WorkFailedException e) {
        if (hasEnded(canary)) {
          takeBack(borrowed, session, entered, comer.token());
        }
        throw e;
      }
      CrashPoints.reach("guard.work-done");
      finish(session, entered, done);
      commit(borrowed, session, entered, receipt(request, entered, comer.token()), done);
      CrashPoints.reach("guard.after-commit");
      return new Verdict.Ran();
    } catch (SQLException e) {
      throw Errors.of(jdbc.dialect, jdbc.tables, e, false);
    }
  }

  /** What the server checks only now, such as a deferred key, the work has written. */
  private void commit(
      Jdbc.Borrowed borrowed, Session session, Entered entered, GuardSql.Receipt receipt, Done done)
      throws SQLException, WorkFailedException {
    boolean atOnce = borrowed.ownsTransaction() && sql.commitsWith(receipt) && !done.delivering();
    if (!atOnce) {
      complete(session, entered, receipt, done);
    }
    CrashPoints.reach("guard.before-commit");
    try {
      if (atOnce) {
        borrowed.commitBy(session, last -> sql.completeAndCommit(last, receipt));
      } else {
        borrowed.commit(session);
      }
    } catch (Jdbc.RolledBackException e) {
      throw new WorkFailedException(e.why());
    } catch (StoreException e) {
      boolean mayBeOurs = atOnce && e.code() == ErrorCode.DATABASE_PRIVILEGE;
      if (e.kind() == Kind.PERMANENT && !mayBeOurs && e.getCause() instanceof SQLException cause) {
        if (atOnce && sql.refusesReceipt(jdbc.tables, cause)) {
          throw lost(done);
        }
        if (atOnce && sql.refusesEveryReceipt(jdbc.tables, cause)) {
          throw e;
        }
        throw new WorkFailedException(
            new StoreException(
                Kind.PERMANENT,
                ErrorCode.DATABASE_ERROR,
                "The database refused at COMMIT what the body had written, and rolled all of it"
                    + " back: "
                    + Errors.describe(cause),
                cause));
      }
      throw e;
    }
  }

  /** Where the work has accepted its own message, without the delivery for its own handler. */
  private void complete(Session session, Entered entered, GuardSql.Receipt receipt, Done done)
      throws SQLException, WorkFailedException {
    if (sql.complete(session, receipt) == 1) {
      return;
    }
    entry.withdraw(session, entered);
    if (sql.complete(session, receipt.anyway()) != 1) {
      throw lost(done);
    }
  }

  private Purpose purpose(Request request) {
    NewMessage message = request.message();
    return new Purpose(
        jdbc.tables.sql("{message}"),
        new MessageRef(message.source(), message.id()),
        families.head(request.handler().family()));
  }

  /**
   * Work that is not ours takes its time; the rollback of a run that failed is ours to wait for.
   */
  private Done unlimited(
      Jdbc.Borrowed borrowed,
      Statements.Canary canary,
      Purpose purpose,
      HandlerId handler,
      Work work,
      @Nullable Savepoint clean)
      throws SQLException, WorkFailedException, Undone {
    borrowed.liftNetworkLimit();
    try {
      return work(borrowed, unit(borrowed.connection, purpose), canary, handler, work, clean);
    } finally {
      borrowed.limitNetwork();
    }
  }

  private static WorkFailedException lost(Done done) {
    return new WorkFailedException(
        done.failure() == null ? JdbcTransactions.lost() : done.failure());
  }

  private Entered enter(Session session, Request request, Comer comer) throws SQLException {
    try {
      return entry.enter(session, request, comer);
    } catch (SQLException e) {
      if (jdbc.dialect.fault(e) == Fault.LOCK_TIMEOUT) {
        return Entered.told(new Verdict.Busy());
      }
      throw e;
    }
  }

  @Override
  public Verdict join(Connection connection, Request request, Work work)
      throws WorkFailedException {
    try {
      if (connection.getAutoCommit()) {
        throw new StoreException(
            Kind.PERMANENT,
            ErrorCode.TX_REQUIRED,
            "The connection is in autocommit mode. Call setAutoCommit(false) first, so that the"
                + " receipt commits together with your own writes, or run without a connection.",
            null);
      }
      if (UnitConnection.isUnderWay(purpose(request), connection)) {
        // Its work has handed in its own message: what becomes of the one becomes of the other.
        Instant now = jdbc.foreign(connection).now();
        return new Verdict.Known(DeliveryState.COMPLETED, now, null);
      }
      return joined(connection, request, work);
    } catch (SQLException e) {
      throw Errors.of(jdbc.dialect, jdbc.tables, e, false);
    }
  }

  /** The savepoint stays to the end: what a body that fails has written goes with its receipt. */
  private Verdict joined(Connection connection, Request request, Work work)
      throws SQLException, WorkFailedException {
    Session session = jdbc.foreign(connection);
    Savepoint before = connection.setSavepoint();
    boolean open = true;
    try {
      long token = newToken();
      Entered entered = enter(session, request, new Comer(token, false, true));
      if (entered.verdict() != null) {
        open = false;
        undo(connection, before, null);
        return entered.verdict();
      }
      Savepoint clean = clean(connection, work);
      Statements.Canary canary = statements.canary(session);
      Done done;
      try {
        UnitConnection unit = unit(connection, purpose(request));
        done = work(null, unit, canary, entered.handler(), work, clean);
      } catch (WorkFailedException e) {
        open = false;
        undo(connection, before, e.getCause());
        throw e;
      }
      if (!canary.alive()) {
        throw lost(done);
      }
      finish(session, entered, done);
      complete(session, entered, receipt(request, entered, token), done);
      connection.releaseSavepoint(before);
      open = false;
      return new Verdict.Ran();
    } catch (Undone e) {
      // Not the body's own exception, which would say that the caller may go on.
      if (e.thrown != null && e.thrown != e.error.getCause()) {
        e.error.addSuppressed(e.thrown);
      }
      throw e.error;
    } finally {
      if (open) {
        tryToUndo(connection, before);
      }
    }
  }

  /** Where that cannot be, the caller's own writes are not what it believes, and it must know. */
  private static void undo(Connection connection, Savepoint before, @Nullable Throwable thrown) {
    try {
      connection.rollback(before);
      connection.releaseSavepoint(before);
    } catch (SQLException e) {
      StoreException ended =
          new StoreException(
              Kind.UNKNOWN,
              ErrorCode.TX_LOST,
              "The transaction of the caller has ended during the run: the database has rolled all of"
                  + " it back, or something that the body called has committed it. Roll back, and do"
                  + " all of it again: "
                  + Errors.describe(e),
              ServerWords.only(e));
      if (thrown != null) {
        ended.addSuppressed(thrown);
      }
      throw ended;
    }
  }

  /** For a caller who has to roll back in any case. */
  private static void tryToUndo(Connection connection, Savepoint before) {
    try {
      connection.rollback(before);
      connection.releaseSavepoint(before);
    } catch (SQLException e) {
      LOG.debug("Rollback of a joined guard run failed", ServerWords.only(e));
    }
  }

  /** Where the transaction goes back to if a failure is kept: behind identity and receipt. */
  private static @Nullable Savepoint clean(Connection connection, Work work) throws SQLException {
    return work.mayKeepFailure() ? connection.setSavepoint() : null;
  }

  private UnitConnection unit(Connection connection, Purpose purpose) {
    return new UnitConnection(connection, jdbc.dialect, purpose);
  }

  /**
   * Runs the work. A swallowed error is not a success, and no failure after one can be kept.
   *
   * @param borrowed null in the transaction of a caller
   */
  private Done work(
      Jdbc.@Nullable Borrowed borrowed,
      UnitConnection unit,
      Statements.Canary canary,
      HandlerId handler,
      Work work,
      @Nullable Savepoint clean)
      throws WorkFailedException, Undone {
    Answer answer = null;
    Throwable thrown = null;
    try {
      answer = work.run(unit.connection(), handler);
      if (borrowed != null) {
        borrowed.flush();
      }
    } catch (KeepFailureException e) {
      thrown = e.getCause() == null ? e : e.getCause();
      answer = e.answer();
    } catch (Throwable e) {
      // A stack that was too deep is whole again here; otherwise the JVM itself is in trouble.
      if (e instanceof VirtualMachineError error && !(error instanceof StackOverflowError)) {
        throw error;
      }
      thrown = e;
    } finally {
      unit.end();
    }
    SQLException error = borrowed == null ? unit.error() : borrowed.errorOf(unit, thrown, canary);
    if (error != null && !unit.aborted()) {
      Fault fault = jdbc.dialect.fault(error);
      if (fault == Fault.DEADLOCK || fault == Fault.LOST) {
        throw new Undone(Errors.of(jdbc.dialect, jdbc.tables, error, false), thrown);
      }
    }
    InboxException wrong = unit.wrong();
    if (thrown != null) {
      if (answer == null || clean == null || wrong != null || unit.aborted()) {
        throw new WorkFailedException(thrown);
      }
      return new Done(answer, thrown, clean, unit.delivering());
    }
    if (wrong != null) {
      throw new WorkFailedException(wrong);
    }
    return new Done(answer, null, clean, unit.delivering());
  }

  /** Whether something that the work called has ended our transaction, such as a procedure. */
  private static boolean hasEnded(Statements.Canary canary) {
    try {
      return !canary.alive();
    } catch (SQLException e) {
      return false; // with the connection the transaction is gone, too
    }
  }

  /**
   * A receipt that somebody has committed before the end of its run. Where it cannot be taken back,
   * it is left running, and whoever comes next does not count it.
   */
  private void takeBack(Jdbc.Borrowed borrowed, Session session, Entered entered, long token) {
    try {
      jdbc.dialect.rollback(borrowed.connection);
      sql.update(session, TAKE_BACK, params -> bind(params, entered, token));
      borrowed.commit(session);
    } catch (SQLException e) {
      warnOfReceipt(ServerWords.only(e));
    } catch (StoreException | Jdbc.RolledBackException e) {
      warnOfReceipt(e);
    }
  }

  private static void warnOfReceipt(Exception e) {
    LOG.warn("Removal of a receipt that was committed before its run ended failed", e);
  }

  private static void bind(Params params, Entered entered, long token) throws SQLException {
    params.add(entered.seq()).add(entered.handler().family()).add(token);
  }

  /** All but the receipt. */
  private void finish(Session session, Entered entered, Done done)
      throws SQLException, WorkFailedException, Undone {
    if (done.failure() != null) {
      undoEffects(session.connection, done.failure(), done.clean());
    }
    if (!entry.take(session, entered)) {
      throw lost(done);
    }
    if (done.answer() != null) {
      keep(session, entered.seq(), entered.handler().family(), done.answer());
    }
  }

  private GuardSql.Receipt receipt(Request request, Entered entered, long token) {
    return new GuardSql.Receipt(
        entered.seq(),
        entered.handler(),
        token,
        request,
        entered.first(),
        until(request.keepReceipt()),
        entered.touched());
  }

  /** Where that cannot be done, nothing is kept. */
  private void undoEffects(Connection connection, Throwable failure, @Nullable Savepoint clean)
      throws WorkFailedException, Undone {
    try {
      connection.rollback(clean);
    } catch (SQLException e) {
      Fault fault = jdbc.dialect.fault(e);
      if (fault == Fault.DEADLOCK || fault == Fault.LOST) {
        throw new Undone(Errors.of(jdbc.dialect, jdbc.tables, e, false), failure);
      }
      throw new WorkFailedException(failure);
    }
  }

  private void keep(Session session, long seq, int handler, Answer answer) throws SQLException {
    session.update(
        sql.keepAnswer(until(answer.keep())),
        params -> params.add(seq).add(handler).add(answer.contentType()).add(answer.content()));
  }

  /** When a time that begins now is over, as an expression. */
  private String until(@Nullable Duration keep) {
    return keep == null ? "NULL" : untils.computeIfAbsent(keep, this::newUntil);
  }

  private String newUntil(Duration keep) {
    return keep.equals(FOR_EVER)
        ? jdbc.dialect.literal(END_OF_TIME)
        : jdbc.dialect.plusMicros("{now}", String.valueOf(keep.toNanos() / 1_000));
  }
}
