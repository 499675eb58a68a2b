package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.store.Delivery;
import java.sql.SQLException;
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
 *
 * <p>A statement answers which numbers it hit. So of several deliveries that are the same but for
 * their version, as those of two messages are of which one has the number of the other, each is
 * named in a statement of its own.
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

  /** Binds what names a row: lane, handler, number and version. */
  static Params bind(Params params, Delivery row) throws SQLException {
    return params
        .add(row.cell().lane())
        .add(row.cell().handler())
        .add(row.seq())
        .add(row.version());
  }

  /** Names the deliveries of one table. */
  @FunctionalInterface
  interface Naming {
    void run(Named named, boolean late) throws SQLException;
  }

  /** Names them all; answers those that were hit. */
  static Set<Delivery> hits(List<Delivery> deliveries, Naming statement) throws SQLException {
    Set<Delivery> hits = new LinkedHashSet<>();
    for (List<Delivery> rest = deliveries; !rest.isEmpty(); ) {
      Named named = new Named(rest);
      for (boolean late : new boolean[] {false, true}) {
        if (!named.part(late).isEmpty()) {
          statement.run(named, late);
        }
      }
      hits.addAll(named.hits);
      rest = named.others;
    }
    return hits;
  }

  private record Key(boolean late, int handler, long seq) {}

  private final Map<Key, Delivery> byKey = new HashMap<>();
  private final List<Delivery> fresh = new ArrayList<>();
  private final List<Delivery> late = new ArrayList<>();
  private final List<Delivery> others = new ArrayList<>();
  private final Set<Delivery> hits = new LinkedHashSet<>();

  /** Takes each row at one version; a second delivery of the same version is never hit. */
  private Named(List<Delivery> deliveries) {
    deliveries.stream()
        .sorted(ORDER)
        .forEach(
            each -> {
              Key key = new Key(each.late(), each.cell().handler(), each.seq());
              Delivery first = byKey.putIfAbsent(key, each);
              if (first == null) {
                (each.late() ? late : fresh).add(each);
              } else if (first.version() != each.version()) {
                others.add(each);
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
}
