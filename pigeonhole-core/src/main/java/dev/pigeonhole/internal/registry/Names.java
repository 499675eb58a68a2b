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
