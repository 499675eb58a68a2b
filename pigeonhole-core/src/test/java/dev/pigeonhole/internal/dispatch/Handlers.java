package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.HandlerKey;
import dev.pigeonhole.MessageHandler;
import dev.pigeonhole.internal.registry.BoundHandler;
import dev.pigeonhole.internal.registry.HandlerSpec;
import dev.pigeonhole.internal.registry.TypeSpec;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.StoredMessage;
import java.time.Instant;
import java.util.List;
import java.util.Map;

/** Handlers, lines and attempts for tests of the parts that deal with them. */
final class Handlers {
  private Handlers() {}

  static BoundHandler plain(String key, MessageHandler<Object> handler) {
    return new BoundHandler(
        new HandlerSpec(HandlerKey.of(key), handler, null, null, HandlerSpec.Options.NONE),
        new TypeSpec(
            String.class, "t", List.of(), null, null, null, null, List.of(), null, List.of()),
        List.of(new HandlerId(key, 1, 1)));
  }

  static HandlerLine line(int slots, int capacity) {
    return new HandlerLine(
        plain("h", received -> {}),
        slots,
        capacity,
        new RateLimit(null, 1, 0),
        new Breaker(null),
        Runnable::run,
        () -> false,
        (some, work) -> {});
  }

  static Attempt attempt(BoundHandler handler, long seq) {
    return attempt(handler, Rows.row(seq));
  }

  static Attempt attempt(BoundHandler handler, Delivery row) {
    StoredMessage message =
        new StoredMessage(
            row.seq(),
            "source",
            "m-" + row.seq(),
            "t",
            "c",
            "local",
            null,
            new byte[0],
            "text/plain",
            new byte[0],
            new byte[16],
            null,
            Instant.EPOCH,
            Map.of());
    return new Attempt(new Work(row, message, null, 1, 0), handler, new Breaker(null), () -> false);
  }
}
