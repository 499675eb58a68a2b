package dev.pigeonhole.internal.rescue;

import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellRow;
import dev.pigeonhole.store.NodeRow;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * What a node should take and give back, handler by handler: its cells are shared out among the
 * living nodes that know it. Nobody steals from the living; a node above its share gives back a
 * quarter of the surplus at a time, so that a fleet that starts together settles without storms.
 *
 * @param take free cells, up to this node's share
 * @param giveBack own cells above it
 */
record Shares(List<Cell> take, List<Cell> giveBack) {

  static Shares of(List<CellRow> cells, List<NodeRow> nodes, long self, Set<Cell> leaving) {
    Map<Integer, List<CellRow>> byHandler = new TreeMap<>();
    for (CellRow row : cells) {
      byHandler.computeIfAbsent(row.cell().handler(), none -> new ArrayList<>()).add(row);
    }
    List<Cell> take = new ArrayList<>();
    List<Cell> giveBack = new ArrayList<>();
    byHandler.forEach(
        (handler, rows) -> {
          int knowing = knowing(nodes, handler, self);
          int share = (rows.size() + knowing - 1) / knowing;
          List<Cell> mine = new ArrayList<>();
          List<Cell> free = new ArrayList<>();
          for (CellRow row : rows) {
            if (row.owner() == self && !leaving.contains(row.cell())) {
              mine.add(row.cell());
            } else if (row.owner() == 0) {
              free.add(row.cell());
            }
          }
          int room = Math.max(0, share - mine.size());
          take.addAll(free.subList(0, Math.min(room, free.size())));
          int surplus = mine.size() - share;
          if (surplus > 0) {
            int now = (surplus + 3) / 4;
            giveBack.addAll(mine.subList(mine.size() - now, mine.size()));
          }
        });
    return new Shares(take, giveBack);
  }

  /** A node that is stopping is not counted any more; this one always is. */
  private static int knowing(List<NodeRow> nodes, int handler, long self) {
    int knowing = 1;
    for (NodeRow node : nodes) {
      if (node.state() == NodeRow.State.LIVE
          && node.incarnation() != self
          && node.handlers().contains(handler)) {
        knowing++;
      }
    }
    return knowing;
  }
}
