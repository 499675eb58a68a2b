package dev.pigeonhole.store;

import java.time.Instant;

/**
 * A place in the order in which the rows of a cell fall due: behind a row with this time and
 * number, whether that row is still there or not.
 *
 * @param dueAt exactly as the store keeps it
 */
public record DuePosition(Instant dueAt, long seq) {}
