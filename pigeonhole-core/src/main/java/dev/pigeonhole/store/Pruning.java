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
    GUARDS
  }

  /** What becomes of a message. */
  enum Fate {
    KEEP,
    /** Its content goes; identity and receipts stay. */
    DROP_CONTENT,
    /** It goes with everything that belongs to it, and would be new if it came again. */
    DELETE
  }

  /**
   * A message without open deliveries and without second copies that wait for somebody.
   *
   * @param transport how it came in, see {@link NewMessage}
   * @param now the time by the same clock as the others
   * @param completed handler family → when it has finished the message
   * @param poisoned handler family → when it gave up
   */
  record Finished(
      String type,
      String transport,
      Instant receivedAt,
      Instant now,
      boolean hasContent,
      Map<Integer, Instant> completed,
      Map<Integer, Instant> poisoned) {}

  /**
   * What one step came to.
   *
   * @param deleted messages that are gone
   * @param dropped messages whose content is gone
   * @param more whether the next step may find something now; false while somebody else prunes
   */
  record Step(int deleted, int dropped, boolean more) {}

  /**
   * Each walk keeps a place and a time of its own, so that none waits for the turn of the other;
   * but the store takes one step at a time, of whichever.
   */
  Walk walk();

  /** A message that was received later than this ago is not worth a look. */
  Duration youngest();

  /** The wait between the end of one walk over all messages and the beginning of the next. */
  Duration betweenRounds();

  /** What becomes of a message that nobody works on; asked anew in every round. */
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
