package dev.pigeonhole.internal.dispatch;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Items that wait before they are tried again, each twice as long as the time before: an item is
 * back soon after a short obstacle, and a long one costs little. For one thread.
 */
final class Aside<T extends Aside.Item> {
  /** Something that may have to wait. */
  abstract static class Item {
    long waitMillis;
    long until;
  }

  private final long firstMillis;
  private final long longestMillis;
  private final List<T> items = new ArrayList<>();

  Aside(Duration first, Duration longest) {
    this.firstMillis = first.toMillis();
    this.longestMillis = longest.toMillis();
  }

  /** For what another transaction has locked. */
  static <T extends Item> Aside<T> whileLocked() {
    return new Aside<>(Duration.ofMillis(20), Duration.ofSeconds(1));
  }

  boolean isEmpty() {
    return items.isEmpty();
  }

  int size() {
    return items.size();
  }

  /** Answers those that have waited for a while already. */
  List<T> add(List<T> some, long now) {
    List<T> lasting = new ArrayList<>();
    for (T item : some) {
      if (item.waitMillis == longestMillis) {
        lasting.add(item);
      }
      item.waitMillis = Math.min(longestMillis, Math.max(firstMillis, 2 * item.waitMillis));
      item.until = now + TimeUnit.MILLISECONDS.toNanos(item.waitMillis);
      items.add(item);
    }
    return lasting;
  }

  /** Makes all of them due. */
  void hurry(long now) {
    items.forEach(item -> item.until = now);
  }

  /** Removes and returns them, however long they have waited. */
  List<T> all() {
    List<T> all = List.copyOf(items);
    items.clear();
    return all;
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
    long nanos = TimeUnit.MILLISECONDS.toNanos(longestMillis);
    for (T item : items) {
      nanos = Math.min(nanos, item.until - now);
    }
    return nanos <= 0 ? 0 : TimeUnit.NANOSECONDS.toMillis(nanos) + 1;
  }
}
