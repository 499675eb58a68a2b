package dev.pigeonhole;

import dev.pigeonhole.store.NewMessage;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What a guarded run is known by: the handler, and the key of what it is run for. Two handlers with
 * the same key never meet, and neither do keys of two types.
 *
 * <pre>{@code
 * GuardKey key = GuardKey.of("charge-card", ChargeCard.class, command.reference()).request(body);
 * }</pre>
 */
public final class GuardKey {
  private final HandlerKey handler;
  private final String type;
  private final @Nullable Class<?> payloadType;
  private final @Nullable String source;
  private final @Nullable String id;
  private final @Nullable Object request;
  private final @Nullable Object message;

  private GuardKey(
      HandlerKey handler,
      String type,
      @Nullable Class<?> payloadType,
      @Nullable String source,
      @Nullable String id,
      @Nullable Object request,
      @Nullable Object message) {
    this.handler = Objects.requireNonNull(handler, "handler");
    this.type = Objects.requireNonNull(type, "type");
    this.payloadType = payloadType;
    this.source = source;
    this.id = id;
    this.request = request;
    this.message = message;
  }

  /**
   * A business key of a type, the same as a channel's {@link TypeBuilder#keyedBy} gives: a message
   * that the inbox has delivered to this handler is a repeat here, and the other way round.
   *
   * @param type known by its simple name; where a channel gives it another, or an older one, use
   *     {@link #of(String, String, String)} with the oldest
   * @param key null or blank where there is none; see {@link GuardBuilder#missingKey}
   */
  public static GuardKey of(String handler, Class<?> type, @Nullable String key) {
    return new GuardKey(HandlerKey.of(handler), type.getSimpleName(), type, null, key, null, null);
  }

  /** The same for a type with this logical name, the oldest if there are several. */
  public static GuardKey of(String handler, String type, @Nullable String key) {
    return new GuardKey(HandlerKey.of(handler), type, null, null, key, null, null);
  }

  /**
   * The key that a message names itself, as {@link IdempotentMessage} or with {@link Idempotent}.
   * For one whose class says neither there is no key.
   *
   * @param message known by the simple name of its class, as in {@link #of(String, Class, String)}
   */
  public static GuardKey of(String handler, Object message) {
    Class<?> type = message.getClass();
    return new GuardKey(
        HandlerKey.of(handler), type.getSimpleName(), type, null, null, null, message);
  }

  /**
   * The identity of a message instead of a business key.
   *
   * @param source where the id is unique; without one of its own, the name of the channel that
   *     would have accepted it
   */
  public static GuardKey ofMessage(String handler, String source, @Nullable String id) {
    return new GuardKey(
        HandlerKey.of(handler),
        NewMessage.UNKNOWN_TYPE,
        null,
        Objects.requireNonNull(source, "source"),
        id,
        null,
        null);
  }

  /** What the handler was once called: what it has run under those names is not run again. */
  public GuardKey formerly(String... formerKeys) {
    return new GuardKey(
        handler.formerly(formerKeys), type, payloadType, source, id, request, message);
  }

  /**
   * What was asked for. The same key with another request to this handler is a {@link
   * Guarded.Conflict}; without it the key alone decides. Bytes, text, or whatever the codec can
   * write; only its hash is kept.
   */
  public GuardKey request(@Nullable Object request) {
    return new GuardKey(handler, type, payloadType, source, id, request, message);
  }

  /** The handler, and its former names. */
  public HandlerKey handler() {
    return handler;
  }

  /** The logical name of the type, as far as the key knows it. */
  public String type() {
    return type;
  }

  /** The class that it was made with; null for one made by name. */
  public @Nullable Class<?> payloadType() {
    return payloadType;
  }

  /** The source of a message's own identity; null for a business key. */
  public @Nullable String source() {
    return source;
  }

  /** The key itself; null where there is none. */
  public @Nullable String id() {
    return id;
  }

  /** What names its key itself; null where the key was given. */
  public @Nullable Object message() {
    return message;
  }

  /** What was asked for; null where nothing is compared. */
  public @Nullable Object request() {
    return request;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof GuardKey that
        && handler.equals(that.handler)
        && type.equals(that.type)
        && Objects.equals(source, that.source)
        && Objects.equals(id, that.id)
        && Objects.equals(request, that.request)
        && Objects.equals(message, that.message);
  }

  @Override
  public int hashCode() {
    return Objects.hash(handler, type, source, id);
  }

  /** Without request and message, which may be secret. */
  @Override
  public String toString() {
    return "%s for %s '%s'"
        .formatted(handler.key(), source == null ? type : source, message == null ? id : "…");
  }
}
