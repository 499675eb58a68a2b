package dev.pigeonhole.store;

import dev.pigeonhole.admin.DeliveryState;
import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import org.jspecify.annotations.Nullable;

/**
 * Runs now, in one transaction with its receipt.
 *
 * <p>Insert the identity if it is absent, then the receipt of (message, handler) if that is absent:
 * a concurrent copy waits here, and whoever inserts none is a repeat. Then run the work; then
 * complete that receipt, which must be one row; commit. So the work is run by one at a time, and
 * its effects exist if and only if the receipt does.
 *
 * <p>An open delivery of the same message to the same handler is taken over: its row goes in the
 * same transaction. One that waits for an operator, poisoned or blocked behind a poisoned one, is
 * left as it is, and nothing runs.
 *
 * <p>The connection handed to the work is as that of {@link Transactions}.
 */
public interface Guards {

  /** As the time of a receipt: no retention ever takes it. */
  Duration FOR_EVER = ChronoUnit.FOREVER.getDuration();

  /**
   * Whom to run for.
   *
   * @param message the identity, with a content hash and a type that are compared with those of a
   *     known one, see {@link NewMessage#isCopyOf}, unless {@link NewMessage#onConflict} says that
   *     the identity alone decides; its content is not stored
   * @param handler under which the receipt is kept
   * @param asked 16 bytes over what the handler was asked for, kept with its receipt and compared
   *     with that of a known one; null where nothing is compared. It says nothing of the message,
   *     which others may know with content of their own
   * @param waitAtMost how long to wait for others
   * @param timeLimit how long the work may take. If the client of a transaction of the store falls
   *     silent, the store ends the transaction, somewhat later than that
   * @param keepReceipt how long the receipt is kept at least, whoever prunes; null for one that is
   *     the inbox's to keep
   */
  record Request(
      NewMessage message,
      HandlerId handler,
      byte @Nullable [] asked,
      Duration waitAtMost,
      Duration timeLimit,
      @Nullable Duration keepReceipt) {}

  /**
   * What a repeat gets.
   *
   * @param keep how long; null for as long as the receipt
   */
  record Answer(byte @Nullable [] content, String contentType, @Nullable Duration keep) {}

  /** What came of it. */
  sealed interface Verdict {
    /** The work was run. */
    record Ran() implements Verdict {}

    /** It was not, because (message, handler) is known. */
    record Known(DeliveryState state, Instant at, @Nullable Answer answer) implements Verdict {}

    /** Somebody else was still at it. */
    record Busy() implements Verdict {}

    /**
     * The identity is known with other content or type, or the handler was asked for other things.
     */
    record Differs() implements Verdict {}
  }

  /** What is run. */
  @FunctionalInterface
  interface Work {
    /**
     * What it returns is kept for repeats; what it throws rolls everything back.
     *
     * @param handler that of the request; where a delivery is taken over, by the name that this was
     *     stored under. The idempotency key is made of it: whoever has seen it must see it again
     * @throws KeepFailureException if its failure is to be kept for repeats
     */
    @Nullable Answer run(Connection connection, HandlerId handler) throws Exception;

    /** Whether it may throw {@link KeepFailureException}; if not, a step can be saved. */
    default boolean mayKeepFailure() {
      return false;
    }
  }

  /**
   * The work ended with an exception, which is the cause, and that is its answer: what it wrote is
   * undone, its receipt is completed, and the verdict is {@link Verdict.Ran}. Where the database
   * gave an error meanwhile, or the connection was misused, it is as any other exception.
   */
  final class KeepFailureException extends Exception {
    private static final long serialVersionUID = 1L;

    private final transient Answer answer;

    /** The answer tells repeats of the cause. */
    public KeepFailureException(Answer answer, Throwable cause) {
      super(cause);
      this.answer = answer;
    }

    /** What repeats get. */
    public Answer answer() {
      return answer;
    }
  }

  /** The work ended with an exception, which is the cause; everything was rolled back. */
  final class WorkFailedException extends Exception {
    private static final long serialVersionUID = 1L;

    /** The cause is what the work threw, or what it did wrong. */
    public WorkFailedException(Throwable cause) {
      super(cause);
    }
  }

  /**
   * Runs in a transaction of its own, and again after a fault that has undone it.
   *
   * @throws StoreException if the database failed; for {@link StoreException.Kind#UNKNOWN} running
   *     again finds out
   */
  Verdict run(Request request, Work work) throws WorkFailedException;

  /**
   * Runs in the transaction of this connection, once, behind a savepoint: unless it ends with
   * {@link Verdict.Ran} the transaction is as it was before.
   *
   * @throws StoreException if the connection is in autocommit mode, or the database failed and the
   *     caller has to roll back
   */
  Verdict join(Connection connection, Request request, Work work) throws WorkFailedException;
}
