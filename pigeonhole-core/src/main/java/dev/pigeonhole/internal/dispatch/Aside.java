package dev.pigeonhole.internal.dispatch;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Items that wait because another transaction holds their row. Each waits longer every time, up to
 * a second: an item is back soon after a short lock, and a long lock costs little. For one thread.
 */
final class Aside<T extends Aside.Item> {
  /** Something that may have to wait. */
  abstract static class Item {
    long waitMillis;
    long until;
  }

  private static final long FIRST_WAIT_MILLIS = 20;
  static final long LONGEST_WAIT_MILLIS = 1_000;

  private final List<T> items = new ArrayList<>();

  boolean isEmpty() {
    return items.isEmpty();
  }

  int size() {
    return items.size();
  }

  /** Answers whether one of them waits for a while already. */
  boolean add(List<T> some, long now) {
    boolean lasting = false;
    for (T item : some) {
      lasting |= item.waitMillis == LONGEST_WAIT_MILLIS;
      item.waitMillis =
          Math.min(LONGEST_WAIT_MILLIS, Math.max(FIRST_WAIT_MILLIS, 2 * item.waitMillis));
      item.until = now + TimeUnit.MILLISECONDS.toNanos(item.waitMillis);
      items.add(item);
    }
    return lasting;
  }

  /** Removes and returns what has waited long enough. */
  List<T> due(long now, int atMost) {
    List<T> due = new ArrayList<>();
    for (Iterator<T> each = items.iterator(); each.hasNext() && due.size() < atMost; ) {
      T item = each.next();
      if (item.until - now <= 0) {
        each.remove();
        due.add(item);
      }
    }
    return due;
  }

  /** How long until the next is due, or the longest wait if there is none. */
  long millisUntilNext(long now) {
    long nanos = TimeUnit.MILLISECONDS.toNanos(LONGEST_WAIT_MILLIS);
    for (T item : items) {
      nanos = Math.min(nanos, item.until - now);
    }
    return nanos <= 0 ? 0 : TimeUnit.NANOSECONDS.toMillis(nanos) + 1;
  }
}
