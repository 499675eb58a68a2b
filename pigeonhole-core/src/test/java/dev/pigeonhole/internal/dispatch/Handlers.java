package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.HandlerKey;
import dev.pigeonhole.MessageHandler;
import dev.pigeonhole.OnPoison;
import dev.pigeonhole.Specs;
import dev.pigeonhole.internal.registry.BoundHandler;
import dev.pigeonhole.internal.registry.HandlerSpec;
import dev.pigeonhole.internal.registry.Hashes;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.StoredMessage;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.Map;

/** Handlers, lines and attempts for tests of the parts that deal with them. */
final class Handlers {
  private static final String TEXT = "text/plain;charset=utf-8";

  private Handlers() {}

  static BoundHandler plain(String key, MessageHandler<Object> body) {
    return bound(Specs.plain(HandlerKey.of(key), body));
  }

  /** A handler of text, as an inbox that has no other knows it. */
  static BoundHandler bound(HandlerSpec spec) {
    return new BoundHandler(
        spec,
        Specs.type(String.class, "t"),
        List.of(new HandlerId(spec.key().key(), 1, 1)),
        OnPoison.BLOCK_KEY);
  }

  static HandlerLine line(int slots, int capacity) {
    return line(plain("h", received -> {}), slots, capacity);
  }

  /** A line whose slots do nothing. */
  static HandlerLine line(BoundHandler handler, int slots, int capacity) {
    return new HandlerLine(
        handler,
        slots,
        capacity,
        new ContentBudget(16 << 20),
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
    return new Attempt("inbox", work(row, ""), handler, new Breaker(null), () -> false);
  }

  static Work work(long seq, String text) {
    return work(Rows.row(seq), text);
  }

  private static Work work(Delivery row, String text) {
    byte[] content = text.getBytes(StandardCharsets.UTF_8);
    StoredMessage message =
        new StoredMessage(
            row.seq(),
            row.version(),
            "source",
            "m-" + row.seq(),
            "t",
            "c",
            "local",
            null,
            content,
            TEXT,
            new byte[0],
            Hashes.content(TEXT, content),
            null,
            Instant.EPOCH,
            Map.of());
    return new Work(row, message, null, 1, 1, 0);
  }
}
