package dev.pigeonhole.admin;

import java.time.Instant;

/**
 * Messages, chosen by what they have in common. Each word narrows the choice; nothing is read until
 * somebody asks. Immutable.
 */
public interface MessageSelection {

  /** Those that were kept although no handler took their type, and that none has taken since. */
  MessageSelection unhandled();

  /** Those with this logical type name. */
  MessageSelection type(String name);

  /** Those that came through this channel. */
  MessageSelection channel(String name);

  /** Those from this source. */
  MessageSelection source(String source);

  /** Those with this id, whatever their source. */
  MessageSelection id(String id);

  /** Those that were received at this time or later. */
  MessageSelection receivedFrom(Instant time);

  /** Those that were received earlier than that. */
  MessageSelection receivedBefore(Instant time);

  /** The newest, at most {@link Page#MOST}. */
  Page<MessageView> first(int size);

  /**
   * Those after a page.
   *
   * @param next what {@link Page#next} said
   */
  Page<MessageView> after(String next, int size);

  /** How many there are, counted up to {@link Count#MOST}. */
  Count count();

  /**
   * Delivers them to one handler: those that it has never had, and, once more, those that it has
   * completed. What is open or poisoned there is left alone. The idempotency key stays the same:
   * whoever was told not to act twice will not act again.
   *
   * @param handler a key that the application has registered
   */
  BulkChange replay(String handler, String reason);

  /**
   * Deletes them with everything that belongs to them, so that they would be new if they came
   * again. What is open or poisoned anywhere, or has conflicts, is left alone.
   */
  BulkChange purge(String reason);
}
