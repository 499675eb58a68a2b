package dev.pigeonhole.rabbitmq;

import com.rabbitmq.client.Delivery;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.function.LongSupplier;

/**
 * Deliveries that are for later and stay unacknowledged meanwhile, each for longer than the time
 * before. For one thread.
 */
final class Waiting {
  private static final long SHORTEST_MILLIS = 200;
  private static final long LONGEST_MILLIS = 30_000;

  /** A delivery, and how often it was handed in already. */
  record Offered(Delivery delivery, int times) {}

  private record Due(long nanos, Offered offered) {}

  private final PriorityQueue<Due> due = new PriorityQueue<>(Comparator.comparingLong(Due::nanos));

  private final LongSupplier clock;

  /**
   * @param clock of nanoseconds
   */
  Waiting(LongSupplier clock) {
    this.clock = clock;
  }

  void add(Offered offered) {
    long millis = Math.min(LONGEST_MILLIS, SHORTEST_MILLIS << Math.min(offered.times(), 20));
    due.add(
        new Due(
            clock.getAsLong() + millis * 1_000_000,
            new Offered(offered.delivery(), offered.times() + 1)));
  }

  /** Those whose time has come, up to this many. */
  List<Offered> take(int most) {
    List<Offered> now = new ArrayList<>();
    while (now.size() < most && !due.isEmpty() && due.peek().nanos() - clock.getAsLong() <= 0) {
      now.add(due.remove().offered());
    }
    return now;
  }

  /** How long until the next one, at most this. */
  Duration next(Duration most) {
    Due first = due.peek();
    if (first == null) {
      return most;
    }
    long left = Math.max(0, first.nanos() - clock.getAsLong());
    return left < most.toNanos() ? Duration.ofNanos(left) : most;
  }
}
