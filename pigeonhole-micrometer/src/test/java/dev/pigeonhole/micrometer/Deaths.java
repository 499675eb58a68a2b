package dev.pigeonhole.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellRow;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.store.NodeRow;
import dev.pigeonhole.support.Eventually;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/** Nodes that die, as far as a store and the other nodes can tell. */
final class Deaths {
  static final String GHOST = "ghost";
  private static final Duration LONG = Duration.ofMinutes(2);

  private Deaths() {}

  /** A node takes all lanes, and is not heard of any more; its incarnation. */
  static long ofOneThatHasAllLanes(InboxStore store) {
    Set<Integer> families =
        store.maintenance().handlers().stream().map(HandlerId::family).collect(Collectors.toSet());
    List<Cell> cells = store.nodes().cells(families).stream().map(CellRow::cell).toList();
    long ghost = store.nodes().join(GHOST, families);
    assertThat(store.nodes().take(ghost, cells)).hasSameSizeAs(cells);
    return ghost;
  }

  /** As if others had waited for its heartbeat in vain; it has sent none. */
  static void declared(InboxStore store, long ghost) {
    assertThat(store.nodes().declareDead(ghost, 0)).isTrue();
  }

  /** The only living node is thought to be dead, which it finds out with its next beat. */
  static void ofTheLiving(InboxStore store) {
    Eventually.until("a death between two beats", LONG, () -> declareDead(store, living(store)));
  }

  private static boolean declareDead(InboxStore store, NodeRow node) {
    return store.nodes().declareDead(node.incarnation(), node.beat());
  }

  static NodeRow living(InboxStore store) {
    List<NodeRow> living = store.nodes().nodes().stream().filter(NodeRow::alive).toList();
    assertThat(living).hasSize(1);
    return living.get(0);
  }
}
