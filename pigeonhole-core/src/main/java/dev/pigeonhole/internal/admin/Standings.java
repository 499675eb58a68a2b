package dev.pigeonhole.internal.admin;

import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.admin.HandlerCounts;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.store.NodeRow;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.IntPredicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Which handlers are held and which are paused, at one moment. Neither is a column of a delivery:
 * both follow from what is known of its handler. Of families that count as one each is held or not,
 * for a node may know one of them alone; but a pause of one holds for all, because a node that
 * knows them runs them as one handler.
 */
final class Standings {
  private final Collection<HandlerId> handlers;
  private final Set<Integer> held = new HashSet<>();
  private final Set<Integer> paused;

  Standings(InboxStore store) {
    handlers = store.maintenance().handlers();
    paused =
        store.admin().pausedFamilies().stream()
            .flatMap(each -> store.admin().kin(each).stream())
            .collect(Collectors.toSet());
    List<NodeRow> living = store.admin().nodes().stream().filter(NodeRow::alive).toList();
    for (HandlerId each : handlers) {
      // Where nobody lives nobody says that a key is unknown.
      if (!living.isEmpty()
          && living.stream().noneMatch(node -> node.handlers().contains(each.family()))) {
        held.add(each.family());
      }
    }
  }

  /** The delivery as it is seen by somebody who knows this. */
  DeliveryView seen(DeliveryView view) {
    boolean ready = view.state() == DeliveryState.PENDING;
    if (!ready && view.state() != DeliveryState.SCHEDULED) {
      return view;
    }
    int family = family(view.handler());
    if (held.contains(family)) {
      return view.in(DeliveryState.HELD);
    }
    return ready && paused.contains(family) ? view.in(DeliveryState.PAUSED) : view;
  }

  HandlerCounts seen(HandlerCounts counts) {
    int family = family(counts.handler());
    if (held.contains(family)) {
      return counts.allHeld();
    }
    return paused.contains(family) ? counts.allPaused() : counts;
  }

  private int family(String key) {
    return handlers.stream()
        .filter(each -> each.key().equals(key))
        .mapToInt(HandlerId::family)
        .findFirst()
        .orElse(0);
  }

  /** The states of rows that can be seen in this state; null means any. */
  static Set<DeliveryState> rows(@Nullable DeliveryState seen) {
    if (seen == null) {
      return Set.of(
          DeliveryState.PENDING,
          DeliveryState.SCHEDULED,
          DeliveryState.BLOCKED,
          DeliveryState.COMPLETED,
          DeliveryState.DISCARDED,
          DeliveryState.POISONED);
    }
    return switch (seen) {
      case HELD -> Set.of(DeliveryState.PENDING, DeliveryState.SCHEDULED);
      case PAUSED -> Set.of(DeliveryState.PENDING);
      default -> Set.of(seen);
    };
  }

  /** The families whose rows can be seen in this state, among those asked for; null means any. */
  @Nullable Set<Integer> families(@Nullable DeliveryState seen, @Nullable Set<Integer> asked) {
    if (seen == null) {
      return asked;
    }
    return switch (seen) {
      case HELD -> among(asked, held::contains);
      case PAUSED -> among(asked, each -> paused.contains(each) && !held.contains(each));
      case PENDING -> among(asked, each -> !paused.contains(each) && !held.contains(each));
      case SCHEDULED -> among(asked, each -> !held.contains(each));
      default -> asked;
    };
  }

  private Set<Integer> among(@Nullable Set<Integer> asked, IntPredicate which) {
    return handlers.stream()
        .map(HandlerId::family)
        .filter(each -> asked == null || asked.contains(each))
        .filter(which::test)
        .collect(Collectors.toCollection(TreeSet::new));
  }
}
