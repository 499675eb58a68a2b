package dev.pigeonhole.store;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;

/** What may be forgotten. The store finds what is finished, and this judges it. */
public interface Pruning {

  /** Whose messages are walked over. */
  enum Walk {
    /** What an inbox has accepted. */
    INBOX,
    /** What only guards have seen. */
    GUARDS,
    /** None: answers of guards alone are looked for, as every walk does. */
    ANSWERS;

    /**
     * Whether messages that came in like this are its own; others are neither locked nor judged.
     */
    public boolean covers(String transport) {
      return this != ANSWERS && transport.equals(NewMessage.GUARD) == (this == GUARDS);
    }
  }

  /** What becomes of a message. */
  enum Fate {
    KEEP,
    /** Its content goes; identity and receipts stay. */
    DROP_CONTENT,
    /** It is the inbox's from now on; only asked for what guards have seen. */
    HAND_OVER,
    /** It goes with everything that belongs to it, and would be new if it came again. */
    DELETE
  }

  /**
   * A message without open deliveries and without second copies that wait for an operator.
   *
   * @param now the time by the same clock as the others
   * @param completed handler family → when it has finished the message
   * @param keepUntil handler family → until when a guard has promised to know that; none for a
   *     receipt that is the inbox's
   * @param poisoned handler family → when it gave up
   */
  record Finished(
      String type,
      Instant receivedAt,
      Instant now,
      boolean hasContent,
      Map<Integer, Instant> completed,
      Map<Integer, Instant> keepUntil,
      Map<Integer, Instant> poisoned) {

    /** Whether some guard is to know it for longer, whoever looks. */
    public boolean promised() {
      return keepUntil.values().stream().anyMatch(until -> until.isAfter(now));
    }
  }

  /**
   * What one step came to.
   *
   * @param deleted messages that are gone
   * @param dropped messages whose content is gone
   * @param more whether the next step may find something now
   * @param locked whether nothing was done because somebody else was at it; then nobody knows
   *     whether there is more
   */
  record Step(int deleted, int dropped, boolean more, boolean locked) {
    /** A step that was taken. */
    public Step(int deleted, int dropped, boolean more) {
      this(deleted, dropped, more, false);
    }

    /** One that was not, because somebody else was at it. */
    public static Step inTheWay() {
      return new Step(0, 0, false, true);
    }
  }

  /**
   * Each walk over messages keeps a place and a time of its own, so that none waits for the turn of
   * the other; but the store takes one step at a time, of whichever.
   */
  Walk walk();

  /** A message that was received later than this ago is not worth a look. */
  Duration youngest();

  /**
   * Whether a message of the walk, or its content, may be old enough to be deleted, judged by its
   * row alone. False spares the store a lock and a read; true promises nothing, because {@link
   * #judge} decides.
   */
  default boolean due(String type, Instant receivedAt, Instant now, boolean hasContent) {
    return true;
  }

  /** The wait between the end of one walk over all messages and the beginning of the next. */
  Duration betweenRounds();

  /** What becomes of a message of the walk that nobody works on; asked anew in every round. */
  Fate judge(Finished message);

  /**
   * How long a change to many is remembered after it has finished; see {@link
   * AdminQueries#operation}. The store looks for older ones whenever a walk begins.
   */
  Duration keepOperations();

  /** Whether {@link #archive} wants to see what is deleted. */
  boolean archives();

  /** Is called before the deletion commits; what it throws keeps the messages. */
  void archive(List<StoredMessage> messages);
}
