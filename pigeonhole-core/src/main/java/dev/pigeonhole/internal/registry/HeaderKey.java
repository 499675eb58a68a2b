package dev.pigeonhole.internal.registry;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A key that travels in a header. */
public final class HeaderKey implements KeyReader {
  private final String name;

  public HeaderKey(String name) {
    this.name = name;
  }

  @Override
  public @Nullable String read(KeySubject subject) {
    Object value = subject.headers().get(name);
    String where = "Header '%s'".formatted(Names.shown(name));
    return value instanceof byte[] bytes ? text(bytes, where) : KeyText.of(value, where);
  }

  @Override
  public String place() {
    return "header '%s'".formatted(Names.shown(name));
  }

  /** Some transports have nothing but bytes. */
  private static String text(byte[] bytes, String where) {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException e) {
      throw new InboxException(
          ErrorCode.KEY_SELECTOR_FAILED,
          where + " holds bytes that are not UTF-8, which cannot be a key. Send text in it.",
          e);
    }
  }

  @Override
  public List<String> problems(Class<?> type) {
    return name != null && !name.isEmpty() && Names.badCharacter(name) < 0
        ? List.of()
        : List.of(
            "The key of %s is to stand in the header '%s', which no message can have. Correct it."
                .formatted(type.getName(), Names.shown(String.valueOf(name))));
  }
}
