package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.Delivery;

/** Deliveries for tests that only care for their names. */
final class Rows {
  private Rows() {}

  static Delivery row(long seq) {
    return row(new Cell(0, 1), seq, 0);
  }

  static Delivery row(Cell cell, long seq) {
    return row(cell, seq, 0);
  }

  /** One that stands in {@code later} and has an ordering key. */
  static Delivery keyedLate(Cell cell, long seq) {
    return new Delivery(cell, seq, 0, 1, 0, 0, 0, 7L, 0, true);
  }

  static Delivery row(Cell cell, long seq, int version) {
    return new Delivery(cell, seq, version, 1, 0, 0, 0, null, 0, false);
  }
}
