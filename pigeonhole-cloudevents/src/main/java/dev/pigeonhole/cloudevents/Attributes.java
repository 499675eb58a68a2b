package dev.pigeonhole.cloudevents;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Headers;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.cloudevents.Refusal.Place;
import io.cloudevents.CloudEvent;
import io.cloudevents.SpecVersion;
import io.cloudevents.core.builder.CloudEventBuilder;
import io.cloudevents.rw.CloudEventRWException;
import java.net.URI;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The attributes of one event by name, and what makes an event of them. Values are of the kinds
 * that {@link Headers} know; text may stand for any of them.
 */
final class Attributes {
  static final String SPECVERSION = "specversion";
  static final String ID = "id";
  static final String SOURCE = "source";
  static final String TYPE = "type";
  static final String TIME = "time";
  static final String DATACONTENTTYPE = "datacontenttype";
  static final String PARTITIONKEY = "partitionkey";

  private static final List<String> REQUIRED = List.of(SPECVERSION, ID, SOURCE, TYPE);
  private static final String VERSION = SpecVersion.V1.toString();
  private static final Pattern NAME = Pattern.compile("(?!data$)[a-z0-9]+");

  private final Place place;
  private final Map<String, Object> values = new HashMap<>();

  Attributes(Place place) {
    this.place = place;
  }

  /** Without a value it is as if it was not there. */
  void put(String name, @Nullable Object value) {
    if (value != null) {
      values.put(name, value);
    }
  }

  @Nullable Object get(String name) {
    return values.get(name);
  }

  CloudEvent event(byte @Nullable [] data) {
    checkRequired();
    CloudEventBuilder builder = CloudEventBuilder.v1();
    values.forEach(
        (name, value) -> {
          if (!name.equals(SPECVERSION)) {
            set(builder, name, value);
          }
        });
    return data == null ? builder.build() : builder.withData(data).build();
  }

  private void checkRequired() {
    for (String name : REQUIRED) {
      Object value = values.get(name);
      if (value == null || value.equals("")) {
        throw refusal(
            ErrorCode.EVENT_ATTRIBUTE_MISSING,
            "has no attribute '%s'. Every CloudEvent has specversion, id, source and type, none of"
                + " them empty.",
            name);
      }
    }
    if (!VERSION.equals(values.get(SPECVERSION))) {
      throw refusal(
          ErrorCode.EVENT_VERSION_UNKNOWN,
          "follows version '%s' of CloudEvents, and only '1.0' is read. Let its producer send that.",
          values.get(SPECVERSION));
    }
  }

  private void set(CloudEventBuilder builder, String name, Object value) {
    if (!NAME.matcher(name).matches()) {
      throw refusal(
          ErrorCode.EVENT_ATTRIBUTE_NAME,
          "has an attribute that is called '%s'. Use lower-case letters and digits, and not"
              + " 'data'.",
          name);
    }
    try {
      if (value instanceof String text) {
        builder.withContextAttribute(name, text);
      } else if (value instanceof Boolean flag) {
        builder.withContextAttribute(name, flag);
      } else if (value instanceof byte[] bytes && !name.equals(PARTITIONKEY)) {
        builder.withContextAttribute(name, bytes);
      } else if (value instanceof Instant instant) {
        builder.withContextAttribute(name, instant.atOffset(ZoneOffset.UTC));
      } else if (value instanceof Number number && isInteger(number)) {
        builder.withContextAttribute(name, Integer.valueOf(number.intValue()));
      } else {
        throw invalid(name, value);
      }
    } catch (CloudEventRWException e) {
      throw invalid(name, value);
    }
  }

  private static boolean isInteger(Number number) {
    return (number instanceof Byte
            || number instanceof Short
            || number instanceof Integer
            || number instanceof Long)
        && number.longValue() == number.intValue();
  }

  InboxException invalid(String name, Object value) {
    return refusal(
        ErrorCode.EVENT_ATTRIBUTE_INVALID,
        "has an attribute '%s' that is the %s '%s'. Attributes are text in UTF-8, booleans, whole"
            + " numbers of 32 bits, bytes or times; 'source' and 'dataschema' are URIs, and 'time'"
            + " is one as in 2026-11-17T09:30:00Z.",
        name,
        value.getClass().getSimpleName(),
        value instanceof byte[] bytes ? HexFormat.of().formatHex(bytes) : value);
  }

  InboxException refusal(ErrorCode code, String text, @Nullable Object... values) {
    return Refusal.of(code, place, text, values);
  }

  /** What has no place of its own in a message, as headers hold it. */
  static Map<String, @Nullable Object> others(CloudEvent event) {
    Map<String, @Nullable Object> others = new HashMap<>();
    if (event.getSubject() != null) {
      others.put("subject", event.getSubject());
    }
    if (event.getDataSchema() != null) {
      others.put("dataschema", event.getDataSchema().toString());
    }
    for (String name : event.getExtensionNames()) {
      others.put(name, header(event.getExtension(name)));
    }
    return others;
  }

  private static @Nullable Object header(@Nullable Object extension) {
    if (extension instanceof OffsetDateTime time) {
      return time.toInstant();
    }
    return extension instanceof URI uri ? uri.toString() : extension;
  }
}
