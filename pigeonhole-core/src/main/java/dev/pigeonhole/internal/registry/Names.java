package dev.pigeonhole.internal.registry;

import java.util.regex.Pattern;

/** What handler keys, channels and inboxes may be called, and how to show what may not. */
public final class Names {
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._:-]{1,200}");
  private static final int SHOWN = 64;

  public static final String RULE = "Use 1 to 200 letters, digits, '.', '_', '-' or ':'.";

  private Names() {}

  public static boolean valid(String name) {
    return NAME.matcher(name).matches();
  }

  /** Whether people can read it and every database can keep it: not blank, no bad character. */
  public static boolean isText(String value, int longest) {
    return !value.isBlank()
        && value.codePointCount(0, value.length()) <= longest
        && badCharacter(value) < 0;
  }

  /** Whether there is nothing to see in it, spaces of every kind included. */
  public static boolean isBlank(String value) {
    return value
        .codePoints()
        .allMatch(point -> Character.isWhitespace(point) || Character.isSpaceChar(point));
  }

  /** The position of the first control character or half character, or -1. */
  public static int badCharacter(String value) {
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if (Character.isISOControl(c)) {
        return i;
      }
      if (Character.isHighSurrogate(c)
          && i + 1 < value.length()
          && Character.isLowSurrogate(value.charAt(i + 1))) {
        i++;
      } else if (Character.isSurrogate(c)) {
        return i;
      }
    }
    return -1;
  }

  /** A value from outside, made safe for one line of a log: escaped, and cut to 64 characters. */
  public static String shown(String value) {
    StringBuilder out = new StringBuilder();
    int length = 0;
    for (int i = 0; i < value.length() && length < SHOWN; length++) {
      int point = value.codePointAt(i);
      i += Character.charCount(point);
      if (Character.isISOControl(point)
          || Character.getType(point) == Character.FORMAT
          || Character.getType(point) == Character.SURROGATE
          || Character.getType(point) == Character.LINE_SEPARATOR
          || Character.getType(point) == Character.PARAGRAPH_SEPARATOR) {
        out.append(String.format("\\u%04X", point));
      } else {
        out.appendCodePoint(point);
      }
    }
    if (value.codePointCount(0, value.length()) > SHOWN) {
      out.append('…');
    }
    return out.toString();
  }
}
