package dev.pigeonhole.internal.registry;

import dev.pigeonhole.codec.StructuredCodec;
import java.lang.reflect.RecordComponent;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Records as lines of name and text: enough of a structured codec for tests. It cannot decode. */
public final class LinesCodec implements StructuredCodec {
  @Override
  public String contentType() {
    return "text/x-lines";
  }

  @Override
  public byte[] encode(Object payload) {
    StringBuilder lines = new StringBuilder();
    try {
      for (RecordComponent component : payload.getClass().getRecordComponents()) {
        component.getAccessor().setAccessible(true);
        Object value = component.getAccessor().invoke(payload);
        lines.append(component.getName()).append('=').append(value).append('\n');
      }
    } catch (ReflectiveOperationException e) {
      throw new IllegalArgumentException(e);
    }
    return lines.toString().getBytes(StandardCharsets.UTF_8);
  }

  @Override
  public <T> @Nullable T decode(byte @Nullable [] content, String contentType, Class<T> type) {
    throw new UnsupportedOperationException("a selector wanted the object");
  }

  @Override
  public Map<String, Object> tree(byte[] content, String contentType) {
    Map<String, Object> fields = new LinkedHashMap<>();
    for (String line : new String(content, StandardCharsets.UTF_8).split("\n")) {
      String[] parts = line.split("=", 2);
      fields.put(parts[0], parts[1]);
    }
    return fields;
  }

  @Override
  public boolean mayHave(Class<?> type, String path) {
    return Arrays.stream(type.getRecordComponents()).anyMatch(it -> it.getName().equals(path));
  }
}
