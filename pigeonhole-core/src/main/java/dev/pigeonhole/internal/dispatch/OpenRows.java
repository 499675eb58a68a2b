package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.Delivery;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/**
 * The rows that this node has: who has each of them, and what counts it. A row counts in its cell
 * as soon as it is open, and in the line of its handler once it is its turn. Touched by the
 * dispatcher's thread alone, but for {@link #begun} and {@link #busy}.
 */
final class OpenRows {
  private final OpenSet open;
  private final OwnedCells cells;
  private final HandlerLines lines;

  /** Rows that a slot has begun and whose outcome is neither recorded nor set aside. */
  private final Set<Delivery> begun = ConcurrentHashMap.newKeySet();

  /** Rows that slots or the settler have: news of each will come. Survives a reset. */
  private final Set<Delivery> handed = new HashSet<>();

  OpenRows(OpenSet open, OwnedCells cells, HandlerLines lines) {
    this.open = open;
    this.cells = cells;
    this.lines = lines;
  }

  int size() {
    return open.size();
  }

  /** Whether the row is queued, running or unsettled. */
  boolean contains(Delivery row) {
    return open.contains(row);
  }

  /** Opens a row of this cell; false if it was open before. */
  boolean open(CellState cell, Delivery row) {
    if (!open.offer(row)) {
      return false;
    }
    cells.opened(cell, row);
    return true;
  }

  /** It was not its turn yet, and the row may be read again. */
  void forget(Delivery row) {
    open.dropped(row);
    cells.closed(row);
  }

  /** Whether rows may be opened with this ticket that were not read. */
  boolean isValid(long ticket) {
    return open.isValid(ticket);
  }

  /** The accept that took this ticket has offered what it had. */
  void returnTicket(long ticket) {
    open.returnTicket(ticket);
  }

  // ---- who has them

  /** A slot or the settler has it. */
  void hand(Delivery row) {
    handed.add(row);
  }

  /** No slot had begun it. */
  void takeBack(Delivery row) {
    handed.remove(row);
  }

  boolean isHanded(Delivery row) {
    return handed.contains(row);
  }

  /** Those whose news will come. */
  Collection<Delivery> handed() {
    return Collections.unmodifiableSet(handed);
  }

  /** Called by slots. */
  void begun(Delivery row) {
    begun.add(row);
  }

  /** Called by slots. */
  boolean hasBegun(Delivery row) {
    return begun.contains(row);
  }

  /** Its attempt is over, but another transaction keeps its end from being written. */
  void settlesLater(Delivery row) {
    begun.remove(row);
  }

  /** The cells of which an attempt is under way. Called by the node. */
  Set<Cell> busy() {
    return begun.stream().map(Delivery::cell).collect(Collectors.toSet());
  }

  boolean noneBegun() {
    return begun.isEmpty();
  }

  // ---- their end

  /** Its end is written, by us or by somebody else. */
  void settled(Delivery row) {
    close(row, open.settled(row));
  }

  /** Its attempt is over without an end, or has not begun; whoever reads it again may have it. */
  void drop(Delivery row) {
    close(row, open.dropped(row));
  }

  private void close(Delivery row, boolean wasOpen) {
    if (wasOpen) {
      cells.closed(row);
      lines.of(row.cell()).left(row);
    }
    begun.remove(row);
    handed.remove(row);
  }

  /** Forgets every row but those whose news will come. */
  void reset() {
    open.retain(handed);
    handed.forEach(row -> lines.of(row.cell()).entered(row));
    cells.reset(handed);
  }
}
