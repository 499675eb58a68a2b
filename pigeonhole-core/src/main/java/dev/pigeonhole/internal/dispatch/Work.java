package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.Failure;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.StoredMessage;
import org.jspecify.annotations.Nullable;

/**
 * A delivery ready to run.
 *
 * @param laneToken the token of its cell when this node took it
 * @param owner the incarnation that took its cell; only that one may start it
 * @param place whoever has the lowest one is next
 */
record Work(
    Delivery delivery,
    StoredMessage message,
    @Nullable Failure previous,
    long laneToken,
    long owner,
    long place) {}
