package dev.pigeonhole.internal.rescue;

import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellRow;
import dev.pigeonhole.store.NodeRow;
import java.util.ArrayList;
import java.util.Comparator;
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
 * @param giveBack own cells above it: those first of which no attempt is under way
 * @param keep own cells that were above it, and are no longer
 */
record Shares(List<Cell> take, List<Cell> giveBack, List<Cell> keep) {

  /**
   * Shares out the cells.
   *
   * @param leaving own cells that are to be given back as soon as they are empty
   * @param busy own cells of which an attempt is under way
   * @param tried own cells that could not leave lately; not tried again while they are busy
   */
  static Shares of(
      List<CellRow> cells,
      List<NodeRow> nodes,
      long self,
      Set<Cell> leaving,
      Set<Cell> busy,
      Set<Cell> tried) {
    Map<Integer, List<CellRow>> byHandler = new TreeMap<>();
    for (CellRow row : cells) {
      byHandler.computeIfAbsent(row.cell().handler(), none -> new ArrayList<>()).add(row);
    }
    List<Cell> take = new ArrayList<>();
    List<Cell> giveBack = new ArrayList<>();
    List<Cell> keep = new ArrayList<>();
    byHandler.forEach(
        (handler, rows) -> {
          int knowing = knowing(nodes, handler, self);
          int share = (rows.size() + knowing - 1) / knowing;
          List<Cell> mine = new ArrayList<>();
          List<Cell> going = new ArrayList<>();
          List<Cell> free = new ArrayList<>();
          for (CellRow row : rows) {
            if (row.owner() == self) {
              (leaving.contains(row.cell()) ? going : mine).add(row.cell());
            } else if (row.owner() == 0) {
              free.add(row.cell());
            }
          }
          int room = Math.max(0, share - mine.size());
          int staying = Math.min(room, going.size());
          keep.addAll(going.subList(0, staying));
          take.addAll(free.subList(0, Math.min(room - staying, free.size())));
          int surplus = mine.size() - share;
          if (surplus > 0) {
            giveBack.addAll(easiest((surplus + 3) / 4, mine, busy, tried));
          }
        });
    return new Shares(take, giveBack, keep);
  }

  /** The last cells without a running attempt, and then the last of the others. */
  private static List<Cell> easiest(int most, List<Cell> mine, Set<Cell> busy, Set<Cell> tried) {
    List<Cell> easiestLast = new ArrayList<>(mine);
    easiestLast.removeIf(cell -> busy.contains(cell) && tried.contains(cell));
    easiestLast.sort(Comparator.comparing(busy::contains, Comparator.reverseOrder()));
    return easiestLast.subList(Math.max(0, easiestLast.size() - most), easiestLast.size());
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
