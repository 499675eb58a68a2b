package dev.pigeonhole.internal.rescue;

import dev.pigeonhole.store.Cell;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * Limits how long a cell stands still for another node to get it. A cell that is to go starts
 * nothing new, and goes when its last attempt has ended; an attempt may take hours. So a cell that
 * has not become empty after a few looks stays, and is asked again after a pause ten times as long.
 * The first time it has two looks, and each further time twice as many, up to 16: so a cell whose
 * attempts take some seconds each goes too, however many wait.
 *
 * <p>Time is counted in looks at the cells, one per heartbeat. Touched by the node's thread alone.
 */
final class Handovers {
  private static final int FIRST = 2;
  private static final int LONGEST = 16;
  private static final int PAUSE = 10;

  /**
   * One try.
   *
   * @param since the look at which the cell was asked for
   * @param looks how many looks it has
   * @param over whether it was too long, and the cell stays
   */
  private record Try(long since, int looks, boolean over) {
    long pausesUntil() {
      return since + looks + (long) PAUSE * looks;
    }
  }

  private final Map<Cell, Try> tries = new HashMap<>();
  private long look;

  /** Forgets all but these, which this node owns. */
  void retain(Set<Cell> ours) {
    tries.keySet().retainAll(ours);
  }

  void forget(Collection<Cell> some) {
    tries.keySet().removeAll(some);
  }

  void clear() {
    tries.clear();
  }

  /** Those that are to go as soon as they are empty. */
  Set<Cell> asked() {
    return those(each -> !each.over());
  }

  /** Those that could not go lately. */
  Set<Cell> tried() {
    return those(each -> each.over() && look < each.pausesUntil());
  }

  /** Begins a try for each of them. */
  void ask(List<Cell> some) {
    for (Cell cell : some) {
      Try last = tries.get(cell);
      int looks = last == null ? FIRST : Math.min(LONGEST, 2 * last.looks());
      tries.put(cell, new Try(look, looks, false));
    }
  }

  /** Counts a look, and ends the tries that have taken too long: their cells stay. */
  List<Cell> overdue() {
    look++;
    // Not asked for in a pause's time after its pause: the next try is another first one.
    tries.values().removeIf(each -> each.over() && look >= 2 * each.pausesUntil() - each.since());
    List<Cell> overdue =
        List.copyOf(those(each -> !each.over() && look - each.since() >= each.looks()));
    overdue.forEach(
        cell -> tries.computeIfPresent(cell, (any, it) -> new Try(it.since(), it.looks(), true)));
    return overdue;
  }

  private Set<Cell> those(Predicate<Try> which) {
    return tries.entrySet().stream()
        .filter(each -> which.test(each.getValue()))
        .map(Map.Entry::getKey)
        .collect(Collectors.toSet());
  }
}
