package dev.pigeonhole.kafka;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import org.jspecify.annotations.Nullable;

/**
 * Tells bytes that are text from bytes that are not. Kafka knows bytes only, and a lenient decoder
 * would make the same text of different ones.
 */
final class Utf8 {
  private Utf8() {}

  /** The text, or null if these bytes are none. */
  static @Nullable String textOrNull(byte[] bytes) {
    try {
      return UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException e) {
      return null;
    }
  }

  /** The same, but numbers and the like, in which control characters stand, are no text either. */
  static @Nullable String readableOrNull(byte[] bytes) {
    String text = textOrNull(bytes);
    return text != null && text.chars().noneMatch(Utf8::isUnreadable) ? text : null;
  }

  private static boolean isUnreadable(int c) {
    return Character.isISOControl(c) && c != '\t' && c != '\n' && c != '\r';
  }
}
