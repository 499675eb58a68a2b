package dev.pigeonhole.store;

/**
 * Part of a cell's fresh work: {@code after < seq <= upTo}, lowest first, at most {@code limit}
 * rows.
 */
public record Range(Cell cell, long after, long upTo, int limit) {

  /** Everything behind a cursor. */
  public static Range after(Cell cell, long cursor, int limit) {
    return new Range(cell, cursor, Long.MAX_VALUE, limit);
  }
}
