package dev.pigeonhole.jackson;

/** Names from outside, made safe for one line of a log. */
final class Shown {
  private static final int LENGTH = 64;

  private Shown() {}

  /** Escaped, and cut to 64 characters. */
  static String escaped(String value) {
    StringBuilder out = new StringBuilder();
    int length = 0;
    for (int i = 0; i < value.length(); length++) {
      if (length == LENGTH) {
        return out.append('…').toString();
      }
      int point = value.codePointAt(i);
      i += Character.charCount(point);
      switch (Character.getType(point)) {
        case Character.CONTROL,
            Character.FORMAT,
            Character.SURROGATE,
            Character.LINE_SEPARATOR,
            Character.PARAGRAPH_SEPARATOR ->
            out.append(String.format("\\u%04X", point));
        default -> out.appendCodePoint(point);
      }
    }
    return out.toString();
  }
}
