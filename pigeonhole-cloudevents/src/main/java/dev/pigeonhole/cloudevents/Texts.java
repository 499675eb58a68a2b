package dev.pigeonhole.cloudevents;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import org.jspecify.annotations.Nullable;

/** Text from bytes and back: exactly, or not at all. */
final class Texts {
  private Texts() {}

  /** Null if these bytes are not in that charset. */
  static @Nullable String decoded(byte[] bytes, Charset charset) {
    try {
      return charset.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException e) {
      return null;
    }
  }

  /** Null if the charset has not all these characters. */
  static byte @Nullable [] encoded(String text, Charset charset) {
    try {
      ByteBuffer buffer = charset.newEncoder().encode(CharBuffer.wrap(text));
      byte[] bytes = new byte[buffer.remaining()];
      buffer.get(bytes);
      return bytes;
    } catch (CharacterCodingException e) {
      return null;
    }
  }
}
