package dev.pigeonhole.internal.rescue;

import dev.pigeonhole.store.NodeRow;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Measures how long other nodes have been silent, with this node's monotonic clock alone. Time only
 * counts between two own looks that lie close together, so an outage of the database, during which
 * nobody can beat, kills nobody.
 */
final class Watch {
  private record Seen(long beat, long silentNanos) {}

  private final long deadAfterNanos;
  private final long closeNanos;
  private Map<Long, Seen> seen = new HashMap<>();
  private long lastLook;
  private boolean looked;

  Watch(Duration deadAfter, Duration close) {
    this.deadAfterNanos = deadAfter.toNanos();
    this.closeNanos = close.toNanos();
  }

  /** Those that have not beaten for too long. */
  List<NodeRow> silent(List<NodeRow> nodes, long self, long now) {
    long passed = now - lastLook;
    long counted = looked && passed <= closeNanos ? passed : 0;
    looked = true;
    lastLook = now;
    Map<Long, Seen> next = new HashMap<>();
    List<NodeRow> silent = new ArrayList<>();
    for (NodeRow node : nodes) {
      if (!node.alive() || node.incarnation() == self) {
        continue;
      }
      Seen before = seen.get(node.incarnation());
      long quiet =
          before == null || before.beat() != node.beat() ? 0 : before.silentNanos() + counted;
      next.put(node.incarnation(), new Seen(node.beat(), quiet));
      if (quiet >= deadAfterNanos) {
        silent.add(node);
      }
    }
    seen = next;
    return silent;
  }
}
