package dev.pigeonhole.tck;

import dev.pigeonhole.OnConflict;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NewMessage;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Builds messages as the engine would hand them to a store: valid, with lane and hashes. */
final class MessageBuilder {
  private final String id;
  private String source;
  private List<String> typeNames = List.of("order.placed");
  private String transport = "local";
  private int lane;
  private @Nullable String orderingKey;
  private byte @Nullable [] content = "{}".getBytes(StandardCharsets.UTF_8);
  private String contentType = "application/json";
  private byte[] headers = new byte[0];
  private OnConflict onConflict = OnConflict.KEEP;
  private @Nullable Instant occurredAt;
  private @Nullable Instant notBefore;
  private List<HandlerId> handlers = List.of();
  private long place;

  MessageBuilder(String source, String id) {
    this.source = source;
    this.id = id;
  }

  MessageBuilder from(String source) {
    this.source = source;
    return this;
  }

  /** The name to be stored under, and the others of the same type, the oldest last. */
  MessageBuilder type(String... names) {
    this.typeNames = List.of(names);
    return this;
  }

  MessageBuilder by(String transport) {
    this.transport = transport;
    return this;
  }

  MessageBuilder inLane(int lane) {
    this.lane = lane;
    return this;
  }

  MessageBuilder ordered(String orderingKey) {
    this.orderingKey = orderingKey;
    return this;
  }

  MessageBuilder content(byte @Nullable [] content) {
    this.content = content;
    return this;
  }

  MessageBuilder content(String text) {
    return content(text.getBytes(StandardCharsets.UTF_8));
  }

  MessageBuilder contentType(String contentType) {
    this.contentType = contentType;
    return this;
  }

  MessageBuilder headers(byte[] headers) {
    this.headers = headers;
    return this;
  }

  MessageBuilder onConflict(OnConflict onConflict) {
    this.onConflict = onConflict;
    return this;
  }

  MessageBuilder occurredAt(Instant occurredAt) {
    this.occurredAt = occurredAt;
    return this;
  }

  MessageBuilder notBefore(Instant notBefore) {
    this.notBefore = notBefore;
    return this;
  }

  MessageBuilder at(long place) {
    this.place = place;
    return this;
  }

  MessageBuilder to(HandlerId... handlers) {
    this.handlers = List.of(handlers);
    return this;
  }

  NewMessage build() {
    return new NewMessage(
        source,
        id,
        typeNames.get(0),
        typeNames,
        "orders",
        transport,
        lane,
        orderingKey == null ? null : keyHash(orderingKey),
        orderingKey,
        content,
        contentType,
        headers,
        contentHash(),
        onConflict,
        occurredAt,
        notBefore,
        handlers,
        place);
  }

  /** The hash of an ordering key; any will do, as long as it uses all 64 bits. */
  static long keyHash(String orderingKey) {
    return ByteBuffer.wrap(md5(orderingKey.getBytes(StandardCharsets.UTF_8), null)).getLong();
  }

  private byte[] contentHash() {
    return md5(contentType.getBytes(StandardCharsets.UTF_8), content);
  }

  private static byte[] md5(byte[] first, byte @Nullable [] second) {
    try {
      MessageDigest digest = MessageDigest.getInstance("MD5");
      digest.update(first);
      digest.update((byte) (second == null ? 0 : 1));
      if (second != null) {
        digest.update(second);
      }
      return digest.digest();
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("Every JDK has MD5", e);
    }
  }
}
