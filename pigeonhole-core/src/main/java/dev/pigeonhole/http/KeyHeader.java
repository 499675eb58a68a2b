package dev.pigeonhole.http;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.internal.dispatch.Intake;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads a key: the string of a structured field (RFC 8941), in quotes, as the draft wants it; or
 * the bare text that most clients send. Both are the same key.
 */
final class KeyHeader {
  private static final String ONE = "must hold one key, such as \"8e03978e-40d5-43e8\"";

  private KeyHeader() {}

  /** The key; null where there is no such header. */
  static @Nullable String read(List<String> lines) throws KeyRefusedException {
    if (lines.isEmpty()) {
      return null;
    }
    if (lines.size() > 1) {
      throw new KeyRefusedException(ErrorCode.KEY_HEADER_INVALID, ONE + ", and there are several");
    }
    String line = lines.get(0).strip();
    String key = line.startsWith("\"") ? unquoted(line) : bare(line);
    try {
      return Intake.checkId(key);
    } catch (InboxException e) {
      throw new KeyRefusedException(e.code(), why(e.code()));
    }
  }

  /** With a comma it would be what a proxy makes of two headers. */
  private static String bare(String line) throws KeyRefusedException {
    if (line.indexOf(',') >= 0 || line.indexOf('"') >= 0) {
      throw new KeyRefusedException(
          ErrorCode.KEY_HEADER_INVALID, ONE + "; put one with commas into quotes");
    }
    return line;
  }

  private static String unquoted(String line) throws KeyRefusedException {
    StringBuilder key = new StringBuilder();
    for (int i = 1; i < line.length(); i++) {
      char c = line.charAt(i);
      if (c == '"' && i == line.length() - 1) {
        return key.toString();
      }
      if (c == '\\') {
        i++;
        c = i < line.length() ? line.charAt(i) : 0;
        if (c != '"' && c != '\\') {
          throw new KeyRefusedException(
              ErrorCode.KEY_HEADER_INVALID, ONE + "; a backslash stands before \" or \\ only");
        }
      } else if (c == '"') {
        throw new KeyRefusedException(
            ErrorCode.KEY_HEADER_INVALID, ONE + ", and nothing behind its closing quote");
      }
      key.append(c);
    }
    throw new KeyRefusedException(ErrorCode.KEY_HEADER_INVALID, ONE + "; the closing quote misses");
  }

  private static String why(ErrorCode code) {
    return switch (code) {
      case ID_MISSING -> "holds an empty key";
      case ID_BLANK -> "holds a blank key";
      case ID_TOO_LONG -> "holds a key of more than 200 characters";
      case ID_CONTROL_CHARACTER -> "holds a key with a control character";
      default -> "holds a key with half a character";
    };
  }
}
