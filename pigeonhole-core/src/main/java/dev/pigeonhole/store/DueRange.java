package dev.pigeonhole.store;

import org.jspecify.annotations.Nullable;

/**
 * Part of what waits for a time in a cell: rows behind a position, oldest due time first and lowest
 * number first among equals, at most {@code limit} of them.
 *
 * @param after where it begins; null for the beginning
 */
public record DueRange(Cell cell, int limit, @Nullable DuePosition after) {

  /** Those that have been due for longest. */
  public static DueRange fromStart(Cell cell, int limit) {
    return new DueRange(cell, limit, null);
  }
}
