package dev.pigeonhole.cloudevents;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Headers;
import dev.pigeonhole.Message;
import dev.pigeonhole.cloudevents.Refusal.Place;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.MessageMapper;
import dev.pigeonhole.transport.PlainMapper;
import io.cloudevents.CloudEvent;
import java.time.OffsetDateTime;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Reads and writes CloudEvents 1.0, in binary and in structured mode, as their bindings for AMQP,
 * Kafka and HTTP say. What is no CloudEvent is left to {@linkplain #otherwise another mapper}.
 *
 * <p>An event's id, source, type, time, content type and data are those of the message, and {@code
 * partitionkey} is its ordering key. Everything else that an event says of itself is a header with
 * {@code ce-} before its name, as in {@code ce-subject}, and such headers are written as attributes
 * again. The trace context is in the headers {@code traceparent} and {@code tracestate}.
 *
 * <p>The source is part of what identifies a message. Whoever may send can claim to be any source,
 * so use it among producers that trust each other, or set a source where the transport is set up:
 * that one wins, and the event's own is not kept.
 *
 * <p>Immutable; each step returns a new one.
 *
 * <pre>{@code
 * CloudEventMapper.create().source("/shop").structured()
 * }</pre>
 */
public final class CloudEventMapper implements MessageMapper {
  private static final String PREFIX = "ce-";
  private static final String FAMILY = "application/cloudevents";

  /** Reads and writes all that is not special to an event. */
  private static final PlainMapper PLAIN = MessageMapper.plain();

  private static final PlainMapper ORDERED = PLAIN.orderedByKey();

  /** What a message has a place for, so that a header cannot say otherwise. */
  private static final Set<String> PLACED =
      Set.of(
          Attributes.SPECVERSION,
          Attributes.ID,
          Attributes.SOURCE,
          Attributes.TYPE,
          Attributes.TIME,
          Attributes.DATACONTENTTYPE,
          Attributes.PARTITIONKEY);

  private final boolean structured;
  private final boolean orderedByKey;
  private final @Nullable String source;
  private final MessageMapper otherwise;

  private CloudEventMapper(
      boolean structured, boolean orderedByKey, @Nullable String source, MessageMapper otherwise) {
    this.structured = structured;
    this.orderedByKey = orderedByKey;
    this.source = source;
    this.otherwise = otherwise;
  }

  /** Reads both modes, and takes everything else at its word; writes binary mode. */
  public static CloudEventMapper create() {
    return new CloudEventMapper(false, false, null, MessageMapper.plain());
  }

  /** Writes attributes and data as one JSON document, for hops that would lose headers. */
  public CloudEventMapper structured() {
    return new CloudEventMapper(true, orderedByKey, source, otherwise);
  }

  /**
   * An event without {@code partitionkey} is ordered by {@link Envelope#orderingKey()}: the key of
   * a Kafka record, be it text or not. Without this step it has no order.
   */
  public CloudEventMapper orderedByKey() {
    return new CloudEventMapper(structured, true, source, otherwise);
  }

  /**
   * The source of messages that go out and name none. Without it, an outbox gives them its own
   * name, and elsewhere they cannot go out.
   *
   * @param uri a URI, or a part of one such as {@code /shop/checkout}
   */
  public CloudEventMapper source(String uri) {
    Objects.requireNonNull(uri, "uri");
    return new CloudEventMapper(structured, orderedByKey, uri, otherwise);
  }

  /** What {@link #source(String)} was given. */
  @Override
  public Optional<String> source() {
    return Optional.ofNullable(source);
  }

  /** Reads what is no CloudEvent; without it, {@link MessageMapper#plain()}. */
  public CloudEventMapper otherwise(MessageMapper mapper) {
    Objects.requireNonNull(mapper, "mapper");
    return new CloudEventMapper(structured, orderedByKey, source, mapper);
  }

  @Override
  public Message toMessage(Envelope envelope) {
    Place place = new Place("from", envelope.transport(), envelope.destination());
    Binding binding = Binding.of(envelope.transport());
    String prefix = binding.prefixIn(envelope.headers());
    MediaType format = format(envelope, place);
    if (format == null && prefix == null) {
      return otherwise.toMessage(envelope);
    }
    Attributes attributes = new Attributes(place);
    Map<String, @Nullable Object> headers =
        prefix == null
            ? new LinkedHashMap<>(envelope.headers().asMap())
            : binding.split(envelope.headers(), prefix, attributes);
    if (format != null) { // then attributes among the headers are copies
      return message(
          envelope, StructuredJson.read(envelope.body(), format, new Attributes(place)), headers);
    }
    envelope.contentType().ifPresent(it -> attributes.put(Attributes.DATACONTENTTYPE, it));
    return message(envelope, attributes.event(envelope.body()), headers);
  }

  /** What the body is if it is an event of structured mode, else null. */
  private static @Nullable MediaType format(Envelope envelope, Place place) {
    String contentType = envelope.contentType().orElse("");
    if (!contentType.regionMatches(true, 0, FAMILY, 0, FAMILY.length())) {
      return null;
    }
    MediaType type = MediaType.of(contentType);
    if (type.name().startsWith(FAMILY + "-batch")) {
      throw Refusal.of(
          ErrorCode.EVENT_BATCH,
          place,
          "is a batch of events. Let its producer send them one by one: each is a message of its"
              + " own.");
    }
    if (!type.name().equals(StructuredJson.CONTENT_TYPE)) {
      throw Refusal.of(
          ErrorCode.EVENT_FORMAT_UNKNOWN,
          place,
          "is in the format '%s', which is not read. Let its producer send binary mode, or JSON.",
          type.name());
    }
    return type;
  }

  private Message message(
      Envelope envelope, CloudEvent event, Map<String, @Nullable Object> headers) {
    headers.keySet().removeIf(name -> name.startsWith(PREFIX)); // they would pass for attributes
    Map<String, @Nullable Object> others = Attributes.others(event);
    Object partition = others.remove(Attributes.PARTITIONKEY);
    adoptTrace(others, headers);
    others.forEach((name, value) -> headers.put(PREFIX + name, value));
    OffsetDateTime time = event.getTime();
    Envelope plain =
        envelope.toBuilder()
            .id(event.getId())
            .type(event.getType())
            .key(partition == null ? envelope.key().orElse(null) : partition.toString())
            .contentType(event.getDataContentType())
            .body(event.getData() == null ? null : event.getData().toBytes())
            .headers(Headers.of(headers))
            .sentAt(time == null ? envelope.sentAt().orElse(null) : time.toInstant())
            .build();
    boolean ordered = orderedByKey || partition != null;
    Message message = (ordered ? ORDERED : PLAIN).toMessage(plain);
    return envelope.source().isPresent() ? message : message.from(event.getSource().toString());
  }

  /**
   * The trace of an event is that of the message, unless the transport carries another: then that
   * is the last hop's, and the event's stays what it is, an extension. So does one that is
   * malformed.
   */
  private static void adoptTrace(
      Map<String, @Nullable Object> others, Map<String, @Nullable Object> headers) {
    if (TraceContext.isValid(others.get(TraceContext.PARENT))
        && mayMove(TraceContext.PARENT, others, headers)
        && mayMove(TraceContext.STATE, others, headers)) {
      headers.put(TraceContext.PARENT, others.remove(TraceContext.PARENT));
      if (others.containsKey(TraceContext.STATE)) {
        headers.put(TraceContext.STATE, others.remove(TraceContext.STATE));
      }
    }
  }

  private static boolean mayMove(
      String name, Map<String, @Nullable Object> from, Map<String, @Nullable Object> to) {
    return from.get(name) == null || to.get(name) == null || from.get(name).equals(to.get(name));
  }

  @Override
  public Envelope toEnvelope(Message message, String transport, String destination) {
    Envelope plain = PLAIN.toEnvelope(message, transport, destination);
    Map<String, @Nullable Object> headers = new LinkedHashMap<>();
    CloudEvent event = event(message, plain, headers);
    Envelope.Builder envelope = plain.toBuilder();
    if (structured) {
      envelope.contentType(StructuredJson.CONTENT_TYPE).body(StructuredJson.write(event));
    } else {
      Binding.of(transport).write(event, headers);
    }
    return envelope.headers(Headers.of(headers)).build();
  }

  private CloudEvent event(Message message, Envelope plain, Map<String, @Nullable Object> headers) {
    Place place = new Place("for", plain.transport(), plain.destination());
    String from = message.source().orElse(source);
    if (from == null) {
      throw Refusal.of(
          ErrorCode.EVENT_ATTRIBUTE_MISSING,
          place,
          "has no source, which every CloudEvent needs. Give message '%s' one with .from(…), or all"
              + " that have none with CloudEventMapper.create().source(…).",
          message.id());
    }
    Attributes attributes = new Attributes(place);
    plain
        .headers()
        .asMap()
        .forEach(
            (name, value) -> {
              if (!name.startsWith(PREFIX)) {
                headers.put(name, value);
              } else if (!PLACED.contains(name.substring(PREFIX.length()))) {
                attributes.put(name.substring(PREFIX.length()), value);
              }
            });
    if (attributes.get(TraceContext.PARENT) == null
        && TraceContext.isValid(headers.get(TraceContext.PARENT))) {
      attributes.put(TraceContext.PARENT, headers.get(TraceContext.PARENT));
      attributes.put(TraceContext.STATE, headers.get(TraceContext.STATE));
    }
    attributes.put(Attributes.SPECVERSION, "1.0");
    attributes.put(Attributes.ID, message.id());
    attributes.put(Attributes.SOURCE, from);
    attributes.put(Attributes.TYPE, message.type().orElse(null));
    attributes.put(Attributes.TIME, message.occurredAt().orElse(null));
    attributes.put(Attributes.DATACONTENTTYPE, message.contentType().orElse(null));
    attributes.put(Attributes.PARTITIONKEY, message.orderingKey().orElse(null));
    return attributes.event(plain.body());
  }
}
