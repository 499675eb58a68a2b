package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.RetryLaterException;
import dev.pigeonhole.jdbc.internal.Session.LockWait;
import dev.pigeonhole.store.CrashPoints;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.store.StoreException.Kind;
import dev.pigeonhole.store.Transactions;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Units: lock, run, settle, commit. Nothing is deleted before the handler has returned, so that an
 * implicit commit can cost a repeat and never a message; the last step must count every row, and
 * the canary must prove that the transaction is still the one that locked them.
 */
final class JdbcTransactions implements Transactions {

  /**
   * A server may not have noticed that the connection is gone, and hold the rows for long. Who is
   * told "unknown" reads them again and leaves locked ones alone; a settle would wait for them.
   */
  private static final boolean LOST_IS_UNKNOWN = true;

  private final Jdbc jdbc;
  private final Statements statements;

  JdbcTransactions(Jdbc jdbc, Statements statements) {
    this.jdbc = jdbc;
    this.statements = statements;
  }

  @Override
  public Set<Delivery> run(List<Delivery> deliveries, Work work) throws WorkFailedException {
    if (deliveries.isEmpty()) {
      return Set.of();
    }
    Duration silence =
        work.callsNoHandler() ? Silence.OF_THE_LIBRARY : Silence.of(work.timeLimit());
    try (Jdbc.Borrowed borrowed = jdbc.begin(work.handler(), silence)) {
      // The transaction is shared with the handler, so its settings must stay as they are.
      Session session = borrowed.sharedSession(LockWait.NORMAL, silence);
      Set<Delivery> locked = statements.lock(session, deliveries, true);
      if (locked.isEmpty()) {
        return Set.of();
      }
      Statements.Canary canary =
          borrowed.managed() ? statements.strictCanary(session) : statements.canary(session);
      CrashPoints.reach("tx.locked");
      List<Delivery> ours =
          work(borrowed, canary, deliveries.stream().filter(locked::contains).toList(), work);
      CrashPoints.reach("tx.work-done");
      Delivery last = ours.get(ours.size() - 1);
      if (!canary.alive()) {
        throw lost(last);
      }
      if (!borrowed.managed()) { // what a framework runs before its commit takes its time
        session.limitingSilence(Silence.OF_THE_LIBRARY);
      }
      if (statements.complete(session, ours).size() != ours.size()) {
        throw lost(last);
      }
      CrashPoints.reach("tx.before-commit");
      commit(borrowed, session, last);
      CrashPoints.reach("tx.after-commit");
      return Set.copyOf(ours);
    } catch (SQLException e) {
      throw Errors.of(jdbc.dialect, jdbc.tables, e, LOST_IS_UNKNOWN);
    }
  }

  /** What the server checks only now, such as a deferred key, the handler has written. */
  private static void commit(Jdbc.Borrowed borrowed, Session session, Delivery last)
      throws WorkFailedException {
    try {
      borrowed.commit(session);
    } catch (Jdbc.RolledBackException e) {
      throw new WorkFailedException(last, e.why());
    } catch (StoreException e) {
      if (e.kind() == Kind.PERMANENT && e.getCause() instanceof SQLException refused) {
        throw new WorkFailedException(last, refused);
      }
      throw e;
    }
  }

  /** Runs the work; answers the deliveries that it was run for. */
  private List<Delivery> work(
      Jdbc.Borrowed borrowed, Statements.Canary canary, List<Delivery> deliveries, Work work)
      throws SQLException, WorkFailedException {
    List<Delivery> run = new ArrayList<>();
    UnitConnection unit = new UnitConnection(borrowed.connection, jdbc.dialect);
    if (!work.callsNoHandler()) {
      borrowed.liftNetworkLimit();
    }
    try {
      for (Delivery each : deliveries) {
        Throwable thrown = null;
        try {
          work.run(each, unit.connection());
          borrowed.flush();
        } catch (VirtualMachineError e) {
          throw e;
        } catch (Throwable e) {
          thrown = e;
        }
        if (thrown instanceof PoisonException || thrown instanceof RetryLaterException) {
          throw new WorkFailedException(each, thrown); // what the handler decides goes first
        }
        judge(each, borrowed.errorOf(unit, thrown, canary), unit, thrown);
        run.add(each);
        if (work.enough()) {
          break;
        }
      }
    } finally {
      unit.end();
      if (!work.callsNoHandler()) {
        borrowed.limitNetwork(); // the rollback of a unit that failed is ours to wait for
      }
    }
    return run;
  }

  /** A failing database is not the handler's fault, and a swallowed error is not a success. */
  private void judge(
      Delivery delivery,
      @Nullable SQLException error,
      UnitConnection unit,
      @Nullable Throwable thrown)
      throws WorkFailedException {
    Fault fault = error == null ? Fault.OTHER : jdbc.dialect.fault(error);
    if (error != null && (fault.sparesHandler() || (unit.aborted() && fault.passes()))) {
      StoreException failed = Errors.of(jdbc.dialect, jdbc.tables, error, LOST_IS_UNKNOWN);
      if (thrown != null && thrown != error) {
        failed.addSuppressed(thrown);
      }
      throw failed;
    }
    if (thrown != null) {
      throw new WorkFailedException(delivery, thrown);
    }
    InboxException wrong = unit.wrong();
    if (wrong != null) {
      throw new WorkFailedException(delivery, wrong);
    }
  }

  private static WorkFailedException lost(Delivery delivery) {
    return new WorkFailedException(delivery, lost());
  }

  static InboxException lost() {
    return new InboxException(
        ErrorCode.TX_LOST,
        "The transaction that the handler ended in is not the one it began in: something"
            + " committed or rolled it back, such as DDL in a procedure.");
  }
}
