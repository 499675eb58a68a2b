package dev.pigeonhole.testkit;

import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellRow;
import dev.pigeonhole.store.NodeRow;
import java.time.Instant;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;

/** The rows of nodes and cells, and how long each family has been known to nobody. */
final class Ownership {
  private static final Comparator<Cell> BY_HANDLER_AND_LANE =
      Comparator.comparingInt(Cell::handler).thenComparingInt(Cell::lane);

  long lastIncarnation;
  final TreeMap<Long, NodeRow> nodes = new TreeMap<>();
  final TreeMap<Cell, CellRow> cells = new TreeMap<>(BY_HANDLER_AND_LANE);
  final Map<Integer, Unknown> unknown = new HashMap<>();

  /** How long nobody has known a family, and until when that was counted. */
  record Unknown(long millis, Instant countedUntil) {}

  void addCells(int lanes, int family) {
    for (int lane = 0; lane < lanes; lane++) {
      Cell cell = new Cell(lane, family);
      cells.putIfAbsent(cell, new CellRow(cell, 0, 0, false));
    }
  }

  void change(Predicate<CellRow> which, UnaryOperator<CellRow> how) {
    cells.replaceAll((cell, row) -> which.test(row) ? how.apply(row) : row);
  }
}
