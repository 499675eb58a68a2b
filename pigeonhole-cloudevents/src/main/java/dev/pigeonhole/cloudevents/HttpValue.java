package dev.pigeonhole.cloudevents;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/**
 * How the HTTP binding writes text into a header: everything but printable ASCII as {@code %xy}.
 */
final class HttpValue {
  private HttpValue() {}

  static String encoded(String text) {
    StringBuilder out = new StringBuilder(text.length());
    for (byte each : text.getBytes(StandardCharsets.UTF_8)) {
      if (each > ' ' && each < 0x7F && each != '"' && each != '%') {
        out.append((char) each);
      } else {
        out.append(String.format("%%%02X", each & 0xFF));
      }
    }
    return out.toString();
  }

  /**
   * Null if there is no text behind the percent signs. One that begins no sequence stands for
   * itself: there are senders that encode nothing.
   */
  static @Nullable String decoded(String value) {
    String text = unquoted(value.strip());
    if (text.indexOf('%') < 0) {
      return text;
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(text.length());
    for (int i = 0; i < text.length(); ) {
      int octet = octet(text, i);
      int end = octet >= 0 ? i + 3 : text.offsetByCodePoints(i, 1);
      if (octet >= 0) {
        bytes.write(octet);
      } else {
        bytes.writeBytes(text.substring(i, end).getBytes(StandardCharsets.UTF_8));
      }
      i = end;
    }
    return Texts.decoded(bytes.toByteArray(), StandardCharsets.UTF_8);
  }

  /** The byte that is encoded here, or -1. */
  private static int octet(String text, int at) {
    boolean encoded =
        text.charAt(at) == '%'
            && at + 2 < text.length()
            && HexFormat.isHexDigit(text.charAt(at + 1))
            && HexFormat.isHexDigit(text.charAt(at + 2));
    return encoded ? HexFormat.fromHexDigits(text, at + 1, at + 3) : -1;
  }

  /** Earlier versions of the binding put text with blanks into quotes. */
  private static String unquoted(String value) {
    int last = value.length() - 1;
    if (last < 1 || value.charAt(0) != '"' || value.charAt(last) != '"') {
      return value;
    }
    StringBuilder out = new StringBuilder(value.length());
    for (int i = 1; i < last; i++) {
      if (value.charAt(i) == '\\' && i + 1 < last) {
        i++;
      }
      out.append(value.charAt(i));
    }
    return out.toString();
  }
}
