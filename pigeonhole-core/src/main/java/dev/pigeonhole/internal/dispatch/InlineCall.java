package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.internal.registry.BoundHandler;
import dev.pigeonhole.store.NewMessage;

/**
 * A handler that runs where its message is handed in.
 *
 * @param message under the identity that this handler knows it by: the message's own, unless the
 *     handler has a key of its own
 */
public record InlineCall(BoundHandler handler, NewMessage message) {}
