package dev.pigeonhole.store;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.Failure;
import java.util.Collection;
import java.util.List;
import java.util.Map;

/** What an inbox needs before it runs, and what keeps a store tidy. */
public interface Maintenance {

  /**
   * Checks everything safety needs, such as schema version, durability, collation and pool size,
   * and claims the tables for this inbox.
   *
   * @return warnings for the log
   * @throws ConfigurationException with every problem of the checks together, or if the tables
   *     belong to another inbox
   * @throws StoreException if the store cannot be reached
   */
  List<String> open(StoreSettings settings);

  /**
   * Resolves handler keys to numbers, handing out new ones under a lock only where missing, and
   * makes sure that every family has its cells. The keys of one element are a family: the current
   * key first, then its former keys. A key that the store has forgotten gets the number again that
   * it had, and no other key gets that number.
   *
   * <p>Keys that were registered apart before somebody declared them one family keep their numbers.
   * The gate then treats all families of the element as one: a message that stands in any of them
   * is known to the handler.
   *
   * @return one id per key asked for, in order
   */
  List<List<HandlerId>> register(List<List<String>> families);

  /** Every handler key this store has ever seen. */
  Collection<HandlerId> handlers();

  /**
   * Looks at the next messages in the order of their numbers, from where the last step of any node
   * ended, and forgets what may be forgotten, all in one commit. One at a time: whoever comes while
   * another is at it does nothing, and is told so. A message is locked first and looked at in a
   * statement after that, so that a repeat which arrives meanwhile finds it whole or gone.
   *
   * <p>Answers whose time is over go first; while there are so many that they fill a step, the walk
   * stays where it is.
   */
  Pruning.Step prune(Pruning pruning, int limit);

  /**
   * Poisons open deliveries of a family that nobody knows, at most {@code limit} of them, without
   * counting a failure, and answers how many.
   */
  int poisonUnknown(int handler, Failure reason, int limit);

  /**
   * Lets go the rest of ordering keys whose release was cut in the middle, by a crash or a lost
   * connection. Costs next to nothing while there are none; any number of nodes may do so at once.
   */
  void finishReleases();

  /**
   * How many open deliveries each of these families has, fresh and later together, counted up to
   * {@code atMost} and not further; a family without any may be missing.
   */
  Map<Integer, Integer> unsettled(Collection<Integer> handlers, int atMost);
}
