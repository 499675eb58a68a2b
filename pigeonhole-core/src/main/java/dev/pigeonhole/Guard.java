package dev.pigeonhole;

import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.store.InboxStore;
import java.sql.Connection;
import java.time.Duration;
import java.util.Collection;

/**
 * Runs something now, on the caller's thread, once for each key: what the body writes and the
 * receipt that remembers it commit in one transaction, or not at all. A copy that comes while the
 * first is running waits for it, and is then a repeat: it gets the answer of the first run, if
 * answers are kept.
 *
 * <pre>{@code
 * Guard guard = Guard.on(store).build();
 *
 * GuardKey key = GuardKey.of("charge-card", ChargeCard.class, command.reference());
 * Guarded<String> result = guard.run(key, tx -> cards.charge(tx.connection(), command));
 * }</pre>
 *
 * <p>A body that has nothing to return ends with {@code return null;}.
 *
 * <p>It uses the tables of an inbox, and keys, receipts and handlers mean the same in both: what
 * the one has done is a repeat for the other. Safe for many threads.
 */
public interface Guard extends AutoCloseable {

  /** Starts to declare a guard on a store that can let writes and receipts commit together. */
  static GuardBuilder on(InboxStore store) {
    return new GuardBuilder(store);
  }

  /**
   * This guard for callers with a deadline of their own: it waits for the first run so long, and
   * not for {@link GuardBuilder#waitAtMost}. All else is shared, so closing what is answered closes
   * nothing.
   *
   * @param time from 1 ms to 20 s; MariaDB counts whole seconds, at least one
   * @throws ConfigurationException if it is out of range
   */
  Guard waitingAtMost(Duration time);

  /**
   * Runs the body in a transaction of its own, unless the key is known. After a deadlock, or a
   * connection that was lost before the commit was sent, the whole is run again, three times at
   * most.
   *
   * @throws X what the body throws, as it is, after everything was rolled back, or all but the
   *     receipt where such failures are kept ({@link GuardBuilder#keepFailures})
   * @throws KeptFailureException if the first run has failed, and that was kept
   * @throws MissingKeyException if there is no key
   * @throws dev.pigeonhole.store.StoreException if the database cannot do it now; with the kind
   *     {@code UNKNOWN} if nobody can say whether it did, and running again finds out
   */
  <R, X extends Exception> Guarded<R> run(GuardKey key, GuardBody<R, X> body) throws X;

  /**
   * The same, and keeps what the body returns: a repeat gets it as its answer.
   *
   * @param type what the body returns; bytes, text, or what the codec can write
   */
  <R, X extends Exception> Guarded<R> answer(GuardKey key, Class<R> type, GuardBody<R, X> body)
      throws X;

  /**
   * Runs the body in the transaction of this connection, which the caller commits. A run that is a
   * repeat, busy or in conflict, and one whose body fails, leaves the transaction as it was before.
   * Nothing is run again. A failure that is kept has added its receipt: it is kept if the caller
   * commits all the same.
   *
   * @throws KeptFailureException if the first run has failed, and that was kept
   * @throws dev.pigeonhole.store.StoreException if the connection is in autocommit mode ({@code
   *     PH-TX-06}), or if the database has ended the transaction: then the caller has to do all of
   *     it again
   */
  <R, X extends Exception> Guarded<R> run(Connection connection, GuardKey key, GuardBody<R, X> body)
      throws X;

  /** {@link #answer} in the transaction of a caller. */
  <R, X extends Exception> Guarded<R> answer(
      Connection connection, GuardKey key, Class<R> type, GuardBody<R, X> body) throws X;

  /**
   * Makes handlers known to the store before they run. Otherwise the first run of each does, with a
   * connection besides that of a caller's transaction: a pool that has none left lets it wait in
   * vain.
   *
   * @throws dev.pigeonhole.store.StoreException if the database cannot do it now; the first run
   *     tries again
   */
  default void prepare(Collection<HandlerKey> handlers) {}

  /**
   * How requests and answers become bytes: bytes and text as they are, everything else by the codec
   * that the guard was built with, or that the class path offers. For whoever keeps more than one
   * thing in an answer.
   */
  PayloadCodec codec();

  /** Ends what runs in the background: forgetting old receipts. */
  @Override
  void close();
}
