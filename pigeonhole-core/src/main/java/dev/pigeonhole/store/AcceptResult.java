package dev.pigeonhole.store;

import java.time.Instant;
import java.util.List;

/** What became of one message of a batch. */
public sealed interface AcceptResult {

  /**
   * It is new: stored, with one delivery for each of its handlers.
   *
   * @param version the version of these deliveries
   */
  record Stored(long seq, long version) implements AcceptResult {}

  /**
   * Its identity was known.
   *
   * @param added the handlers that had no delivery of it in any state and have one now
   */
  record Known(long seq, Instant firstReceived, List<HandlerId> added) implements AcceptResult {}

  /** Its identity was known with another content or type; nothing was delivered. */
  record Differs(long seq) implements AcceptResult {}

  /**
   * Nothing was stored, because another open transaction holds this identity, or one ahead of it in
   * its ordering key. Only answered to {@link Acceptor#acceptTogether}.
   */
  record Busy() implements AcceptResult {}
}
