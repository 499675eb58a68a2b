package dev.pigeonhole;

import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A message to be accepted. Immutable; each step returns a new one. Payload and header values are
 * not copied: leave them alone until {@code accept} has answered.
 *
 * <pre>{@code
 * Message.of("m-1", new OrderPlaced("o-1", "c-1"))
 *     .from("shop/checkout")
 *     .orderedBy("c-1")
 *     .notBefore(tomorrow);
 * }</pre>
 */
public final class Message {
  private static final int NORMAL_PRIORITY = 4;

  private final @Nullable String id;
  private final @Nullable Object payload;
  private final @Nullable String type;
  private final @Nullable String contentType;
  private final @Nullable String source;
  private final Headers headers;
  private final @Nullable String orderingKey;
  private final int priority;
  private final @Nullable Instant notBefore;
  private final @Nullable Duration delay;
  private final @Nullable Instant occurredAt;
  private final String transport;

  private Message(Builder from) {
    this.id = from.id;
    this.payload = from.payload;
    this.type = from.type;
    this.contentType = from.contentType;
    this.source = from.source;
    this.headers = from.headers;
    this.orderingKey = from.orderingKey;
    this.priority = from.priority;
    this.notBefore = from.notBefore;
    this.delay = from.delay;
    this.occurredAt = from.occurredAt;
    this.transport = from.transport;
  }

  /** A message whose type is told by the payload's class. */
  public static Message of(@Nullable String id, Object payload) {
    Builder builder = new Builder();
    builder.id = id;
    builder.payload = payload;
    return new Message(builder);
  }

  /**
   * One without an id, for whoever gives it one: an outbox does, and so does a channel that says so
   * with {@link ChannelBuilder#onMissingId} or takes a business key.
   */
  public static Message of(Object payload) {
    return of(null, payload);
  }

  /**
   * A message that is already bytes, as a transport receives it. They are stored as they are.
   * Accepting decodes them only where the type takes a business key or an ordering key from the
   * payload, and rejects what cannot be decoded then; otherwise the first to decode is an attempt.
   * A missing body (null) and an empty one stay apart.
   *
   * @param type the logical type name
   */
  public static Message encoded(
      @Nullable String id, String type, byte @Nullable [] content, String contentType) {
    Builder builder = new Builder();
    builder.id = id;
    builder.payload = content;
    builder.type = type;
    builder.contentType = contentType;
    return new Message(builder);
  }

  /** Gives it another id. */
  public Message id(@Nullable String id) {
    Builder builder = new Builder(this);
    builder.id = id;
    return new Message(builder);
  }

  /** Where the id is unique. Without it, the channel's name. */
  public Message from(String source) {
    Builder builder = new Builder(this);
    builder.source = source;
    return new Message(builder);
  }

  /** Adds a header; see {@link Headers} for what a value can be. */
  public Message header(String name, @Nullable Object value) {
    return headers(headers.with(name, value));
  }

  /** Replaces all headers. */
  public Message headers(Headers headers) {
    Builder builder = new Builder(this);
    builder.headers = headers;
    return new Message(builder);
  }

  /** Messages with the same ordering key reach each handler one at a time, in order. */
  public Message orderedBy(@Nullable String orderingKey) {
    Builder builder = new Builder(this);
    builder.orderingKey = orderingKey;
    return new Message(builder);
  }

  /**
   * From 0 to 9, the highest first; 4 without it. A step counts like an hour of waiting, so that
   * the low ones have their turn, too: a 9 goes before what came up to five hours earlier, a 0
   * behind what came up to four hours later.
   *
   * <p>It decides when a message is first tried, as far as handlers have more to do than they can.
   * With an ordering key or {@link #notBefore(Instant)} it is ignored, and a retry has none.
   */
  public Message priority(int priority) {
    Builder builder = new Builder(this);
    builder.priority = priority;
    return new Message(builder);
  }

  /**
   * No handler is invoked before this time of the database's clock. Only whether the time has
   * passed already is judged by the clock of the process that accepts.
   */
  public Message notBefore(Instant time) {
    Builder builder = new Builder(this);
    builder.notBefore = time;
    builder.delay = null;
    return new Message(builder);
  }

  /**
   * No handler is invoked before this time has passed since it was accepted; the same as {@link
   * #notBefore(Instant)} with what the clock of the accepting process says then. The last of the
   * two counts.
   */
  public Message after(Duration delay) {
    Builder builder = new Builder(this);
    builder.notBefore = null;
    builder.delay = Objects.requireNonNull(delay, "delay");
    return new Message(builder);
  }

  /** When the producer says it happened. */
  public Message occurredAt(Instant time) {
    Builder builder = new Builder(this);
    builder.occurredAt = time;
    return new Message(builder);
  }

  /** How it came in, shown to people; {@code local} unless a transport says otherwise. */
  public Message transport(String name) {
    Builder builder = new Builder(this);
    builder.transport = name;
    return new Message(builder);
  }

  /** The identity within its source; null is rejected unless the type has a business key. */
  public @Nullable String id() {
    return id;
  }

  /** The object to encode, or for an encoded message its bytes. */
  public @Nullable Object payload() {
    return payload;
  }

  /** The logical type name of an encoded message; otherwise the payload's class tells. */
  public Optional<String> type() {
    return Optional.ofNullable(type);
  }

  /** The media type of an encoded message; otherwise the codec tells. */
  public Optional<String> contentType() {
    return Optional.ofNullable(contentType);
  }

  /** Where the id is unique; empty stands for the channel's name. */
  public Optional<String> source() {
    return Optional.ofNullable(source);
  }

  /** What travels beside the payload. */
  public Headers headers() {
    return headers;
  }

  /** What {@link #orderedBy} was given; empty leaves it to the type's selector. */
  public Optional<String> orderingKey() {
    return Optional.ofNullable(orderingKey);
  }

  /** What {@link #priority(int)} was given, or 4. */
  public int priority() {
    return priority;
  }

  /** What {@link #notBefore(Instant)} was given. */
  public Optional<Instant> notBefore() {
    return Optional.ofNullable(notBefore);
  }

  /** What {@link #after(Duration)} was given. */
  public Optional<Duration> delay() {
    return Optional.ofNullable(delay);
  }

  /** What {@link #occurredAt(Instant)} was given. */
  public Optional<Instant> occurredAt() {
    return Optional.ofNullable(occurredAt);
  }

  /** How it came in, shown to people. */
  public String transport() {
    return transport;
  }

  /** Names the message without showing its content. */
  @Override
  public String toString() {
    return "Message[" + (source == null ? "" : source + "/") + id + "]";
  }

  private static final class Builder {
    @Nullable String id;
    @Nullable Object payload;
    @Nullable String type;
    @Nullable String contentType;
    @Nullable String source;
    Headers headers = Headers.none();
    @Nullable String orderingKey;
    int priority = NORMAL_PRIORITY;
    @Nullable Instant notBefore;
    @Nullable Duration delay;
    @Nullable Instant occurredAt;
    String transport = "local";

    Builder() {}

    Builder(Message from) {
      id = from.id;
      payload = from.payload;
      type = from.type;
      contentType = from.contentType;
      source = from.source;
      headers = from.headers;
      orderingKey = from.orderingKey;
      priority = from.priority;
      notBefore = from.notBefore;
      delay = from.delay;
      occurredAt = from.occurredAt;
      transport = from.transport;
    }
  }
}
