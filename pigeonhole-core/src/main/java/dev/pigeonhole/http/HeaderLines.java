package dev.pigeonhole.http;

import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The lines of headers by name, in whichever case. */
final class HeaderLines {
  // The tokens of RFC 9110.
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}");
  // A line break would begin another header, or the body.
  private static final Pattern VALUE = Pattern.compile("[^\\x00-\\x08\\x0A-\\x1F\\x7F]*");

  private HeaderLines() {}

  /** Cannot be changed; lines of names that differ by case alone are put together. */
  static Map<String, List<String>> copyOf(Map<String, List<String>> headers) {
    Map<String, List<String>> copy = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    headers.forEach(
        (name, lines) ->
            copy.merge(
                name,
                List.copyOf(lines),
                (a, b) -> Stream.of(a, b).flatMap(List::stream).toList()));
    return Collections.unmodifiableMap(copy);
  }

  /** Refuses what would not arrive as it is. */
  static void check(Map<String, List<String>> headers) {
    headers.forEach(
        (name, lines) -> {
          checkName(name);
          for (String line : lines) {
            if (!VALUE.matcher(line).matches()
                || !StandardCharsets.UTF_8.newEncoder().canEncode(line)) {
              throw new IllegalArgumentException(
                  "the header %s has a character that cannot be sent".formatted(name));
            }
          }
        });
  }

  static String checkName(String name) {
    if (!NAME.matcher(name).matches()) {
      throw new IllegalArgumentException("'%s' cannot be the name of a header".formatted(name));
    }
    return name;
  }
}
