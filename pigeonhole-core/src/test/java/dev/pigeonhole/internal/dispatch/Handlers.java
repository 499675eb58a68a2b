package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.Failure;
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
import org.jspecify.annotations.Nullable;

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
        new RateLimit(null, 1, RateLimit.SAVED, 0),
        new Breaker(null),
        Runnable::run,
        () -> false,
        (some, work) -> {},
        () -> {});
  }

  static Attempt attempt(BoundHandler handler, long seq) {
    return attempt(handler, Rows.row(seq));
  }

  static Attempt attempt(BoundHandler handler, Delivery row) {
    return new Attempt(
        "inbox", work(row, "", new byte[0], null), handler, new Breaker(null), () -> false);
  }

  static Work work(long seq, String text) {
    return work(Rows.row(seq), text, new byte[0], null);
  }

  static Work work(long seq, String text, byte[] headers, @Nullable Failure previous) {
    return work(Rows.row(seq), text, headers, previous);
  }

  private static Work work(Delivery row, String text, byte[] headers, @Nullable Failure previous) {
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
            headers,
            Hashes.content(TEXT, content),
            null,
            Instant.EPOCH,
            Map.of());
    return new Work(row, message, previous, 1, 1, 0);
  }
}
