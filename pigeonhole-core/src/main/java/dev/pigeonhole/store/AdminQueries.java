package dev.pigeonhole.store;

import dev.pigeonhole.admin.ConflictView;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.admin.HandlerCounts;
import dev.pigeonhole.admin.Pause;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What operators see and change; {@code InboxAdmin} is the face of it. A family stands for all that
 * were declared one with it, see {@link Maintenance#register}; where a message stands in several of
 * them, the one that was asked for comes first.
 */
public interface AdminQueries {

  /** Open, poisoned and completed deliveries per handler key. */
  List<HandlerCounts> counts();

  /** The delivery of this message to the handler family, in whatever state it is. */
  Optional<DeliveryView> find(String source, String id, int family);

  /** Poisoned deliveries, newest first; every handler when the family is null. */
  List<DeliveryView> poisoned(@Nullable Integer family, int limit);

  /**
   * Makes one poisoned delivery due now with failures 0 and version + 1, and releases what is
   * blocked behind it in its key, all in one commit with an audit row. False if it is not poisoned
   * any more.
   */
  boolean retry(String source, String id, int family, String actor, String reason);

  /** Second copies that were kept, newest first. */
  List<ConflictView> conflicts(int limit);

  /** One of them with its content, unless somebody has resolved it. */
  Optional<SecondCopy> conflict(long conflict);

  /**
   * Removes a second copy, in one commit with an audit row. False if it is gone already.
   *
   * @param action what was done about it
   */
  boolean endConflict(long conflict, String action, String actor, String reason);

  /**
   * Pauses a handler, in one commit with an audit row; {@link Nodes#paused()} tells of it. False if
   * it is paused already.
   *
   * @param keyId the key that it was asked for by
   */
  boolean pause(int family, int keyId, String actor, String reason);

  /** The opposite. False if it is not paused. */
  boolean resume(int family, int keyId, String actor, String reason);

  /** Whatever is paused, the longest paused first. */
  List<Pause> paused();

  /**
   * Turns one poisoned delivery into a receipt, and releases what is blocked behind it in its key,
   * all in one commit with an audit row. False if it is not poisoned any more.
   *
   * @param discarded whether nobody has done what the handler should have done
   */
  boolean end(String source, String id, int family, boolean discarded, String actor, String reason);

  /** How many deliveries stand open, fresh or later, under this exact key. */
  long open(int keyId);

  /**
   * What {@link Nodes#nodes()} answers, for somebody who is not a node: nothing that a node keeps
   * for itself, such as a connection, is taken for it.
   */
  List<NodeRow> nodes();

  /** How many messages are stored. */
  long messages();
}
