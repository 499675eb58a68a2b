package dev.pigeonhole.kafka;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Headers;
import dev.pigeonhole.PoisonException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.jspecify.annotations.Nullable;

/**
 * Headers of records as ours, and back, byte for byte: text in UTF-8 is text, everything else is
 * bytes, null is null, and a name that is there several times has a list of its values, in order.
 */
final class HeaderValues {
  private HeaderValues() {}

  static Map<String, @Nullable Object> read(Iterable<Header> headers) {
    Map<String, List<@Nullable Object>> all = new LinkedHashMap<>();
    for (Header header : headers) {
      all.computeIfAbsent(header.key(), name -> new ArrayList<>(1)).add(value(header.value()));
    }
    Map<String, @Nullable Object> read = new LinkedHashMap<>();
    all.forEach((name, values) -> read.put(name, values.size() == 1 ? values.get(0) : values));
    return read;
  }

  private static @Nullable Object value(byte @Nullable [] bytes) {
    if (bytes == null) {
      return null;
    }
    String text = Utf8.readableOrNull(bytes);
    return text == null ? bytes : text;
  }

  /**
   * Numbers, booleans and times go as text, for Kafka has no types.
   *
   * @throws PoisonException with {@code PH-HDR-06} for a map, or a list in a list
   */
  static RecordHeaders write(Headers headers) {
    RecordHeaders written = new RecordHeaders();
    headers
        .asMap()
        .forEach(
            (name, value) -> {
              if (value instanceof List<?> values) {
                values.forEach(each -> written.add(name, bytes(name, each)));
              } else {
                written.add(name, bytes(name, value));
              }
            });
    return written;
  }

  private static byte @Nullable [] bytes(String name, @Nullable Object value) {
    if (value == null) {
      return null;
    }
    if (value instanceof byte[] bytes) {
      return bytes;
    }
    if (value instanceof String
        || value instanceof Number
        || value instanceof Boolean
        || value instanceof Instant) {
      return value.toString().getBytes(UTF_8);
    }
    throw new PoisonException(
        ErrorCode.HEADER_VALUE_UNSUPPORTED,
        "Header '%s' is a %s, which Kafka cannot carry. Send text, or put it into the body."
            .formatted(name, value.getClass().getSimpleName()),
        null);
  }
}
