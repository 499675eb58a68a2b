package dev.pigeonhole.rabbitmq;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Delivery;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Headers;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.transport.Envelope;
import java.nio.charset.StandardCharsets;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A delivery of AMQP 0-9-1 as an envelope, and an envelope as what is published. */
final class Envelopes {
  /** What a short string of AMQP holds, in bytes. */
  private static final int LONGEST_SHORT_STRING = 255;

  /** The delivery mode of what survives the end of a broker. */
  static final int DURABLE = 2;

  private Envelopes() {}

  /**
   * @throws InboxException if id, type or key are in a header, and are no text there
   */
  static Envelope in(String queue, Delivery delivery) {
    BasicProperties properties = delivery.getProperties();
    Headers all = Fields.in(properties.getHeaders());
    Date timestamp = properties.getTimestamp();
    Envelope.Builder envelope = Envelope.of(Names.TRANSPORT, queue);
    all.asMap().keySet().stream()
        .filter(Names::isTheBrokers)
        .forEach(name -> envelope.property(name, all.get(name)));
    return envelope
        .id(named(properties.getMessageId(), all, Names.ID))
        .type(named(properties.getType(), all, Names.TYPE))
        .key(word(all, Names.KEY))
        .contentType(properties.getContentType())
        .body(body(delivery.getBody(), all))
        .headers(theirs(all))
        .property("exchange", first(all, Names.EXCHANGE, delivery.getEnvelope().getExchange()))
        .property(
            "routing-key", first(all, Names.ROUTING_KEY, delivery.getEnvelope().getRoutingKey()))
        .property("correlation-id", properties.getCorrelationId())
        .property("reply-to", properties.getReplyTo())
        .property("app-id", properties.getAppId())
        .property("user-id", properties.getUserId())
        .property("content-encoding", properties.getContentEncoding())
        .sentAt(timestamp == null ? null : timestamp.toInstant())
        .redelivered(delivery.getEnvelope().isRedeliver())
        .build();
  }

  /**
   * Every message of AMQP has a body; what had none was sent with an empty one and a word of it.
   */
  private static byte @Nullable [] body(byte[] body, Headers headers) {
    return body.length == 0 && Boolean.TRUE.equals(headers.get(Names.NO_BODY)) ? null : body;
  }

  static byte[] bodyOut(Envelope envelope) {
    byte[] body = envelope.body();
    return body == null ? new byte[0] : body;
  }

  /** A longer one than AMQP holds is in a header. */
  private static @Nullable String named(@Nullable String property, Headers headers, String name) {
    String longer = word(headers, name);
    return longer == null ? property : longer;
  }

  /** Text or a whole number. Whoever took anything else for nothing would lose the order by it. */
  private static @Nullable String word(Headers headers, String name) {
    Object value = headers.get(name);
    if (value == null || value instanceof String) {
      return (String) value;
    }
    if (value instanceof Long) {
      return value.toString();
    }
    boolean bytes = value instanceof byte[];
    throw new InboxException(
        bytes ? ErrorCode.ID_INVALID_UNICODE : ErrorCode.HEADER_VALUE_UNSUPPORTED,
        "Header '%s' should be text, and is %s. Let its producer send text, in UTF-8."
            .formatted(
                name, bytes ? "bytes that are none" : "a " + value.getClass().getSimpleName()));
  }

  /** Without ours and the broker's: the same message must look the same when it comes again. */
  private static Headers theirs(Headers all) {
    Map<String, @Nullable Object> rest = new LinkedHashMap<>(all.asMap());
    return rest.keySet().removeIf(name -> Names.isOurs(name) || Names.isTheBrokers(name))
        ? Headers.of(rest)
        : all;
  }

  /** As it came first: the way back from a retry queue goes through no exchange of its own. */
  private static @Nullable String first(Headers headers, String name, @Nullable String now) {
    String text = headers.text(name).orElse(now);
    return text == null || text.isEmpty() ? null : text;
  }

  static BasicProperties out(Envelope envelope) {
    Map<String, @Nullable Object> headers = Fields.out(envelope.headers());
    // Of another message, from which they were copied: at the other end they would count.
    headers.keySet().removeIf(name -> Names.isOurs(name) || Names.isForTheBroker(name));
    String id = shortOrHeader(envelope.id().orElse(null), headers, Names.ID);
    String type = shortOrHeader(envelope.type().orElse(null), headers, Names.TYPE);
    envelope.key().ifPresent(key -> headers.put(Names.KEY, key));
    if (envelope.body() == null) {
      headers.put(Names.NO_BODY, true);
    }
    Headers properties = envelope.properties();
    return new BasicProperties.Builder()
        .messageId(id)
        .type(type)
        .contentType(envelope.contentType().orElse(null))
        .contentEncoding(properties.text("content-encoding").orElse(null))
        .correlationId(properties.text("correlation-id").orElse(null))
        .replyTo(properties.text("reply-to").orElse(null))
        .appId(properties.text("app-id").orElse(null))
        .timestamp(envelope.sentAt().map(Date::from).orElse(null))
        .deliveryMode(DURABLE)
        .headers(headers)
        .build();
  }

  static @Nullable String shortOrHeader(
      @Nullable String text, Map<String, @Nullable Object> headers, String name) {
    if (text == null || text.getBytes(StandardCharsets.UTF_8).length <= LONGEST_SHORT_STRING) {
      return text;
    }
    headers.put(name, text);
    return null;
  }
}
