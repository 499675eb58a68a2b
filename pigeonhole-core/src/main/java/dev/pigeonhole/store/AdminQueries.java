package dev.pigeonhole.store;

import dev.pigeonhole.MessageRef;
import dev.pigeonhole.admin.AuditEntry;
import dev.pigeonhole.admin.BlockedKey;
import dev.pigeonhole.admin.ConflictView;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.admin.HandlerCounts;
import dev.pigeonhole.admin.HandlerLag;
import dev.pigeonhole.admin.MessageView;
import dev.pigeonhole.admin.Pause;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What operators see and change; {@code InboxAdmin} is the face of it. A family stands for all that
 * were declared one with it, see {@link Maintenance#register}; where a message stands in several of
 * them, the one that was asked for comes first. Only a {@link DeliveryFilter} means exactly the
 * families that it names.
 */
public interface AdminQueries {

  /**
   * Open, poisoned and completed deliveries per handler key, none counted further than this. What
   * it costs is bounded, too: where there are very many receipts, only the newest are looked at.
   */
  List<HandlerCounts> counts(int most);

  /**
   * Deliveries without a receipt by type of message, in any order. No more than this of the fresh,
   * of the later and of the poisoned ones are looked at.
   */
  List<TypeCount> countsByType(int most);

  /**
   * Since when the oldest delivery that could run has been ready, for each family. What it costs
   * must not grow with what waits: of those with a place the next in line are enough.
   */
  List<HandlerLag> lag();

  /** The families that count as this one, itself included. */
  Set<Integer> kin(int family);

  /** Deliveries that the filter means, with their families; of the last failures no stack. */
  List<Listed<DeliveryView>> deliveries(DeliveryFilter filter, Slice slice);

  /** The same deliveries for somebody who does not look at them. */
  List<Listed<MessageRef>> named(DeliveryFilter filter, Slice slice);

  /** How many there are, counted no further than this. */
  long count(DeliveryFilter filter, int most);

  /** What the newest poisoned deliveries that the filter means say of their failures. */
  List<PoisonSample> failures(DeliveryFilter filter, int most);

  /** Messages that the filter means. */
  List<Listed<MessageView>> messages(MessageFilter filter, Slice slice);

  /** How many there are, counted no further than this. */
  long count(MessageFilter filter, int most);

  /** All that is known of a message. */
  Optional<MessageState> message(String source, String id);

  /** What was done by hand or by retention, newest first. */
  List<AuditEntry> audit(int limit);

  /** Every cell. */
  List<CellRow> cells();

  /** The delivery of this message to the handler family, in whatever state it is. */
  Optional<DeliveryView> find(String source, String id, int family);

  /** Poisoned deliveries, newest first and without stacks; of every handler for null. */
  List<DeliveryView> poisoned(@Nullable Integer family, int limit);

  /**
   * Makes one poisoned delivery due now with failures 0 and version + 1, and releases what is
   * blocked behind it in its key, all in one commit with an audit row. False if it is not poisoned
   * any more.
   */
  boolean retry(String source, String id, int family, String actor, String reason);

  /**
   * Retries one poisoned delivery as {@link #retry} does, with other content for its handler from
   * now on. What came stays beside it.
   */
  boolean edit(
      String source, String id, int family, EditedContent content, String actor, String reason);

  /**
   * Delivers one message to a handler: it has never had it, or has completed it. The version of the
   * delivery is higher than any it can have had before. Content that was edited for the handler, or
   * for a family that counts as it, goes with it: its own if there are several, or the newest.
   */
  AdminChange.Effect replay(
      String source, String id, HandlerId handler, String actor, String reason);

  /** Remembers a change to many before its first step; answers the one of this name if there is. */
  Operation begin(Operation operation, String actor, String reason);

  /** A change to many, by its name, unless retention has forgotten it. */
  Optional<Operation> operation(String name);

  /**
   * Takes one step of a change to many, in one commit with its audit rows and with how far it has
   * come. If it has come further than that meanwhile, nothing is changed.
   *
   * @param operation as far as the caller knows
   * @param chosen those that come next, in ascending order
   * @param last whether there are no others behind them
   * @return how far it has come
   */
  Operation step(Operation operation, AdminChange change, List<Place> chosen, boolean last);

  /** Second copies that were kept, newest first. */
  List<ConflictView> conflicts(int limit);

  /** One of them with its content, unless somebody has resolved it. */
  Optional<SecondCopy> conflict(long conflict);

  /**
   * Keeps a second copy for whoever accepts it under this id, in one commit with an audit row; if
   * it is kept for an id already, nothing is changed.
   *
   * @return the id that it is kept for, this one or another; empty if it is gone
   */
  Optional<String> claimConflict(long conflict, String newId, String actor, String reason);

  /** Lets it go, because nothing was accepted under this id, in one commit with an audit row. */
  void unclaimConflict(long conflict, String newId, String actor, String reason);

  /** Removes it, because it was accepted under this id. */
  void finishConflict(long conflict, String newId);

  /**
   * Removes a second copy, in one commit with an audit row. False if it is gone already, or kept
   * for an id.
   *
   * @param action what was done about it
   */
  boolean dismissConflict(long conflict, String actor, String reason);

  /**
   * Pauses a handler, in one commit with an audit row; {@link Nodes#paused()} tells of it. False if
   * it is paused already.
   *
   * @param keyId the key that it was asked for by
   */
  boolean pause(int family, int keyId, String actor, String reason);

  /** The opposite. False if it is not paused. */
  boolean resume(int family, int keyId, String actor, String reason);

  /** What {@link Nodes#paused()} answers, for somebody who is not a node. */
  Set<Integer> pausedFamilies();

  /** Whatever is paused, the longest paused first. */
  List<Pause> paused();

  /**
   * Turns one poisoned delivery into a receipt, and releases what is blocked behind it in its key,
   * all in one commit with an audit row. False if it is not poisoned any more.
   *
   * @param discarded whether nobody has done what the handler should have done
   */
  boolean end(String source, String id, int family, boolean discarded, String actor, String reason);

  /** How many deliveries stand open, fresh or later, under this exact key; all are counted. */
  long open(int keyId);

  /** The same, counted no further than this. */
  long open(HandlerId handler, int most);

  /**
   * What {@link Nodes#nodes()} answers, for somebody who is not a node: nothing that a node keeps
   * for itself, such as a connection, is taken for it.
   */
  List<NodeRow> nodes();

  /** How many messages are stored. */
  long messages();

  /** Ordering keys that are blocked or closed, the longest first. */
  List<BlockedKey> blockedKeys(int limit);

  /**
   * Opens an ordering key: its poisoned deliveries no longer block, it is no longer closed, and
   * what waits in it is due, with an audit row. False if there was nothing of all that. A store may
   * let go one part after the other, lowest first, and says so by the key being closed from the
   * last one on; {@link Maintenance#finishReleases} goes on where that was cut.
   *
   * @param keyId the key that it was asked for by
   * @param keyHash what deliveries know of the ordering key; two keys that share it share their
   *     fate
   */
  boolean releaseKey(
      int family, int keyId, String orderingKey, long keyHash, String actor, String reason);
}
