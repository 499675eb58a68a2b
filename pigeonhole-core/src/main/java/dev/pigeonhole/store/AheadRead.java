package dev.pigeonhole.store;

import java.util.List;
import java.util.Set;

/**
 * What stands before the rows that were asked for.
 *
 * @param open rows of {@code delivery} and {@code later} with a lower number, due or not; of each
 *     key the lowest {@link Ahead#MOST}
 * @param blocked those questions whose key has a poisoned delivery with a lower number that blocks
 *     it, or was closed from a lower number on
 */
public record AheadRead(List<Delivery> open, Set<Ahead> blocked) {}
