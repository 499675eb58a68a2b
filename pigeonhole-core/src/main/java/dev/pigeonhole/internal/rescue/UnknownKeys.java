package dev.pigeonhole.internal.rescue;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Failure;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.internal.dispatch.Events;
import dev.pigeonhole.internal.dispatch.Failures;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellLimit;
import dev.pigeonhole.store.CellRow;
import dev.pigeonhole.store.DueRange;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.store.NodeRow;
import dev.pigeonhole.store.Range;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks after deliveries whose handler key no living node knows. During a rolling deployment that
 * is normal, so they are held; only after a grace period of such time are they poisoned, with a
 * reason that names the key.
 */
final class UnknownKeys {
  private static final Logger LOG = LoggerFactory.getLogger(UnknownKeys.class);
  private static final int AT_ONCE = 1_000;

  private final InboxStore store;
  private final Events events;
  private final Duration grace;
  private final long stepMillis;

  UnknownKeys(InboxStore store, Events events, Duration grace, Duration step) {
    this.store = store;
    this.events = events;
    this.grace = grace;
    this.stepMillis = step.toMillis();
  }

  void look(List<NodeRow> nodes) {
    Set<Integer> known = new HashSet<>();
    for (NodeRow node : nodes) {
      if (node.alive()) {
        known.addAll(node.handlers());
      }
    }
    Map<Integer, List<HandlerId>> unknown =
        store.maintenance().handlers().stream()
            .filter(id -> !known.contains(id.family()))
            .collect(Collectors.groupingBy(HandlerId::family, TreeMap::new, Collectors.toList()));
    unknown.forEach(this::hold);
  }

  private void hold(int family, List<HandlerId> keys) {
    List<Cell> cells = store.nodes().cells(List.of(family)).stream().map(CellRow::cell).toList();
    if (!hasOpenWork(cells)) {
      return;
    }
    List<String> names = keys.stream().map(HandlerId::key).toList();
    long heldMillis = grace.isZero() ? 0 : store.nodes().unknownFor(family, stepMillis);
    if (heldMillis < grace.toMillis()) {
      return;
    }
    Failure reason =
        Failures.of(
            ErrorCode.HANDLER_KEY_UNKNOWN,
            ("No node has known the handler key '%s' for %s. Deploy a handler with this key, or one"
                    + " that was formerly called so, and retry the delivery.")
                .formatted(String.join("', '", names), grace),
            store.clock().instant());
    int poisoned = store.maintenance().poisonUnknown(family, reason, AT_ONCE);
    if (poisoned > 0) {
      LOG.atWarn()
          .addKeyValue("pigeonhole.event", "poisoned-unknown")
          .addKeyValue("pigeonhole.inbox", events.inbox())
          .addKeyValue("pigeonhole.handler.key", String.join(", ", names))
          .addKeyValue("pigeonhole.deliveries", poisoned)
          .addKeyValue("pigeonhole.code", reason.code().text())
          .log(
              "{} deliveries are poisoned: {} {}",
              poisoned,
              reason.code().text(),
              reason.message());
      events.tell(new InboxEvent.PoisonedUnknown(events.inbox(), names, poisoned, reason));
    }
  }

  private boolean hasOpenWork(List<Cell> cells) {
    List<Range> ranges = cells.stream().map(cell -> Range.after(cell, 0, 1)).toList();
    if (!store.deliveries().fresh(ranges).isEmpty()) {
      return true;
    }
    List<DueRange> due = cells.stream().map(cell -> DueRange.fromStart(cell, 1)).toList();
    var late = store.deliveries().due(due);
    if (!late.rows().isEmpty() || late.untilNext().isPresent()) {
      return true;
    }
    List<CellLimit> placed = cells.stream().map(cell -> new CellLimit(cell, 1)).toList();
    return !store.deliveries().placed(placed).isEmpty();
  }
}
