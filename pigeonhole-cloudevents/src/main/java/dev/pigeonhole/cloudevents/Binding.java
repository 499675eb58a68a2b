package dev.pigeonhole.cloudevents;

import dev.pigeonhole.Headers;
import io.cloudevents.CloudEvent;
import io.cloudevents.core.CloudEventUtils;
import io.cloudevents.rw.CloudEventContextWriter;
import java.nio.charset.StandardCharsets;
import java.time.OffsetDateTime;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** How a transport spells the attributes of an event among its headers. */
enum Binding {
  /**
   * Values keep their kind. The binding is written for AMQP 1.0 and wants one of the first two
   * prefixes; on AMQP 0-9-1 the others are seen, too. Also for transports that have no binding.
   */
  AMQP("cloudEvents_") {
    @Override
    List<String> prefixes() {
      return List.of(prefix, "cloudEvents:", "ce-", "ce_");
    }

    @Override
    CloudEventContextWriter writer(Map<String, @Nullable Object> headers) {
      return new NativeWriter(headers, prefix);
    }
  },

  KAFKA("ce_") {
    @Override
    @Nullable Object read(Object value) {
      return value instanceof byte[] bytes ? Texts.decoded(bytes, StandardCharsets.UTF_8) : value;
    }
  },

  HTTP("ce-") {
    @Override
    String folded(String header) {
      return header.toLowerCase(Locale.ROOT);
    }

    @Override
    @Nullable Object read(Object value) {
      return value instanceof String text ? HttpValue.decoded(text) : value;
    }

    @Override
    CloudEventContextWriter writer(Map<String, @Nullable Object> headers) {
      return new TextWriter(headers, prefix) {
        @Override
        public CloudEventContextWriter withContextAttribute(String name, String value) {
          return super.withContextAttribute(name, HttpValue.encoded(value));
        }
      };
    }
  };

  /** Stands before the name of an attribute that is written. */
  final String prefix;

  Binding(String prefix) {
    this.prefix = prefix;
  }

  static Binding of(String transport) {
    return switch (transport) {
      case "kafka" -> KAFKA;
      case "http" -> HTTP;
      default -> AMQP;
    };
  }

  /** What may stand before the name of an attribute that is read. */
  List<String> prefixes() {
    return List.of(prefix);
  }

  /** How a header is called where upper and lower case make no difference. */
  String folded(String header) {
    return header;
  }

  /** The value of an attribute, or null if it should be text and is not. */
  @Nullable Object read(Object value) {
    return value;
  }

  CloudEventContextWriter writer(Map<String, @Nullable Object> headers) {
    return new TextWriter(headers, prefix);
  }

  /**
   * What stands before the attributes among these headers, or null if they are not an event's: one
   * names its version, or at least everything else that an event must have.
   */
  @Nullable String prefixIn(Headers headers) {
    Set<String> names = new HashSet<>();
    headers.asMap().keySet().forEach(name -> names.add(folded(name)));
    for (String each : prefixes()) {
      if (names.contains(each + Attributes.SPECVERSION)
          || (names.contains(each + Attributes.ID)
              && names.contains(each + Attributes.SOURCE)
              && names.contains(each + Attributes.TYPE))) {
        return each;
      }
    }
    return null;
  }

  /**
   * Puts what begins with the prefix into the attributes.
   *
   * @return what does not
   */
  Map<String, @Nullable Object> split(Headers headers, String found, Attributes attributes) {
    Map<String, @Nullable Object> rest = new LinkedHashMap<>();
    headers
        .asMap()
        .forEach(
            (header, value) -> {
              String name = folded(header);
              if (!name.startsWith(found)) {
                rest.put(header, value);
              } else if (value != null) {
                String attribute = name.substring(found.length());
                Object read = read(value);
                if (read == null) {
                  throw attributes.invalid(attribute, value);
                }
                attributes.put(attribute, read);
              }
            });
    return rest;
  }

  /** Adds every attribute but the content type, for which transports have a place. */
  void write(CloudEvent event, Map<String, @Nullable Object> headers) {
    CloudEventContextWriter writer = writer(headers);
    writer.withContextAttribute(Attributes.SPECVERSION, event.getSpecVersion().toString());
    CloudEventUtils.toContextReader(event).readContext(writer);
    headers.remove(prefix + Attributes.DATACONTENTTYPE);
  }

  /** Everything as text, in the form that CloudEvents define for its kind. */
  private static class TextWriter implements CloudEventContextWriter {
    final Map<String, @Nullable Object> headers;
    final String prefix;

    TextWriter(Map<String, @Nullable Object> headers, String prefix) {
      this.headers = headers;
      this.prefix = prefix;
    }

    @Override
    public CloudEventContextWriter withContextAttribute(String name, String value) {
      headers.put(prefix + name, value);
      return this;
    }
  }

  private static final class NativeWriter extends TextWriter {
    NativeWriter(Map<String, @Nullable Object> headers, String prefix) {
      super(headers, prefix);
    }

    /** Deprecated, but the way in which the SDK hands over whole numbers. */
    @Override
    @SuppressWarnings("deprecation")
    public CloudEventContextWriter withContextAttribute(String name, Number value) {
      headers.put(prefix + name, value.longValue());
      return this;
    }

    @Override
    public CloudEventContextWriter withContextAttribute(String name, Boolean value) {
      headers.put(prefix + name, value);
      return this;
    }

    @Override
    public CloudEventContextWriter withContextAttribute(String name, byte[] value) {
      headers.put(prefix + name, value);
      return this;
    }

    /** AMQP 0-9-1 counts whole seconds; and everybody reads {@code time} as text. */
    @Override
    public CloudEventContextWriter withContextAttribute(String name, OffsetDateTime value) {
      if (value.getNano() != 0 || name.equals(Attributes.TIME)) {
        return super.withContextAttribute(name, value);
      }
      headers.put(prefix + name, value.toInstant());
      return this;
    }
  }
}
