package dev.pigeonhole.examples.demo;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.function.LongSupplier;

/**
 * What one producer still has to bring, as a queue of a broker keeps it: new copies in their order,
 * and before them those that came back unfinished, once they have rested. Used by one thread.
 */
final class OrderStream {

  private static final Duration REST = Duration.ofMillis(100);

  private record Resting(Copy copy, long until) {}

  private final int[] orders;
  private final LongSupplier nanoTime;
  private final Deque<Resting> resting = new ArrayDeque<>(); // the same rest for all: oldest first
  private int next;

  OrderStream(int[] orders, LongSupplier nanoTime) {
    this.orders = orders;
    this.nanoTime = nanoTime;
  }

  /** Whether nothing is left, not even to rest. */
  boolean isEmpty() {
    return next == orders.length && resting.isEmpty();
  }

  /** Up to so many copies to bring now; none while all that is left has to rest. */
  List<Copy> take(int most) {
    List<Copy> copies = new ArrayList<>();
    while (copies.size() < most && !resting.isEmpty() && rest().isZero()) {
      copies.add(resting.remove().copy());
    }
    while (copies.size() < most && next < orders.length) {
      copies.add(new Copy(orders[next++], 0));
    }
    return copies;
  }

  /** How long it is until one that came back may be brought again; zero if there is none. */
  Duration rest() {
    Resting first = resting.peek();
    long nanos = first == null ? 0 : first.until() - nanoTime.getAsLong();
    return Duration.ofNanos(Math.max(0, nanos));
  }

  /** Takes a copy back that is to be brought again. */
  void putBack(Copy copy) {
    resting.add(new Resting(copy, nanoTime.getAsLong() + REST.toNanos()));
  }
}
