package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.store.Settlement;

/**
 * What became of a settlement.
 *
 * @param refused whether somebody else had settled the delivery before
 */
record Settled(Settlement settlement, boolean refused) {}
