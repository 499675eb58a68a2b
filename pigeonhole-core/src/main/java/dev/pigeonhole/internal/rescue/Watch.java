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
 *
 * <p>If one look after the other comes late, the database is slow but not down: between two looks
 * this node has beaten, and so could the others. Then each late look counts as one heartbeat.
 * Otherwise nodes that die while the database is slow would not be detected.
 */
final class Watch {
  private record Seen(long beat, long silentNanos) {}

  private final long deadAfterNanos;
  private final long beatNanos;
  private final long closeNanos;
  private Map<Long, Seen> seen = new HashMap<>();
  private long lastLook;
  private boolean looked;
  private boolean late;

  Watch(Duration deadAfter, Duration beat) {
    this.deadAfterNanos = deadAfter.toNanos();
    this.beatNanos = beat.toNanos();
    this.closeNanos = beatNanos * 3 / 2;
  }

  /** Those that have not beaten for too long. */
  List<NodeRow> silent(List<NodeRow> nodes, long self, long now) {
    long counted = counted(now - lastLook);
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

  private long counted(long passed) {
    boolean lateBefore = late;
    late = looked && passed > closeNanos;
    if (!looked) {
      return 0;
    }
    if (!late) {
      return passed;
    }
    return lateBefore ? beatNanos : 0; // one alone is an outage, or a pause of this node
  }
}
