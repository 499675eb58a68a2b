package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.store.Delivery;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeSet;

/**
 * Keeps a row from being handed out twice by one node.
 *
 * <p>The dispatcher's thread does all reading and learns of settles between reads, so a row that a
 * read brings back is either still open here or was settled before that read began. Only accepts
 * run on other threads: an accept commits, the reader finds the row, it runs and is settled, and
 * only then does the accepting thread offer it. So each accept takes a <em>ticket</em> before its
 * statement; what is settled while tickets are out leaves a <em>tombstone</em> until all of them
 * have come back.
 *
 * <p>An accept may take long, and thousands of rows are settled in a second. So tombstones have a
 * limit: beyond it all tickets that are out <em>expire</em>, and what their accepts offer is read
 * from the store instead.
 */
final class OpenSet {
  /**
   * Names one attempt. A failed delivery comes back under another version, and so does another
   * message under the same number.
   */
  private record Key(long seq, int handler, long version) {
    static Key of(Delivery row) {
      return new Key(row.seq(), row.cell().handler(), row.version());
    }
  }

  static final int MOST_TOMBSTONES = 10_000;

  private final Map<Key, Delivery> open = new HashMap<>();
  private final Map<Key, Long> tombstones = new LinkedHashMap<>();
  private final TreeSet<Long> tickets = new TreeSet<>();
  private long lastTicket;
  private long lastExpired;

  /** Called by accepting threads, before their statement; everything else by the dispatcher. */
  synchronized long takeTicket() {
    long ticket = ++lastTicket;
    tickets.add(ticket);
    return ticket;
  }

  /** Whether rows may be offered with this ticket. */
  synchronized boolean isValid(long ticket) {
    return ticket > lastExpired;
  }

  synchronized void returnTicket(long ticket) {
    tickets.remove(ticket);
    long oldest = tickets.isEmpty() ? Long.MAX_VALUE : tickets.first();
    // In the order of their numbers, so the first young one ends the walk.
    for (Iterator<Long> each = tombstones.values().iterator(); each.hasNext(); ) {
      if (each.next() >= oldest) {
        break;
      }
      each.remove();
    }
  }

  /** Whether the row is new here; then it is open from now on. */
  synchronized boolean offer(Delivery row) {
    Key key = Key.of(row);
    return !tombstones.containsKey(key) && open.putIfAbsent(key, row) == null;
  }

  synchronized boolean contains(Delivery row) {
    return open.containsKey(Key.of(row));
  }

  /** The row was settled, by us or by somebody else. Answers whether it was open. */
  synchronized boolean settled(Delivery row) {
    Key key = Key.of(row);
    if (tombstones.size() >= MOST_TOMBSTONES) {
      lastExpired = lastTicket;
      tickets.clear();
      tombstones.clear();
    }
    if (!tickets.isEmpty()) {
      tombstones.put(key, lastTicket);
    }
    return open.remove(key) != null;
  }

  /** The row was not started and may be offered again. Answers whether it was open. */
  synchronized boolean dropped(Delivery row) {
    return open.remove(Key.of(row)) != null;
  }

  /** Drops every row but these. */
  synchronized void retain(Collection<Delivery> rows) {
    open.clear();
    rows.forEach(row -> open.put(Key.of(row), row));
  }

  synchronized int size() {
    return open.size();
  }

  synchronized int tombstones() {
    return tombstones.size();
  }
}
