package dev.pigeonhole.internal.dispatch;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.PriorityBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * What waits for one handler. Nearly everything comes in the order of its place and stands in a
 * plain queue; what has a place of its own, because of a priority, stands in a heap. The first of
 * the two that has the lower place goes first. Nobody pays for the heap while it is empty.
 *
 * <p>Safe for many threads. Of two that take at the same time, one may get the second best.
 */
final class Places<T> {
  private record Entry<T>(T item, long place, long number) {}

  private final ConcurrentLinkedQueue<Entry<T>> inOrder = new ConcurrentLinkedQueue<>();
  private final PriorityBlockingQueue<Entry<T>> placed =
      new PriorityBlockingQueue<>(
          16, Comparator.<Entry<T>>comparingLong(Entry::place).thenComparingLong(Entry::number));

  /** Never below the size of the heap for longer than an add takes. */
  private final AtomicInteger inHeap = new AtomicInteger();

  private final AtomicLong numbers = new AtomicLong();

  /** Adds to the end of the queue. */
  void add(T item, long place) {
    inOrder.add(new Entry<>(item, place, 0));
  }

  /** Adds what has a place of its own. */
  void addPlaced(T item, long place) {
    placed.add(new Entry<>(item, place, numbers.incrementAndGet()));
    inHeap.incrementAndGet();
  }

  boolean isEmpty() {
    return inOrder.isEmpty() && inHeap.get() == 0;
  }

  /** Returns the item that the next poll removes, if none is added or polled before. */
  @Nullable T peek() {
    Entry<T> best = inHeap.get() == 0 ? null : placed.peek();
    Entry<T> next = inOrder.peek();
    return item(best != null && (next == null || best.place() < next.place()) ? best : next);
  }

  @Nullable T poll() {
    if (inHeap.get() == 0) {
      return item(inOrder.poll());
    }
    Entry<T> best = placed.peek();
    Entry<T> next = inOrder.peek();
    if (best != null && (next == null || best.place() < next.place())) {
      T taken = pollPlaced();
      return taken == null ? item(inOrder.poll()) : taken;
    }
    T taken = item(inOrder.poll());
    return taken == null ? pollPlaced() : taken;
  }

  private @Nullable T pollPlaced() {
    Entry<T> entry = placed.poll();
    if (entry != null) {
      inHeap.decrementAndGet();
    }
    return item(entry);
  }

  private static <T> @Nullable T item(@Nullable Entry<T> entry) {
    return entry == null ? null : entry.item();
  }

  /** Takes these out, as far as nobody else has taken them meanwhile. */
  List<T> withdraw(Predicate<T> which) {
    List<T> withdrawn = new ArrayList<>();
    withdraw(inOrder, which, withdrawn);
    int before = withdrawn.size();
    withdraw(placed, which, withdrawn);
    inHeap.addAndGet(before - withdrawn.size());
    return withdrawn;
  }

  private static <T> void withdraw(
      Collection<Entry<T>> from, Predicate<T> which, List<T> withdrawn) {
    for (Entry<T> entry : from) {
      if (which.test(entry.item()) && from.remove(entry)) {
        withdrawn.add(entry.item());
      }
    }
  }
}
