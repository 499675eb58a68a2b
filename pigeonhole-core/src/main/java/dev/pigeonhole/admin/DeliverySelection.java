package dev.pigeonhole.admin;

import java.time.Instant;
import java.util.List;

/**
 * Deliveries, chosen by what they have in common. Each word narrows the choice; nothing is read
 * until somebody asks. Immutable.
 */
public interface DeliverySelection {

  /** Those in this state; the word that is said last holds. */
  DeliverySelection in(DeliveryState state);

  /** The same as {@code in(DeliveryState.POISONED)}. */
  default DeliverySelection poisoned() {
    return in(DeliveryState.POISONED);
  }

  /** The same as {@code in(DeliveryState.COMPLETED)}. */
  default DeliverySelection completed() {
    return in(DeliveryState.COMPLETED);
  }

  /** Those to this handler, by current or former key. */
  DeliverySelection handler(String key);

  /** Those of messages with this logical type name. */
  DeliverySelection type(String name);

  /** Those of messages that came through this channel. */
  DeliverySelection channel(String name);

  /** Those of messages from this source. */
  DeliverySelection source(String source);

  /** Those of messages with this id, whatever their source. */
  DeliverySelection id(String id);

  /** Those of messages that were received at this time or later. */
  DeliverySelection receivedFrom(Instant time);

  /** Those of messages that were received earlier than that. */
  DeliverySelection receivedBefore(Instant time);

  /** Those that failed like this, see {@link FailureGroup#fingerprint}. */
  DeliverySelection failedWith(String fingerprint);

  /** The newest, at most {@link Page#MOST}. */
  Page<DeliveryView> first(int size);

  /**
   * Those after a page.
   *
   * @param next what {@link Page#next} said
   */
  Page<DeliveryView> after(String next, int size);

  /** How many there are, counted up to {@link Count#MOST}. */
  Count count();

  /** The poisoned ones by what they failed with, the largest group first. */
  List<FailureGroup> failureGroups();

  /** A new life for the poisoned ones; see {@link InboxAdmin#retry}. */
  BulkChange retry(String reason);

  /** Receipts for the poisoned ones; see {@link InboxAdmin#complete}. */
  BulkChange complete(String reason);

  /** Receipts for the poisoned ones; see {@link InboxAdmin#discard}. */
  BulkChange discard(String reason);
}
