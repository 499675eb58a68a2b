package dev.pigeonhole.transport;

import java.time.Duration;
import java.util.List;

/**
 * Where messages go out to: an exchange, a topic, an address, an inbox. The outbox hands it what is
 * due, and takes nothing for sent that was not confirmed.
 *
 * <p>Safe for many threads. It opens what it needs when it is first used and keeps it; when the
 * other side is down, each call tries again for itself.
 */
public interface Transport {

  /**
   * What carries: {@code rabbitmq}, {@code kafka}, {@code http}; see {@link Envelope#transport}.
   */
  String kind();

  /** Where it sends to, in its own words; see {@link Envelope#destination}. */
  String destination();

  /**
   * Sends these and waits for the other side, then says of each, in the order of the list, what
   * became of it. Whatever has no answer in time is {@link Sent.Failed}: it may have arrived, and
   * comes again under the same id. One that fails keeps none of the others.
   *
   * <p>Those that have the same {@link Envelope#key} go out in the order of the list. The outbox
   * never has two of an ordering key under way, so one that failed is not overtaken.
   *
   * @param envelopes none of them without an id
   * @param timeout for all of them together
   * @throws InterruptedException if it should end: nothing is known of any of them
   * @throws RuntimeException as if each of them had failed with it
   */
  List<Sent> send(List<Envelope> envelopes, Duration timeout) throws InterruptedException;

  /**
   * Gives back what it has opened. The next {@link #send} opens it again. Harmless twice, and
   * before the first use.
   */
  default void close() {}
}
