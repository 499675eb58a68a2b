package dev.pigeonhole.store;

import dev.pigeonhole.admin.DeliveryState;
import java.time.Instant;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Which deliveries an operator means. What is null does not matter.
 *
 * @param states those that a store can tell apart: neither held nor paused
 * @param handlers exactly these families: of those that count as one, some may be held and others
 *     not, see {@link AdminQueries#kin}
 * @param receivedFrom inclusive
 * @param receivedBefore exclusive
 */
public record DeliveryFilter(
    Set<DeliveryState> states,
    @Nullable Set<Integer> handlers,
    @Nullable String type,
    @Nullable String channel,
    @Nullable String source,
    @Nullable String id,
    @Nullable Instant receivedFrom,
    @Nullable Instant receivedBefore,
    @Nullable String fingerprint) {}
