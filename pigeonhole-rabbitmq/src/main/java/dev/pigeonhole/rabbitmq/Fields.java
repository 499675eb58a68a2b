package dev.pigeonhole.rabbitmq;

import com.rabbitmq.client.LongString;
import dev.pigeonhole.Headers;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Headers as AMQP 0-9-1 knows them, and as we do: what AMQP has no place for becomes text. */
final class Fields {
  /** Far more than an inbox keeps, and far less than a stack holds of what walks through it. */
  static final int DEEPEST = 100;

  private Fields() {}

  /** Whether they are nested so deeply that whoever looks at all of it runs out of stack. */
  static boolean areTooDeep(@Nullable Map<String, Object> table) {
    return table != null && isDeeper(table, DEEPEST + 1);
  }

  private static boolean isDeeper(@Nullable Object value, int levels) {
    Collection<?> inside =
        value instanceof Map<?, ?> table
            ? table.values()
            : value instanceof List<?> list ? list : List.of();
    for (Object each : inside) {
      if (levels == 0 || isDeeper(each, levels - 1)) {
        return true;
      }
    }
    return false;
  }

  static Headers in(@Nullable Map<String, Object> table) {
    return table == null || table.isEmpty() ? Headers.none() : Headers.of(map(table));
  }

  private static Map<String, @Nullable Object> map(Map<?, ?> table) {
    Map<String, @Nullable Object> map = new LinkedHashMap<>();
    table.forEach((name, value) -> map.put(String.valueOf(name), in(value)));
    return map;
  }

  private static @Nullable Object in(@Nullable Object value) {
    if (value instanceof LongString text) {
      return text(text.getBytes());
    }
    if (value instanceof Date date) {
      return date.toInstant();
    }
    if (value instanceof Byte || value instanceof Short || value instanceof Integer) {
      return ((Number) value).longValue();
    }
    if (value instanceof Float number) {
      return number.doubleValue();
    }
    if (value instanceof Map<?, ?> table) {
      return map(table);
    }
    if (value instanceof List<?> list) {
      List<@Nullable Object> all = new ArrayList<>(list.size());
      list.forEach(each -> all.add(in(each)));
      return all;
    }
    return value;
  }

  /** A long string may be any bytes; those that are no text stay bytes. */
  private static Object text(byte[] bytes) {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException e) {
      return bytes;
    }
  }

  static Map<String, @Nullable Object> out(Headers headers) {
    Map<String, @Nullable Object> table = new LinkedHashMap<>();
    headers.asMap().forEach((name, value) -> table.put(name, out(value)));
    return table;
  }

  private static @Nullable Object out(@Nullable Object value) {
    if (value instanceof BigInteger
        || (value instanceof BigDecimal number
            && (number.scale() < 0
                || number.scale() > 255
                || number.unscaledValue().bitLength() > 31))) {
      return value.toString(); // larger than AMQP has a place for
    }
    if (value instanceof Instant instant) {
      return instant.getNano() == 0 && isDate(instant) ? Date.from(instant) : instant.toString();
    }
    if (value instanceof Map<?, ?> map) {
      Map<String, @Nullable Object> table = new LinkedHashMap<>();
      map.forEach((name, each) -> table.put(String.valueOf(name), out(each)));
      return table;
    }
    if (value instanceof List<?> list) {
      List<@Nullable Object> all = new ArrayList<>(list.size());
      list.forEach(each -> all.add(out(each)));
      return all;
    }
    return value;
  }

  /** Dates reach less far than instants. */
  private static boolean isDate(Instant instant) {
    return !instant.isBefore(Instant.ofEpochMilli(Long.MIN_VALUE))
        && !instant.isAfter(Instant.ofEpochMilli(Long.MAX_VALUE));
  }
}
