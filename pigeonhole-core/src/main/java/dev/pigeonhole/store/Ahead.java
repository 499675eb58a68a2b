package dev.pigeonhole.store;

/**
 * Asks for what stands before a row in its ordering key: open rows of the same cell and key hash
 * with a lower number.
 */
public record Ahead(Cell cell, long keyHash, long seq) {

  /** How many open rows of a key are told at most, however many wait in it. */
  public static final int MOST = 500;
}
