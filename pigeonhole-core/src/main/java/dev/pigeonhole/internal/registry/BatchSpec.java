package dev.pigeonhole.internal.registry;

import dev.pigeonhole.BatchHandler;

/**
 * A handler of several messages at once.
 *
 * @param most how many it takes with one call
 * @param encoded whether it wants them as bytes, as they were stored
 */
public record BatchSpec(int most, BatchHandler<Object> handler, boolean encoded) {}
