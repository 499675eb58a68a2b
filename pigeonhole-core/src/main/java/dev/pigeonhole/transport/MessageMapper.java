package dev.pigeonhole.transport;

import dev.pigeonhole.Message;
import java.util.Optional;

/**
 * Says what an envelope means as a message, and the other way round. A channel has one for what its
 * sources receive; what sends messages on may use one, too. Safe for many threads.
 */
@FunctionalInterface
public interface MessageMapper {

  /** Takes envelopes at their word; see {@link PlainMapper} for what can be chosen. */
  static PlainMapper plain() {
    return PlainMapper.INSTANCE;
  }

  /**
   * The message in an envelope, as {@link Message#encoded}. It never makes up an id: where there is
   * none, the channel's {@link dev.pigeonhole.OnMissingId} decides.
   *
   * @throws dev.pigeonhole.InboxException to refuse it for good, with the code that the source puts
   *     it aside under; any other exception does the same under {@code PH-MAP-01}
   * @throws dev.pigeonhole.store.StoreException if it cannot be said now: nothing of what was
   *     handed in with it is taken, and all of it comes again
   */
  Message toMessage(Envelope envelope);

  /**
   * The envelope for a message that goes out; unless said otherwise, as {@link #plain()} makes it.
   *
   * @param message an encoded one, with an id: its payload is its bytes
   * @param transport the transport that will carry it
   * @param destination where it goes, in the transport's own words
   */
  default Envelope toEnvelope(Message message, String transport, String destination) {
    return plain().toEnvelope(message, transport, destination);
  }

  /**
   * Who sends what names no source, where this mapper writes what an outbox sends: it is asked when
   * a message is published, and what it answers is the message's source from then on. Empty, as it
   * is unless said otherwise, leaves that to the outbox.
   */
  default Optional<String> source() {
    return Optional.empty();
  }
}
