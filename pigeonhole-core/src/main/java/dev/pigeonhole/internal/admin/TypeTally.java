package dev.pigeonhole.internal.admin;

import dev.pigeonhole.admin.Count;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.TypeCounts;
import dev.pigeonhole.store.TypeCount;
import java.util.List;
import java.util.TreeSet;
import java.util.function.Predicate;

/**
 * Adds up what a store has met of each type. Where it has met more than the bound, in one of the
 * three places where it looked, it may have met too few of any type there: so each says.
 */
final class TypeTally {
  private final List<TypeCount> rows;
  private final int most;
  private final boolean moreFresh;
  private final boolean moreLater;
  private final boolean morePoisoned;

  private TypeTally(List<TypeCount> rows, int most) {
    this.rows = rows;
    this.most = most;
    this.moreFresh = sum(TypeCount::fresh) > most;
    this.morePoisoned = sum(each -> each.state() == DeliveryState.POISONED) > most;
    this.moreLater = sum(each -> !each.fresh() && each.state() != DeliveryState.POISONED) > most;
  }

  static List<TypeCounts> of(List<TypeCount> rows, int most) {
    TypeTally tally = new TypeTally(rows, most);
    return new TreeSet<>(rows.stream().map(TypeCount::type).toList())
        .stream().map(tally::counts).toList();
  }

  private TypeCounts counts(String type) {
    return new TypeCounts(
        type,
        count(type, DeliveryState.PENDING, moreFresh || moreLater),
        count(type, DeliveryState.SCHEDULED, moreLater),
        count(type, DeliveryState.BLOCKED, moreLater),
        count(type, DeliveryState.POISONED, morePoisoned));
  }

  private Count count(String type, DeliveryState state, boolean more) {
    long met = sum(each -> each.type().equals(type) && each.state() == state);
    return new Count(Math.min(most, met), more || met > most);
  }

  private long sum(Predicate<TypeCount> which) {
    return rows.stream().filter(which).mapToLong(TypeCount::count).sum();
  }
}
