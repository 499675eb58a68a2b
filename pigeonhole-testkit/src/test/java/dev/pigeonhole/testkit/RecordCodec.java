package dev.pigeonhole.testkit;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.codec.CodecException;
import dev.pigeonhole.codec.StructuredCodec;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Records of texts as lines: enough of a codec for tests that need a type of their own. */
final class RecordCodec implements StructuredCodec {

  @Override
  public String contentType() {
    return "text/x-lines";
  }

  @Override
  public byte[] encode(Object payload) {
    StringBuilder lines = new StringBuilder();
    try {
      for (var component : payload.getClass().getRecordComponents()) {
        component.getAccessor().setAccessible(true);
        lines.append(component.getAccessor().invoke(payload)).append('\n');
      }
    } catch (ReflectiveOperationException e) {
      throw new CodecException(ErrorCode.PAYLOAD_UNENCODABLE, "not a record of texts", e);
    }
    return lines.toString().getBytes(StandardCharsets.UTF_8);
  }

  @Override
  public <T> @Nullable T decode(byte @Nullable [] content, String contentType, Class<T> type) {
    if (content == null) {
      return null;
    }
    String[] lines = new String(content, StandardCharsets.UTF_8).split("\n", -1);
    try {
      var constructor = type.getDeclaredConstructors()[0];
      constructor.setAccessible(true);
      Object[] values = Arrays.copyOf(lines, lines.length - 1, Object[].class);
      return type.cast(constructor.newInstance(values));
    } catch (ReflectiveOperationException | IllegalArgumentException e) {
      throw new CodecException(ErrorCode.PAYLOAD_UNDECODABLE, "not such a record", e);
    }
  }

  /** A list: the names of its texts are lost. */
  @Override
  public List<String> tree(byte[] content, String contentType) {
    return new String(content, StandardCharsets.UTF_8).lines().toList();
  }
}
