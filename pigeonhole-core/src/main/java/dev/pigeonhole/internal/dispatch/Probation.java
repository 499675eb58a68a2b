package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.store.Delivery;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * Limits how many deliveries of cells on probation are under way. They are marked before they
 * begin, and every mark that a dead node leaves makes a suspect. So a handler has no more of them
 * marked than its slots can have begun, its untried suspects included: after any number of deaths
 * only what had a slot is suspected.
 *
 * <p>Touched by the dispatcher's thread alone.
 */
final class Probation {
  private final HandlerLines lines;
  private final OwnedCells cells;
  private final Suspects suspects;
  private final Map<HandlerLine, Set<Delivery>> underWay = new HashMap<>();

  Probation(HandlerLines lines, OwnedCells cells, Suspects suspects) {
    this.lines = lines;
    this.cells = cells;
    this.suspects = suspects;
  }

  /** Whether the row may begin now; if it is on probation it counts as under way from now on. */
  boolean admits(Delivery row) {
    CellState cell = cells.get(row.cell());
    if (cell == null || cell.probation == 0) {
      return true;
    }
    HandlerLine line = lines.of(row.cell());
    Set<Delivery> marked = underWay.computeIfAbsent(line, any -> new HashSet<>());
    if (marked.size() + suspects.untried(each -> lines.of(each.cell()) == line)
        < line.startable()) {
      marked.add(row);
    }
    return marked.contains(row);
  }

  /** The row's attempt is over, or will not begin. */
  void ended(Delivery row) {
    Set<Delivery> marked = underWay.get(lines.of(row.cell()));
    if (marked != null) {
      marked.remove(row);
    }
  }

  /** Forgets everything but these. */
  void reset(Collection<Delivery> handed) {
    underWay.values().forEach(marked -> marked.retainAll(handed));
  }
}
