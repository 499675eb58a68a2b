package dev.pigeonhole.store;

import java.sql.Connection;
import java.util.List;

/**
 * The gate. {@code message} guards uniqueness across fresh, later, poisoned and completed
 * deliveries: for one (message, handler family) at most one of them exists, whatever nodes race.
 *
 * <ul>
 *   <li>A new message and all its deliveries become visible in one commit.
 *   <li>A repeat changes nothing, except that a handler which stands in none of the four states
 *       gets its delivery. The check happens in a statement after the one that locked the message.
 *   <li>Sequence numbers follow the order of the list, so a batch with one ordering key is ordered;
 *       a message accepted after another's accept returned has the higher number.
 *   <li>The same identity twice in one list: the first is stored, the second is known.
 *   <li>A message with {@code notBefore} in the future waits in {@code later}.
 *   <li>A message with a {@code place} stands there too, due at once.
 * </ul>
 */
public interface Acceptor {

  /**
   * Accepts in as few commits of its own as possible, one where all are new and nothing is in the
   * way, and answers in the order of the list. Deadlocks and lost connections are tried again; an
   * unknown outcome is resolved by inserting again, never by looking. A row that the database
   * refuses fails the call: all that comes with messages was checked before, so no message is to
   * blame. Identities that other open transactions hold are waited for once, all together and after
   * the others have been stored; if they are still held then, the call fails.
   *
   * @throws StoreException if nothing was accepted, or of kind {@link StoreException.Kind#UNKNOWN}
   *     if a part was, or nobody can say
   */
  List<AcceptResult> accept(List<NewMessage> batch);

  /**
   * The same for messages of several callers, who must not wait for each other's troubles: what
   * would have to wait for another open transaction is answered as {@link AcceptResult.Busy} after
   * a moment, with nothing stored. Its neighbours are accepted, except those that follow it in its
   * ordering key, which are busy as well. Each caller then accepts on its own what was busy.
   *
   * <p>A store in which nobody waits for others need not do anything about it.
   *
   * @throws StoreException if nothing was accepted, or nobody can say
   */
  default List<AcceptResult> acceptTogether(List<NewMessage> batch) {
    return accept(batch);
  }

  /**
   * Accepts inside the caller's transaction: never commits, rolls back or closes, and tries nothing
   * again.
   *
   * @throws StoreException with {@code PH-TX-06} if the connection is in autocommit mode
   */
  List<AcceptResult> accept(Connection connection, List<NewMessage> batch);
}
