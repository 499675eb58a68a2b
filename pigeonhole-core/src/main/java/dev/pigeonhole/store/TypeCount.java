package dev.pigeonhole.store;

import dev.pigeonhole.admin.DeliveryState;

/**
 * How many deliveries of a type of message were met in one place.
 *
 * @param fresh whether among the fresh ones, which are looked at apart from the later ones
 * @param state pending, scheduled, blocked or poisoned
 */
public record TypeCount(boolean fresh, DeliveryState state, String type, long count) {}
