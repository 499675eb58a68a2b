package dev.pigeonhole.store;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * Which messages an operator means. What is null does not matter.
 *
 * @param unhandled only those that were stored without deliveries and have none since
 * @param receivedFrom inclusive
 * @param receivedBefore exclusive
 */
public record MessageFilter(
    boolean unhandled,
    @Nullable String type,
    @Nullable String channel,
    @Nullable String source,
    @Nullable String id,
    @Nullable Instant receivedFrom,
    @Nullable Instant receivedBefore) {}
