package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.Settlement;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.store.Transactions;
import java.sql.Connection;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Ends attempts of plain handlers that have published something: the receipt and what goes out
 * commit in one transaction, after the handler has returned. Whoever has lost the delivery
 * meanwhile sends nothing.
 */
final class PublishingEnd {
  /** The handler has returned, so nobody needs more time than a statement of ours. */
  private record Staging(Attempt attempt) implements Transactions.Work {
    @Override
    public void run(Delivery delivery, Connection connection) {
      attempt.outgoing().stageAll(attempt, connection);
    }

    @Override
    public boolean callsNoHandler() {
      return true;
    }
  }

  private final @Nullable Transactions store;
  private final Endings endings;
  private final Runner.Surroundings surroundings;

  /**
   * @param store null for one without transactions; inboxes with an outbox are not built on it
   */
  PublishingEnd(@Nullable Transactions store, Endings endings, Runner.Surroundings surroundings) {
    this.store = store;
    this.endings = endings;
    this.surroundings = surroundings;
  }

  void complete(Attempt attempt) {
    Delivery delivery = attempt.work.delivery();
    try {
      if (store == null) {
        throw new InboxException(
            ErrorCode.TX_UNSUPPORTED, "The store has no transaction to publish in.");
      }
      Set<Delivery> done = store.run(List.of(delivery), new Staging(attempt));
      if (!done.contains(delivery)) {
        surroundings.notOurs(delivery);
        return;
      }
    } catch (Transactions.WorkFailedException e) {
      Throwable cause = e.getCause() == null ? e : e.getCause();
      if (cause instanceof StoreException failed) {
        again(attempt, failed);
      } else {
        endings.failed(attempt, cause);
      }
      return;
    } catch (StoreException e) {
      again(attempt, e);
      return;
    } catch (Throwable e) { // whatever it is, an attempt that nobody settles would stay open
      endings.failed(attempt, e);
      return;
    }
    // It has committed: whatever goes wrong from here on, it has not failed.
    surroundings.completedInTransaction(new Settlement(delivery, new Outcome.Completed()));
    attempt.outcomeRecorded();
    attempt.outgoing().committed();
    endings.committed(attempt);
  }

  /**
   * The database's trouble counts for nobody; the handler runs once more, as after a crash. But
   * what the outbox will never take is a failure like any other.
   */
  private void again(Attempt attempt, StoreException e) {
    StoreException refused = attempt.outgoing().refused();
    if (refused == null) {
      endings.storeFailed(attempt, e);
    } else {
      endings.failed(attempt, refused);
    }
  }
}
