package dev.pigeonhole.internal.registry;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Content in the one form that is hashed. It must never change: hashes of stored messages are
 * compared with those of every later version. It is JSON of ASCII without white space. Fields are
 * sorted, those that are null are left out, so that a field that is added later changes no hash
 * where it is not used. Numbers go by their value: 1, 1.0 and 1e0 are one.
 */
final class CanonicalContent {
  private CanonicalContent() {}

  /**
   * @param tree maps, lists, texts, numbers, booleans and null
   * @param except paths of fields to leave out
   */
  static byte[] of(@Nullable Object tree, List<String> except) {
    StringBuilder out = new StringBuilder(256);
    write(out, tree, except);
    return out.toString().getBytes(StandardCharsets.US_ASCII);
  }

  private static void write(StringBuilder out, @Nullable Object value, List<String> except) {
    if (value == null || value instanceof Boolean) {
      out.append(value);
    } else if (value instanceof String text) {
      write(out, text);
    } else if (value instanceof Number number) {
      out.append(new BigDecimal(number.toString()).stripTrailingZeros());
    } else if (value instanceof Map<?, ?> map) {
      write(out, map, except);
    } else if (value instanceof List<?> list) {
      write(out, list, except);
    } else {
      throw new IllegalStateException(
          "the codec has answered a " + value.getClass().getName() + " in a tree");
    }
  }

  private static void write(StringBuilder out, Map<?, ?> map, List<String> except) {
    TreeMap<String, Object> sorted = new TreeMap<>();
    map.forEach(
        (name, value) -> {
          if (value != null && !except.contains(name)) {
            sorted.put((String) name, value);
          }
        });
    char next = '{';
    for (Map.Entry<String, Object> field : sorted.entrySet()) {
      out.append(next);
      write(out, field.getKey());
      out.append(':');
      write(out, field.getValue(), below(field.getKey(), except));
      next = ',';
    }
    out.append(sorted.isEmpty() ? "{}" : "}");
  }

  private static void write(StringBuilder out, List<?> list, List<String> except) {
    char next = '[';
    for (Object each : list) {
      out.append(next);
      write(out, each, except);
      next = ',';
    }
    out.append(list.isEmpty() ? "[]" : "]");
  }

  private static List<String> below(String name, List<String> paths) {
    List<String> below = new ArrayList<>();
    for (String path : paths) {
      if (path.startsWith(name + ".")) {
        below.add(path.substring(name.length() + 1));
      }
    }
    return below;
  }

  /** Half characters, which have no bytes, stay apart too. */
  private static void write(StringBuilder out, String text) {
    out.append('"');
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c < ' ' || c > '~' || c == '"' || c == '\\') {
        out.append(String.format("\\u%04x", (int) c));
      } else {
        out.append(c);
      }
    }
    out.append('"');
  }
}
