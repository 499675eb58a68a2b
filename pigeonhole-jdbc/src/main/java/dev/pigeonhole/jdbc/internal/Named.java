package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.store.Delivery;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Deliveries that a statement names, and those of them that it hit. They are named in one order by
 * everybody, so that two settlers of the same rows wait for each other and never deadlock.
 */
final class Named {

  static final Comparator<Delivery> ORDER = Named::compare;

  /** By table, handler, lane and number; by hand, since every settle sorts by it. */
  private static int compare(Delivery one, Delivery other) {
    int order = Boolean.compare(one.late(), other.late());
    if (order == 0) {
      order = Integer.compare(one.cell().handler(), other.cell().handler());
    }
    if (order == 0) {
      order = Integer.compare(one.cell().lane(), other.cell().lane());
    }
    return order == 0 ? Long.compare(one.seq(), other.seq()) : order;
  }

  private record Key(boolean late, int handler, long seq) {}

  private final Map<Key, Delivery> byKey = new HashMap<>();
  private final List<Delivery> fresh = new ArrayList<>();
  private final List<Delivery> late = new ArrayList<>();
  private final Set<Delivery> hits = new LinkedHashSet<>();

  /** Takes each row once; a second delivery of the same row is never hit. */
  Named(List<Delivery> deliveries) {
    deliveries.stream()
        .sorted(ORDER)
        .forEach(
            each -> {
              Key key = new Key(each.late(), each.cell().handler(), each.seq());
              if (byKey.putIfAbsent(key, each) == null) {
                (each.late() ? late : fresh).add(each);
              }
            });
  }

  List<Delivery> part(boolean late) {
    return late ? this.late : fresh;
  }

  /** Notes that the row was there at its version. */
  Delivery hit(boolean late, int handler, long seq) {
    Delivery delivery = byKey.get(new Key(late, handler, seq));
    if (delivery == null) {
      throw new IllegalStateException("Hit a row that was not named: " + handler + "/" + seq);
    }
    hits.add(delivery);
    return delivery;
  }

  /** Notes that all rows of a table were there. */
  void hitAll(boolean late) {
    hits.addAll(part(late));
  }

  Set<Delivery> hits() {
    return hits;
  }
}
