package dev.pigeonhole.transport;

import dev.pigeonhole.Headers;
import dev.pigeonhole.internal.registry.Hashes;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A message as a transport carries it, whichever that is. What all transports have in some form has
 * a place of its own; the rest of what one knows, such as an exchange or an offset, is among its
 * properties. A {@link MessageMapper} makes a message of it, or makes it of a message.
 *
 * <p>Immutable, but not what it holds: body and header values are not copied.
 */
public final class Envelope {
  private static final int LONGEST_ORDERING_KEY = 200;

  private final String transport;
  private final String destination;
  private final @Nullable String source;
  private final boolean needsSource;
  private final @Nullable String id;
  private final @Nullable String type;
  private final @Nullable String key;
  private final @Nullable String contentType;
  private final byte @Nullable [] body;
  private final Headers headers;
  private final Headers properties;
  private final @Nullable Instant sentAt;
  private final boolean redelivered;

  private Envelope(Builder from) {
    this.transport = from.transport;
    this.destination = from.destination;
    this.source = from.source;
    this.needsSource = from.needsSource;
    this.id = from.id;
    this.type = from.type;
    this.key = from.key;
    this.contentType = from.contentType;
    this.body = from.body;
    this.headers = from.headers;
    this.properties = from.properties.isEmpty() ? Headers.none() : Headers.of(from.properties);
    this.sentAt = from.sentAt;
    this.redelivered = from.redelivered;
  }

  /**
   * Starts an envelope.
   *
   * @param transport {@code rabbitmq}, {@code kafka}, {@code http}
   * @param destination the queue, topic or path it came from, or the exchange, topic or address it
   *     goes to
   */
  public static Builder of(String transport, String destination) {
    return new Builder(transport, destination);
  }

  /** The same, to be changed. */
  public Builder toBuilder() {
    Builder builder = new Builder(transport, destination);
    builder.source = source;
    builder.needsSource = needsSource;
    builder.id = id;
    builder.type = type;
    builder.key = key;
    builder.contentType = contentType;
    builder.body = body;
    builder.headers = headers;
    builder.properties.putAll(properties.asMap());
    builder.sentAt = sentAt;
    builder.redelivered = redelivered;
    return builder;
  }

  /** Which transport carries it; short, for people. */
  public String transport() {
    return transport;
  }

  /** Where it came from, or where it goes, in the transport's own words. */
  public String destination() {
    return destination;
  }

  /**
   * Where its id is unique, as whoever set up the transport has said. It is never read from what
   * came in: a sender could claim to be another one.
   */
  public Optional<String> source() {
    return Optional.ofNullable(source);
  }

  /**
   * Whether its message has to say itself where its id is unique, as a CloudEvent does, or else is
   * refused. The name of the channel, which stands for a source elsewhere, would make one sender of
   * several.
   */
  public boolean needsSource() {
    return needsSource;
  }

  /** What its producer calls it; a transport never makes one up. */
  public Optional<String> id() {
    return Optional.ofNullable(id);
  }

  /** What its producer calls its kind. */
  public Optional<String> type() {
    return Optional.ofNullable(type);
  }

  /** What it belongs to where the transport sorts by that, as Kafka does by the record's key. */
  public Optional<String> key() {
    return Optional.ofNullable(key);
  }

  /**
   * What orders a message of it where its key does: {@link #key()}, or of a key that is no text,
   * which is the property {@code key}, the bytes in hex. One of more than 200 characters is its
   * SHA-256 instead, and a blank one is no order.
   */
  public Optional<String> orderingKey() {
    if (key != null) {
      return Optional.of(key)
          .filter(text -> !text.isBlank())
          .map(
              text ->
                  text.codePointCount(0, text.length()) <= LONGEST_ORDERING_KEY
                      ? text
                      : Hashes.longKey(text.getBytes(StandardCharsets.UTF_8)));
    }
    if (properties.get("key") instanceof byte[] bytes && bytes.length > 0) {
      return Optional.of(
          bytes.length <= LONGEST_ORDERING_KEY / 2
              ? HexFormat.of().formatHex(bytes)
              : Hashes.longKey(bytes));
    }
    return Optional.empty();
  }

  /** The media type of the body. */
  public Optional<String> contentType() {
    return Optional.ofNullable(contentType);
  }

  /** The content, not a copy; null where there is none, which is not the same as empty. */
  public byte @Nullable [] body() {
    return body;
  }

  /** What the producer sent beside the body. */
  public Headers headers() {
    return headers;
  }

  /** What only this transport knows of it, by the transport's own names. */
  public Headers properties() {
    return properties;
  }

  /** When the producer or the broker says that it was sent. */
  public Optional<Instant> sentAt() {
    return Optional.ofNullable(sentAt);
  }

  /** Whether the transport knows that it has delivered it before; false proves nothing. */
  public boolean redelivered() {
    return redelivered;
  }

  /** Names it without showing its content. */
  @Override
  public String toString() {
    return "Envelope[" + transport + ":" + destination + (id == null ? "" : "/" + id) + "]";
  }

  /** Collects the parts of one envelope. For one thread. */
  public static final class Builder {
    private final String transport;
    private final String destination;
    private final Map<String, @Nullable Object> properties = new LinkedHashMap<>();
    private @Nullable String source;
    private boolean needsSource;
    private @Nullable String id;
    private @Nullable String type;
    private @Nullable String key;
    private @Nullable String contentType;
    private byte @Nullable [] body;
    private Headers headers = Headers.none();
    private @Nullable Instant sentAt;
    private boolean redelivered;

    private Builder(String transport, String destination) {
      this.transport = transport;
      this.destination = destination;
    }

    /** See {@link Envelope#source()}. */
    public Builder source(@Nullable String source) {
      this.source = source;
      return this;
    }

    /** See {@link Envelope#needsSource()}. */
    public Builder needsSource(boolean needsSource) {
      this.needsSource = needsSource;
      return this;
    }

    /** See {@link Envelope#id()}. */
    public Builder id(@Nullable String id) {
      this.id = id;
      return this;
    }

    /** See {@link Envelope#type()}. */
    public Builder type(@Nullable String type) {
      this.type = type;
      return this;
    }

    /** See {@link Envelope#key()}. */
    public Builder key(@Nullable String key) {
      this.key = key;
      return this;
    }

    /** See {@link Envelope#contentType()}. */
    public Builder contentType(@Nullable String contentType) {
      this.contentType = contentType;
      return this;
    }

    /** See {@link Envelope#body()}. */
    public Builder body(byte @Nullable [] body) {
      this.body = body;
      return this;
    }

    /** Replaces all headers. */
    public Builder headers(Headers headers) {
      this.headers = headers;
      return this;
    }

    /** Adds a property; without a value, nothing. */
    public Builder property(String name, @Nullable Object value) {
      if (value != null) {
        properties.put(name, value);
      }
      return this;
    }

    /** See {@link Envelope#sentAt()}. */
    public Builder sentAt(@Nullable Instant time) {
      this.sentAt = time;
      return this;
    }

    /** See {@link Envelope#redelivered()}. */
    public Builder redelivered(boolean redelivered) {
      this.redelivered = redelivered;
      return this;
    }

    /** The envelope. */
    public Envelope build() {
      return new Envelope(this);
    }
  }
}
