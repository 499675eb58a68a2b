package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.admin.DeliveryState;
import java.util.Collection;
import java.util.EnumSet;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The kinds of rows in {@code later d}. In each cell every kind is a range of the index {@code
 * later_due}, if {@code :now} is a constant: no index is searched for what a clock says that ticks.
 */
enum LateKind {
  PLACED(DeliveryState.PENDING, "d.place > 0"),
  DUE(DeliveryState.PENDING, "d.place = 0 AND d.due_at <= :now"),
  SCHEDULED(DeliveryState.SCHEDULED, "d.place = 0 AND d.due_at > :now"),
  BLOCKED(DeliveryState.BLOCKED, "d.place = 0 AND d.due_at IS NULL");

  private static final String OF_ROW =
      """
      CASE WHEN d.place > 0 THEN 'PLACED' WHEN d.due_at IS NULL THEN 'BLOCKED'
           WHEN d.due_at > :now THEN 'SCHEDULED' ELSE 'DUE' END""";

  private final DeliveryState state;
  final String range;

  LateKind(DeliveryState state, String range) {
    this.state = state;
    this.range = range;
  }

  /** The kinds that are seen in one of these states. */
  static Set<LateKind> in(Set<DeliveryState> states) {
    Set<LateKind> kinds = EnumSet.allOf(LateKind.class);
    kinds.removeIf(kind -> !states.contains(kind.state));
    return kinds;
  }

  /** Whether a row is of one of these kinds, in words that no index can be searched for. */
  static String isOneOf(Collection<LateKind> kinds) {
    return kinds.stream()
        .map(kind -> "'" + kind + "'")
        .collect(Collectors.joining(", ", OF_ROW + " IN (", ")"));
  }
}
