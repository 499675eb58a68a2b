package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.StoredMessage;

/** A delivery that this process has just accepted, with its message: it need not be read. */
public record HandOver(Delivery row, StoredMessage message) {}
