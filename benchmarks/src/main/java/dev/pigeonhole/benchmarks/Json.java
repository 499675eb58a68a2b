package dev.pigeonhole.benchmarks;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import org.jspecify.annotations.Nullable;

/** Maps, lists, texts and numbers as JSON. What is absent or no number is null. */
final class Json {

  private Json() {}

  static String of(@Nullable Object value) {
    StringBuilder json = new StringBuilder();
    write(json, value);
    return json.toString();
  }

  private static void write(StringBuilder json, @Nullable Object value) {
    if (value instanceof Map<?, ?> map) {
      object(json, map);
    } else if (value instanceof List<?> list) {
      array(json, list);
    } else if (value instanceof Optional<?> optional) {
      write(json, optional.orElse(null));
    } else if (value instanceof OptionalDouble optional) {
      number(json, optional.orElse(Double.NaN));
    } else if (value instanceof Double number) {
      number(json, number);
    } else if (value == null || value instanceof Number || value instanceof Boolean) {
      json.append(value);
    } else {
      text(json, value.toString());
    }
  }

  private static void object(StringBuilder json, Map<?, ?> map) {
    json.append('{');
    Iterator<? extends Map.Entry<?, ?>> entries = map.entrySet().iterator();
    while (entries.hasNext()) {
      Map.Entry<?, ?> entry = entries.next();
      text(json, String.valueOf(entry.getKey()));
      json.append(':');
      write(json, entry.getValue());
      if (entries.hasNext()) {
        json.append(',');
      }
    }
    json.append('}');
  }

  private static void array(StringBuilder json, List<?> list) {
    json.append('[');
    for (int i = 0; i < list.size(); i++) {
      json.append(i == 0 ? "" : ",");
      write(json, list.get(i));
    }
    json.append(']');
  }

  /** Four places behind the point tell more than was measured. */
  private static void number(StringBuilder json, double number) {
    if (Double.isNaN(number) || Double.isInfinite(number)) {
      json.append("null");
    } else {
      BigDecimal rounded = BigDecimal.valueOf(number).setScale(4, RoundingMode.HALF_EVEN);
      json.append(rounded.stripTrailingZeros().toPlainString());
    }
  }

  private static void text(StringBuilder json, String text) {
    json.append('"');
    text.chars()
        .forEach(
            c -> {
              if (c == '"' || c == '\\') {
                json.append('\\').append((char) c);
              } else if (c < ' ') {
                json.append(String.format(Locale.ROOT, "\\u%04x", c));
              } else {
                json.append((char) c);
              }
            });
    json.append('"');
  }
}
