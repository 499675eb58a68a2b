package dev.pigeonhole.admin;

import dev.pigeonhole.MessageRef;
import java.time.Instant;
import java.util.Optional;

/**
 * An ordering key of one handler that does not go on by itself.
 *
 * @param head the poisoned delivery that stands in the way; empty if it has been dealt with and the
 *     key waits for its release alone
 * @param held whether dealing with the head is not enough: only a release lets the key go on
 * @param waiting how many deliveries wait, counted up to {@link #MOST}
 * @param since when its head was poisoned
 */
public record BlockedKey(
    String handler,
    String orderingKey,
    Optional<MessageRef> head,
    boolean held,
    int waiting,
    Instant since) {

  /** Nobody counts further. */
  public static final int MOST = 10_000;
}
