package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellRow;
import dev.pigeonhole.store.DuePosition;
import org.jspecify.annotations.Nullable;

/** What the dispatcher remembers of a cell that this node owns. Touched by its thread alone. */
final class CellState {
  /** Look-backs reach over this many ticks of 200 ms: 3 s. */
  static final int TICKS = 15;

  final Cell cell;
  final long token;

  /** The incarnation of this node that took the cell. */
  final long owner;

  /** The highest fresh seq a forward read has brought. */
  long cursor;

  /** Whether the last forward read came back short. */
  boolean caughtUp;

  /** Rows still to be marked before they are dispatched; 0 when the cell is not on probation. */
  int probation;

  // Whether a read has found none of these since the cell was taken.
  boolean noFresh;
  boolean noDue;
  boolean noPlaced;

  /** Set when the node is about to give the cell back: nothing new is read or started. */
  boolean leaving;

  /** Rows of this cell that are queued, running or unsettled. */
  int open;

  /** Rows of this cell that stand open in {@code later}, due or waiting in their key. */
  int late;

  /** Rows of this cell that are open here and have a place of their own. */
  int placed;

  /** Due rows that the last read has brought and that found no room in their key. */
  int inTheWay;

  /** How far the walk through what is due has come; null where none is under way. */
  @Nullable DuePosition walked;

  /** When the walk may go on, as {@link System#nanoTime} tells it. */
  long noWalkBefore = System.nanoTime();

  private final long[] past = new long[TICKS];
  private int tick;

  CellState(CellRow row, int probation) {
    this.cell = row.cell();
    this.token = row.token();
    this.owner = row.owner();
    this.probation = probation;
  }

  /** Lets the next reads begin anew: rows behind the cursor may be open no longer. */
  void readFromStart() {
    cursor = 0;
    caughtUp = false;
    walked = null;
  }

  /** Whether everything that could run when the cell was taken has ended. */
  boolean outlived() {
    return noFresh && noDue && noPlaced;
  }

  /** Notes the cursor once per tick and answers where it stood {@link #TICKS} ticks ago. */
  long tick() {
    long then = past[tick];
    past[tick] = cursor;
    tick = (tick + 1) % TICKS;
    return then;
  }
}
