package dev.pigeonhole.store;

/**
 * Who owns a cell.
 *
 * @param owner the owning incarnation, or 0
 * @param token raised at each change of owner; a receiver that needs strictness compares it
 * @param unclean whether an owner ended without a clean stop, and its probation is not over
 */
public record CellRow(Cell cell, long owner, long token, boolean unclean) {}
