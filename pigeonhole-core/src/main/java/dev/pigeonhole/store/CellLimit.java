package dev.pigeonhole.store;

/** A cell and how many rows of it are wanted. */
public record CellLimit(Cell cell, int limit) {}
