package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.internal.rescue.Node;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.Delivery;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The cells that this node owns, and where each open row was counted. Touched by the dispatcher's
 * thread alone, but for {@link #staying()} and {@link #leaving()}, which the node asks.
 */
final class OwnedCells {
  private final Map<Cell, CellState> cells = new LinkedHashMap<>();

  /** Where each open row was counted: a cell can be lost and taken anew while a row still runs. */
  private final Map<Delivery, CellState> homes = new HashMap<>();

  private final Set<CellState> onProbation = new HashSet<>();

  private final Runnable whenChanged;

  // Copies for the node's thread, made anew by everything that changes them.
  private volatile Set<Cell> staying = Set.of();
  private volatile Set<Cell> leaving = Set.of();

  OwnedCells(Runnable whenChanged) {
    this.whenChanged = whenChanged;
  }

  /** Those that no other node is to get. */
  Set<Cell> staying() {
    return staying;
  }

  /** Those that are given back as soon as nothing of them is open. */
  Set<Cell> leaving() {
    return leaving;
  }

  /** All of them, as they change. */
  Collection<CellState> all() {
    return Collections.unmodifiableCollection(cells.values());
  }

  @Nullable CellState get(Cell cell) {
    return cells.get(cell);
  }

  boolean contains(Cell cell) {
    return cells.containsKey(cell);
  }

  // ---- coming and going

  /**
   * Adds those that are not there.
   *
   * @param handed rows whose news will come: attempts from before a cell was lost may still run
   */
  void take(List<CellState> taken, Collection<Delivery> handed) {
    for (CellState state : taken) {
      if (cells.putIfAbsent(state.cell, state) == null) {
        countOpen(state, handed);
        if (state.probation > 0) {
          onProbation.add(state);
        }
      }
    }
    changed();
  }

  void leave(List<Cell> wanted) {
    for (Cell cell : wanted) {
      CellState state = cells.get(cell);
      if (state != null) {
        state.leaving = true;
      }
    }
    changed();
  }

  /** Takes a {@link #leave} back. They are read from the start, as if they had just been taken. */
  void stay(List<Cell> unwanted) {
    for (Cell cell : unwanted) {
      CellState state = cells.get(cell);
      if (state != null && state.leaving) {
        state.leaving = false;
        state.readFromStart();
      }
    }
    changed();
  }

  void leaveAll() {
    cells.values().forEach(state -> state.leaving = true);
    changed();
  }

  void remove(List<Cell> gone) {
    gone.forEach(cells::remove);
    onProbation.retainAll(cells.values());
    changed();
  }

  void clear() {
    cells.clear();
    onProbation.clear();
    changed();
  }

  void giveBackWhatIsIdle(Node node) {
    List<CellState> done = new ArrayList<>();
    for (CellState state : cells.values()) {
      if (state.leaving && state.open <= 0) {
        done.add(state);
      }
    }
    if (!done.isEmpty()) {
      byOwner(done).forEach(node::giveBack);
      remove(done.stream().map(state -> state.cell).toList());
    }
  }

  private void changed() {
    Set<Cell> stay = new HashSet<>();
    Set<Cell> go = new HashSet<>();
    for (CellState state : cells.values()) {
      (state.leaving ? go : stay).add(state.cell);
    }
    staying = Set.copyOf(stay);
    leaving = Set.copyOf(go);
    whenChanged.run();
  }

  // ---- open rows

  void opened(CellState cell, Delivery row) {
    homes.put(row, cell);
    cell.open++;
    if (row.place() != 0) {
      cell.placed++;
    } else if (row.late()) {
      cell.late++;
    }
  }

  void closed(Delivery row) {
    CellState cell = homes.remove(row);
    if (cell != null) {
      cell.open--;
      if (row.place() != 0) {
        cell.placed--;
      } else if (row.late()) {
        cell.late--;
      }
    }
  }

  /** Begins to read every cell anew, with only these rows open. */
  void reset(Collection<Delivery> handed) {
    homes.clear();
    for (CellState cell : cells.values()) {
      cell.readFromStart();
      countOpen(cell, handed);
    }
  }

  private void countOpen(CellState cell, Collection<Delivery> handed) {
    cell.open = 0;
    cell.late = 0;
    cell.placed = 0;
    for (Delivery row : handed) {
      if (row.cell().equals(cell.cell)) {
        opened(cell, row);
      }
    }
  }

  // ---- probation

  void marked(CellState cell, int rows) {
    cell.probation -= rows;
  }

  /**
   * Ends the probation of cells that have marked enough rows, and of cells whose deliveries at the
   * takeover have all ended.
   */
  void endProbations(Node node) {
    if (onProbation.isEmpty()) {
      return;
    }
    List<CellState> over =
        onProbation.stream().filter(cell -> cell.probation == 0 || cell.outlived()).toList();
    over.forEach(cell -> cell.probation = 0);
    over.forEach(onProbation::remove);
    byOwner(over).forEach(node::markClean);
  }

  /**
   * As they were taken: this node may have been declared dead meanwhile, and its next incarnation
   * may have taken the same cells before this thread hears of it.
   */
  private static Map<Long, List<Cell>> byOwner(Collection<CellState> states) {
    return states.stream()
        .collect(
            Collectors.groupingBy(
                state -> state.owner,
                Collectors.mapping(state -> state.cell, Collectors.toList())));
  }
}
