package dev.pigeonhole.transport;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Headers;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Takes envelopes at their word: id is id, type is type, headers are headers, and when it was sent
 * is when it occurred. What a producer has put elsewhere can be fetched from there.
 *
 * <p>Properties become headers with the transport's name before theirs, as in {@code
 * rabbitmq.exchange}, and such headers become properties again on the way out. A producer's own
 * header of such a name is dropped.
 *
 * <p>Immutable; each step returns a new one.
 *
 * <pre>{@code
 * MessageMapper.plain().type("order.placed").idFrom("x-order-event").orderedByHeader("customer")
 * }</pre>
 */
public final class PlainMapper implements MessageMapper {
  static final PlainMapper INSTANCE = new PlainMapper(new Choices());

  private static final int MOST_SHOWN = 32;

  private final @Nullable String idHeader;
  private final @Nullable String sourceHeader;
  private final @Nullable String typeHeader;
  private final @Nullable String fixedType;
  private final @Nullable String fixedContentType;
  private final @Nullable String orderHeader;
  private final boolean orderedByKey;

  private PlainMapper(Choices from) {
    this.idHeader = from.idHeader;
    this.sourceHeader = from.sourceHeader;
    this.typeHeader = from.typeHeader;
    this.fixedType = from.fixedType;
    this.fixedContentType = from.fixedContentType;
    this.orderHeader = from.orderHeader;
    this.orderedByKey = from.orderedByKey;
  }

  /** The id is in this header, and nowhere else. */
  public PlainMapper idFrom(String header) {
    Choices choices = new Choices(this);
    choices.idHeader = Objects.requireNonNull(header, "header");
    return new PlainMapper(choices);
  }

  /**
   * Where the id is unique is in this header. Whoever may send can then claim to be any source, so
   * use it only among producers that trust each other. Without it, or without the header, what the
   * transport was told, or else the channel's name.
   */
  public PlainMapper sourceFrom(String header) {
    Choices choices = new Choices(this);
    choices.sourceHeader = Objects.requireNonNull(header, "header");
    return new PlainMapper(choices);
  }

  /** The type's name is in this header, and nowhere else. */
  public PlainMapper typeFrom(String header) {
    Choices choices = new Choices(this);
    choices.typeHeader = Objects.requireNonNull(header, "header");
    return new PlainMapper(choices);
  }

  /** The type of what names none. */
  public PlainMapper type(String name) {
    Choices choices = new Choices(this);
    choices.fixedType = Objects.requireNonNull(name, "name");
    return new PlainMapper(choices);
  }

  /** The media type of what names none; without it, bytes of no known kind. */
  public PlainMapper contentType(String mediaType) {
    Choices choices = new Choices(this);
    choices.fixedContentType = Objects.requireNonNull(mediaType, "mediaType");
    return new PlainMapper(choices);
  }

  /** The ordering key is in this header; what does not have it has no order. */
  public PlainMapper orderedByHeader(String header) {
    Choices choices = new Choices(this);
    choices.orderHeader = Objects.requireNonNull(header, "header");
    choices.orderedByKey = false;
    return new PlainMapper(choices);
  }

  /**
   * The ordering key is {@link Envelope#orderingKey()}: the key of a Kafka record, be it text or
   * not.
   */
  public PlainMapper orderedByKey() {
    Choices choices = new Choices(this);
    choices.orderHeader = null;
    choices.orderedByKey = true;
    return new PlainMapper(choices);
  }

  @Override
  public Message toMessage(Envelope envelope) {
    String id = idHeader == null ? envelope.id().orElse(null) : word(envelope, idHeader);
    Message message =
        Message.encoded(id, type(envelope), envelope.body(), contentType(envelope))
            .headers(withProperties(envelope))
            .orderedBy(order(envelope))
            .transport(envelope.transport());
    String source = sourceHeader == null ? null : word(envelope, sourceHeader);
    if (source == null) {
      source = envelope.source().orElse(null);
    }
    if (source != null) {
      message = message.from(source);
    }
    return envelope.sentAt().map(message::occurredAt).orElse(message);
  }

  private String type(Envelope envelope) {
    String named = typeHeader == null ? envelope.type().orElse(null) : word(envelope, typeHeader);
    if (named != null && !named.isEmpty()) {
      return named;
    }
    if (fixedType == null) {
      throw new InboxException(
          ErrorCode.TYPE_MISSING,
          ("What came from %s:%s names no type%s. Let its producer send one, or say what it is with"
                  + " .mappedBy(MessageMapper.plain().type(\"…\")).")
              .formatted(
                  envelope.transport(),
                  envelope.destination(),
                  typeHeader == null ? "" : " in header '" + typeHeader + "'"));
    }
    return fixedType;
  }

  private String contentType(Envelope envelope) {
    return envelope
        .contentType()
        .filter(it -> !it.isEmpty())
        .orElse(fixedContentType == null ? "application/octet-stream" : fixedContentType);
  }

  private @Nullable String order(Envelope envelope) {
    if (orderedByKey) {
      return envelope.orderingKey().orElse(null);
    }
    return orderHeader == null ? null : word(envelope, orderHeader);
  }

  /** A producer's header that looks like a property would be one on the way out. */
  private static Headers withProperties(Envelope envelope) {
    String own = envelope.transport() + ".";
    Map<String, @Nullable Object> properties = envelope.properties().asMap();
    Map<String, @Nullable Object> headers = envelope.headers().asMap();
    if (properties.isEmpty() && headers.keySet().stream().noneMatch(it -> it.startsWith(own))) {
      return envelope.headers();
    }
    Map<String, @Nullable Object> all = new LinkedHashMap<>(headers);
    all.keySet().removeIf(name -> name.startsWith(own));
    properties.forEach((name, value) -> all.put(own + name, value));
    return Headers.of(all);
  }

  /** Text or a whole number; bytes that are no text would make two of them look the same. */
  private static @Nullable String word(Envelope envelope, String name) {
    Object value = envelope.headers().get(name);
    if (value == null || value instanceof String) {
      return (String) value;
    }
    if (value instanceof Long || value instanceof Integer || value instanceof Short) {
      return value.toString();
    }
    throw new InboxException(
        value instanceof byte[] ? ErrorCode.ID_INVALID_UNICODE : ErrorCode.HEADER_VALUE_UNSUPPORTED,
        "Header '%s' of what came from %s:%s should be text, and is %s. Send text, in UTF-8."
            .formatted(
                name,
                envelope.transport(),
                envelope.destination(),
                value instanceof byte[] bytes
                    ? "the bytes "
                        + HexFormat.of().formatHex(bytes, 0, Math.min(bytes.length, MOST_SHOWN))
                    : "a " + value.getClass().getSimpleName()));
  }

  @Override
  public Envelope toEnvelope(Message message, String transport, String destination) {
    String own = transport + ".";
    Map<String, @Nullable Object> headers = new LinkedHashMap<>();
    Envelope.Builder envelope = Envelope.of(transport, destination);
    message
        .headers()
        .asMap()
        .forEach(
            (name, value) -> {
              if (name.startsWith(own)) {
                envelope.property(name.substring(own.length()), value);
              } else {
                headers.put(name, value);
              }
            });
    putUnlessNull(headers, idHeader, message.id());
    putUnlessNull(headers, sourceHeader, message.source().orElse(null));
    putUnlessNull(headers, typeHeader, message.type().orElse(null));
    putUnlessNull(headers, orderHeader, message.orderingKey().orElse(null));
    return envelope
        .id(message.id())
        .type(message.type().orElse(null))
        .key(message.orderingKey().orElse(null))
        .contentType(message.contentType().orElse(null))
        .body((byte[]) message.payload())
        .headers(Headers.of(headers))
        .sentAt(message.occurredAt().orElse(null))
        .build();
  }

  private static void putUnlessNull(
      Map<String, @Nullable Object> headers, @Nullable String name, @Nullable String value) {
    if (name != null && value != null) {
      headers.put(name, value);
    }
  }

  private static final class Choices {
    @Nullable String idHeader;
    @Nullable String sourceHeader;
    @Nullable String typeHeader;
    @Nullable String fixedType;
    @Nullable String fixedContentType;
    @Nullable String orderHeader;
    boolean orderedByKey;

    Choices() {}

    Choices(PlainMapper from) {
      idHeader = from.idHeader;
      sourceHeader = from.sourceHeader;
      typeHeader = from.typeHeader;
      fixedType = from.fixedType;
      fixedContentType = from.fixedContentType;
      orderHeader = from.orderHeader;
      orderedByKey = from.orderedByKey;
    }
  }
}
