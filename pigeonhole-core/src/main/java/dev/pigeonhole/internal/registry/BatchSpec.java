package dev.pigeonhole.internal.registry;

import dev.pigeonhole.BatchHandler;

/**
 * A handler of several messages at once.
 *
 * @param most how many it takes with one call
 */
public record BatchSpec(int most, BatchHandler<Object> handler) {}
