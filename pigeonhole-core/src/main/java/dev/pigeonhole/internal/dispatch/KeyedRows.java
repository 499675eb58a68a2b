package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.Settlement;
import java.util.function.Consumer;

/** What the ordering keys do with the dispatcher's rows. */
final class KeyedRows implements OrderedKeys.Rows {
  private final HandlerLines lines;
  private final OwnedCells cells;
  private final OpenRows open;
  private final Reads reads;
  private final Settler settler;
  private final Consumer<Delivery> admit;

  KeyedRows(
      HandlerLines lines,
      OwnedCells cells,
      OpenRows open,
      Reads reads,
      Settler settler,
      Consumer<Delivery> admit) {
    this.lines = lines;
    this.cells = cells;
    this.open = open;
    this.reads = reads;
    this.settler = settler;
    this.admit = admit;
  }

  @Override
  public HandlerLine line(Cell cell) {
    return lines.of(cell);
  }

  @Override
  public boolean staying(Cell cell) {
    CellState state = cells.get(cell);
    return state != null && !state.leaving;
  }

  @Override
  public boolean isOpen(Delivery row) {
    return open.contains(row);
  }

  @Override
  public boolean open(Delivery row) {
    CellState cell = cells.get(row.cell());
    return cell != null && open.open(cell, row);
  }

  @Override
  public void forget(Delivery row) {
    open.forget(row);
  }

  @Override
  public void admit(Delivery row) {
    admit.accept(row);
  }

  @Override
  public void block(Delivery row) {
    lines.of(row.cell()).entered(row);
    open.hand(row);
    settler.add(new Settlement(row, new Outcome.Blocked()), null);
  }

  @Override
  public void sweepSoon() {
    reads.sweepSoon();
  }
}
