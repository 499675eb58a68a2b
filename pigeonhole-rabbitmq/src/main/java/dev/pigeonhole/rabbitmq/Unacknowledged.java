package dev.pigeonhole.rabbitmq;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Delivery;
import java.io.IOException;
import java.util.Collections;
import java.util.NavigableSet;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * The deliveries of one channel that were not acknowledged yet; as many as the prefetch at most,
 * and after a pause fewer than twice as many. What is settled is acknowledged with one frame, as
 * far as nothing older is still open: each frame is a write to the socket here, and an entry in the
 * log of a quorum queue there. What has something open before it is acknowledged alone. For one
 * thread.
 */
final class Unacknowledged {
  private final Channel channel;
  private final NavigableSet<Long> open = new TreeSet<>();
  private final NavigableSet<Long> settled = new TreeSet<>();
  private long last; // a channel counts its deliveries from 1 on

  Unacknowledged(Channel channel) {
    this.channel = channel;
  }

  /**
   * Each delivery of the channel, in their order.
   *
   * @throws IOException if one is missing: it would be acknowledged with those after it
   */
  void received(Delivery delivery) throws IOException {
    long number = numberOf(delivery);
    if (number != last + 1) {
      throw new IOException("delivery %d came after %d".formatted(number, last));
    }
    last = number;
    open.add(number);
  }

  /** How many there are. */
  int count() {
    return open.size();
  }

  /** It may be acknowledged from now on, and is with the next {@link #acknowledge}. */
  void settled(Delivery delivery) {
    settled.add(numberOf(delivery));
  }

  /** Tells the broker of all that are settled. */
  void acknowledge() throws IOException {
    open.removeAll(settled);
    SortedSet<Long> together = open.isEmpty() ? settled : settled.headSet(open.first());
    SortedSet<Long> alone =
        open.isEmpty() ? Collections.emptySortedSet() : settled.tailSet(open.first());
    if (!together.isEmpty()) {
      channel.basicAck(together.last(), true);
    }
    for (long number : alone) {
      channel.basicAck(number, false);
    }
    settled.clear();
  }

  private static long numberOf(Delivery delivery) {
    return delivery.getEnvelope().getDeliveryTag();
  }
}
