package dev.pigeonhole.store;

import org.jspecify.annotations.Nullable;

/**
 * Which part of a list is wanted.
 *
 * @param after not this one nor those before it in the order asked for; null begins the list
 * @param oldestFirst in ascending order, or else descending
 */
public record Slice(@Nullable Place after, boolean oldestFirst, int limit) {}
