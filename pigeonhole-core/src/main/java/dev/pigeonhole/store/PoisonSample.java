package dev.pigeonhole.store;

import java.time.Instant;

/**
 * What one poisoned delivery says of its failure.
 *
 * @param handler the exact key
 * @param text the beginning of the failure's message
 */
public record PoisonSample(
    String fingerprint, String type, String text, String handler, Instant at) {}
