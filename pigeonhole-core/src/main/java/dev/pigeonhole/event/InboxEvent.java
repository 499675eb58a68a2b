package dev.pigeonhole.event;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Failure;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.admin.DeliveryState;
import java.time.Duration;
import java.util.List;

/**
 * Something that happened in an inbox. Events of deliveries are told after the database has
 * committed what they say. What is accepted in a caller's transaction is told before the caller
 * commits, and stays told if the caller rolls back.
 */
public sealed interface InboxEvent {

  /** The inbox's name. */
  String inbox();

  /** Speaks of a message that came to a channel. */
  sealed interface OfChannel extends InboxEvent {

    /** The channel's name. */
    String channel();
  }

  /** Speaks of a handler, or of one of its deliveries. */
  sealed interface OfHandler extends InboxEvent {

    /** The handler's key. */
    String handler();
  }

  /** A new message was stored. */
  record Accepted(String inbox, String channel, MessageRef message, String type)
      implements OfChannel {}

  /**
   * No attempt of a handler begins any more: somebody paused it, or it failed too often in a row on
   * this node.
   */
  record HandlerPaused(String inbox, String handler, String reason) implements OfHandler {}

  /**
   * Retention has done its work on some messages.
   *
   * @param deleted how many are gone
   * @param dropped how many have lost their content
   */
  record Pruned(String inbox, int deleted, int dropped) implements InboxEvent {}

  /** A paused handler goes on. */
  record HandlerResumed(String inbox, String handler) implements OfHandler {}

  /** A known message arrived again. */
  record Repeated(String inbox, String channel, MessageRef message, String type)
      implements OfChannel {}

  /** A known identity arrived with other content or another type. */
  record Conflicted(String inbox, String channel, MessageRef message, String type)
      implements OfChannel {}

  /**
   * A message came that no handler takes.
   *
   * @param kept whether it was stored, to be delivered when it comes again after a deployment that
   *     knows its type
   */
  record Unhandled(String inbox, String channel, MessageRef message, String type, boolean kept)
      implements OfChannel {}

  /** A message came without an id and was given one. */
  record WithoutId(String inbox, String channel, MessageRef message, String type)
      implements OfChannel {}

  /** A message came without the business key of its type and was accepted all the same. */
  record WithoutKey(String inbox, String channel, MessageRef message, String type)
      implements OfChannel {}

  /** A message was refused. */
  record Rejected(String inbox, String channel, ErrorCode code, String reason)
      implements OfChannel {}

  /**
   * An answer was given to whoever handed a message in. Told once for each message, beside the
   * event that says what became of it.
   *
   * @param type the logical type name; empty where the message was refused before it was known
   * @param forNobody whether it was stored although no handler takes it
   * @param took how long the caller has waited, for all that it handed in together
   */
  record Answered(
      String inbox,
      String channel,
      String type,
      Acceptance answer,
      boolean forNobody,
      Duration took)
      implements OfChannel {}

  /**
   * Messages were handed in and nobody knows what became of them, because the store failed. They
   * should be handed in again.
   *
   * @param messages how many were handed in together
   * @param took how long the caller has waited
   */
  record AcceptFailed(String inbox, String channel, int messages, Throwable cause, Duration took)
      implements OfChannel {}

  /**
   * A handler has finished a message.
   *
   * @param took how long the last attempt took
   * @param lag time from receipt to completion
   */
  record Completed(
      String inbox, String handler, MessageRef message, int attempt, Duration took, Duration lag)
      implements OfHandler {}

  /**
   * An attempt failed and will be repeated.
   *
   * @param next the wait until the next attempt
   */
  record Failed(
      String inbox, String handler, MessageRef message, int attempt, Failure failure, Duration next)
      implements OfHandler {}

  /**
   * A delivery will not be tried again until an operator acts.
   *
   * @param message without source and with its number as id, such as {@code #7}, where the message
   *     itself is gone
   */
  record Poisoned(String inbox, String handler, MessageRef message, int attempt, Failure failure)
      implements OfHandler {}

  /**
   * Deliveries of a handler that no living node has known for the grace period were poisoned. Told
   * once for up to 1,000 of them, instead of {@link Poisoned} for each.
   *
   * @param handlers the key that nobody knows, and its former keys
   * @param deliveries how many were poisoned at once
   */
  record PoisonedUnknown(String inbox, List<String> handlers, int deliveries, Failure failure)
      implements InboxEvent {}

  /** A handler of a direct channel failed; only a source can bring it the message again. */
  record DirectFailed(
      String inbox, String channel, String handler, MessageRef message, Failure failure)
      implements OfHandler {}

  /**
   * An attempt was cut by a shutdown, or gave way to it; it does not count.
   *
   * @param releases how many attempts of this delivery have not counted by now
   */
  record Released(String inbox, String handler, MessageRef message, int releases)
      implements OfHandler {}

  /**
   * An error of the database ended an attempt of a transactional handler, or the commit of what a
   * plain handler has published. The attempt does not count as a failure and is retried.
   *
   * @param runs how many attempts of this delivery have not counted so far, this one included
   * @param next the wait until the next attempt
   */
  record Uncounted(
      String inbox, String handler, MessageRef message, int runs, Failure failure, Duration next)
      implements OfHandler {}

  /** Speaks of a run of a guard. */
  sealed interface OfGuard extends OfHandler {}

  /**
   * A guard has run its body. In the transaction of a caller that is told before it commits.
   *
   * @param took how long, waiting included
   */
  record GuardRan(String inbox, String handler, MessageRef message, Duration took)
      implements OfGuard {}

  /**
   * A guard did not run its body, because the key was known.
   *
   * @param took how long, waiting included
   */
  record GuardRepeated(
      String inbox, String handler, MessageRef message, DeliveryState state, Duration took)
      implements OfGuard {}

  /** A guard gave up waiting for another run of the same key. */
  record GuardBusy(String inbox, String handler, MessageRef message, Duration waited)
      implements OfGuard {}

  /**
   * A guard met a known key with another request.
   *
   * @param took how long, waiting included
   */
  record GuardConflicted(String inbox, String handler, MessageRef message, Duration took)
      implements OfGuard {}

  /** A guard refused to run, because there was no key. */
  record GuardKeyMissing(String inbox, String handler, String type) implements OfGuard {}

  /** A guard ran its body although there was no key: a repeat would be run too. */
  record GuardUnguarded(String inbox, String handler, String type) implements OfGuard {}

  /**
   * The body of a guard, or the store under it, failed. Nothing was kept, unless in doubt, or
   * unless its guard keeps such failures; a repeat of one that was kept is told as repeated.
   *
   * @param took how long, waiting included
   */
  record GuardFailed(
      String inbox, String handler, MessageRef message, Failure failure, Duration took)
      implements OfGuard {}

  /**
   * A settle was refused, or a delivery could not begin: another node or an operator had settled
   * it, or the database has lost it.
   */
  record Refused(String inbox, String handler, long seq) implements OfHandler {}

  /** An attempt ignores its timeout; its slot was replaced. */
  record Stuck(String inbox, String handler, MessageRef message, int stuckNow)
      implements OfHandler {}

  /**
   * An attempt that had ignored its timeout has ended after all.
   *
   * @param stuckNow how many of its handler still do
   */
  record Unstuck(String inbox, String handler, int stuckNow) implements OfHandler {}

  /**
   * The store was asked for work. An idle node does that too, so it is a sign of life.
   *
   * @param deliveries how many came back
   * @param took how long that took, for all that was asked for at once
   */
  record Polled(String inbox, int deliveries, Duration took) implements InboxEvent {}

  /**
   * Outcomes were written down together.
   *
   * @param deliveries how many
   * @param took how long the store took for it
   */
  record Settled(String inbox, int deliveries, Duration took) implements InboxEvent {}

  /** What happens to lanes that a node gains or gives up. */
  enum Move {
    /** It took them, and their last owner had given them back. */
    ACQUIRED,
    /** It took them, and their last owner had died. */
    RESCUED,
    /** It gave them back, for another node or because it stops. */
    HANDED_OVER,
    /** They were taken from it: the others thought it dead. */
    LOST
  }

  /**
   * Lanes came to this node, or went.
   *
   * @param lanes how many, over all handlers
   */
  record LanesMoved(String inbox, Move move, int lanes) implements InboxEvent {}

  /** A node was declared dead by this one. */
  record NodeDied(String inbox, String node) implements InboxEvent {}

  /**
   * More fresh deliveries wait for a handler than its limit; it no longer counts for the sources.
   *
   * @param limit {@code maxHandlerBacklog}
   */
  record HandlerBehind(String inbox, String handler, int limit) implements OfHandler {}

  /** A handler that was behind has come down to half of its limit. */
  record HandlerCaughtUp(String inbox, String handler) implements OfHandler {}

  /** Too much work waits, so this node takes nothing more from its sources for now. */
  record SourcesPaused(String inbox, String reason) implements InboxEvent {}

  /** This node takes messages from its sources again. */
  record SourcesResumed(String inbox) implements InboxEvent {}

  /**
   * A loop of the engine failed and starts again after the restart delay.
   *
   * @param loop {@code reader}, {@code settler}, {@code beat}, {@code backlog} or {@code wake-up}
   */
  record Restarted(String inbox, String loop, Throwable cause) implements InboxEvent {}
}
