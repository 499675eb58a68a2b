package dev.pigeonhole.admin;

import dev.pigeonhole.Acceptance;
import java.util.List;
import java.util.Optional;

/**
 * Seeing and repairing an inbox. Reads are records; changes name who and why: say who with {@link
 * #as}, or the audit says {@code application}. A handler key that was never registered is refused
 * with {@link dev.pigeonhole.ErrorCode#HANDLER_KEY_UNKNOWN}, so that a slip is not taken for an
 * empty answer; so is, with {@link dev.pigeonhole.ErrorCode#SELECTION_INVALID}, a source, an id or
 * an ordering key that nothing can have. Safe for many threads.
 */
public interface InboxAdmin {

  /** As many as can be asked for at once where a list has no pages. */
  int MOST_LISTED = 10_000;

  /**
   * The same administration in somebody's name; changes are recorded under it. Without a name they
   * are recorded under {@code application}.
   */
  InboxAdmin as(String actor);

  /** Deliveries per handler key and state, each counted up to {@link Count#MOST}. */
  List<HandlerCounts> counts();

  /**
   * The same, each counted up to this instead. What it costs grows with it: ask for it by the hour
   * and not by the second.
   */
  List<HandlerCounts> counts(int most);

  /**
   * Deliveries that are not completed, per type of message and state, by name. What it costs is
   * bounded: {@link Count#MOST} fresh, later and poisoned deliveries are looked at. Where there are
   * more, every count says so, and a type of which none was met is missing.
   */
  List<TypeCounts> countsByType();

  /** How far behind each handler is. */
  List<HandlerLag> lag();

  /**
   * All that can be said in numbers, for meters and alarms; each counted up to this.
   *
   * @param most how far deliveries are counted, {@link Count#MOST} as a rule; second copies are
   *     counted no further than 1,000
   */
  Overview overview(int most);

  /** All deliveries, to be narrowed down. */
  DeliverySelection deliveries();

  /** All messages, to be narrowed down. */
  MessageSelection messages();

  /** All that is known of one message. */
  Optional<MessageDetail> message(String source, String id);

  /** Nodes, the living and those that ended during the last day. */
  List<NodeView> nodes();

  /** Who works on the lanes of a handler. */
  List<LaneView> lanes(String handler);

  /** What was done by hand or by retention, newest first. */
  List<AuditEntry> audit(int limit);

  /** The delivery of a message to a handler, by current or former key. */
  Optional<DeliveryView> find(String source, String id, String handler);

  /** The newest poisoned deliveries of all handlers. */
  List<DeliveryView> poisoned(int limit);

  /** The newest poisoned deliveries of one handler. */
  List<DeliveryView> poisoned(String handler, int limit);

  /**
   * Gives a poisoned delivery a new life: failures 0, due now, and what was blocked behind it is
   * released, unless its sequence is held.
   *
   * @param source as {@link #poisoned} shows it: the channel's name, unless the message has a
   *     source of its own or a business key
   * @return false if no such delivery is poisoned, or not any more
   */
  boolean retry(String source, String id, String handler, String reason);

  /**
   * Gives a poisoned delivery a receipt: what its handler should have done was done otherwise. What
   * was blocked behind it is released, unless its sequence is held.
   *
   * @return false if it was not poisoned any more
   */
  boolean complete(String source, String id, String handler, String reason);

  /**
   * Gives a poisoned delivery a receipt although nobody has done what its handler should have: it
   * is not worth it. What was blocked behind it is released, unless its sequence is held.
   *
   * @return false if it was not poisoned any more
   */
  boolean discard(String source, String id, String handler, String reason);

  /**
   * Puts other content in the place of what a poisoned delivery carries, for this handler alone,
   * and gives it a new life as {@link #retry} does. What came stays as it is, beside what was put
   * in its place; {@link #message} shows both. The media type stays the same.
   *
   * @return false if it was not poisoned any more
   * @throws dev.pigeonhole.InboxException if the content is larger than the inbox takes
   */
  boolean editAndRetry(String source, String id, String handler, byte[] content, String reason);

  /**
   * Delivers one message to a handler that has never had it, or has completed it; see {@link
   * MessageSelection#replay}.
   *
   * @return false if there is no such message, it is open or poisoned there, or its content is gone
   * @throws dev.pigeonhole.InboxException with {@link dev.pigeonhole.ErrorCode#REPLAYED_TOO_OFTEN}
   *     if 4,095 deliveries were added to the message
   */
  boolean replay(String source, String id, String handler, String reason);

  /** What came of a change to many, by its name; see {@link BulkChange#operation}. */
  Optional<ChangeResult> operation(String name);

  /**
   * Lists conflicts, newest first: second copies of known messages that were kept because their
   * content or type differs.
   */
  List<ConflictView> conflicts(int limit);

  /** One of them with what it carries; empty if somebody has resolved it. */
  Optional<ConflictDetail> conflict(long conflict);

  /**
   * Deletes a second copy: the first was right.
   *
   * @return false if somebody has resolved it already, or has begun to accept it
   */
  boolean dismissConflict(long conflict, String reason);

  /**
   * Accepts a second copy as a message of its own, under an id that is not taken, and deletes it
   * from the conflicts. Whatever the answer is but {@link Acceptance.Accepted} or {@link
   * Acceptance.Repeat}, it stays there. Of two who do it under different ids the second is rejected
   * with {@link dev.pigeonhole.ErrorCode#CONFLICT_TAKEN}. Doing it twice with the same id is
   * harmless: whoever finds it begun and not finished, because a process died, does just that. A
   * time that the copy asked to wait for is not kept.
   *
   * @return empty if somebody has resolved it already
   */
  Optional<Acceptance> acceptConflict(long conflict, String newId, String reason);

  /**
   * Stops a handler on every node: attempts under way end, no other begins, and its deliveries
   * wait. Nodes hear of it with their next beat. It stays so until somebody resumes it, whatever is
   * started or deployed meanwhile.
   *
   * @return false if it was paused already
   */
  boolean pause(String handler, String reason);

  /**
   * Lets a paused handler go on.
   *
   * @return false if it was not paused
   */
  boolean resume(String handler, String reason);

  /** Handlers that somebody has paused, the longest paused first. */
  List<Pause> paused();

  /**
   * What is still open under this exact key, for the last step of a rename, and under the other
   * keys of its handler. Each is counted up to {@link Count#MOST}.
   */
  DrainCheck drainCheck(String handler);

  /**
   * Ordering keys that do not go on by themselves: behind a poisoned delivery, or held until they
   * are released. The longest first.
   */
  List<BlockedKey> blockedKeys(int limit);

  /**
   * Lets an ordering key of one handler go on, in order: what waits in it, and what comes later. A
   * poisoned delivery that was in the way stays poisoned and is passed over. Nothing else lets a
   * sequence go on that is held ({@link dev.pigeonhole.OnPoison#HOLD_SEQUENCE}), not even dealing
   * with its poisoned delivery.
   *
   * @return false if nothing was waiting and nothing in the way
   */
  boolean releaseKey(String handler, String orderingKey, String reason);
}
