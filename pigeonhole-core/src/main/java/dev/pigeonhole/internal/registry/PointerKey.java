package dev.pigeonhole.internal.registry;

import dev.pigeonhole.codec.StructuredCodec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** A key at a place of the content that a JSON pointer (RFC 6901) names. */
public final class PointerKey implements KeyReader {
  private static final Pattern POINTER = Pattern.compile("(?:/(?:[^~/]|~[01])*+)*+");
  private static final Pattern INDEX = Pattern.compile("0|[1-9][0-9]{0,8}");

  private final String pointer;
  private final List<String> steps = new ArrayList<>();

  public PointerKey(String pointer) {
    this.pointer = String.valueOf(pointer);
    String[] escaped = this.pointer.split("/", -1);
    for (int i = 1; i < escaped.length; i++) {
      steps.add(escaped[i].replace("~1", "/").replace("~0", "~"));
    }
  }

  @Override
  public @Nullable String read(KeySubject subject) {
    Object at = subject.content();
    for (String step : steps) {
      at = below(at, step);
    }
    return KeyText.of(at, "The content at '%s'".formatted(Names.shown(pointer)));
  }

  @Override
  public String place() {
    return "the content at '%s'".formatted(Names.shown(pointer));
  }

  private static @Nullable Object below(@Nullable Object at, String step) {
    if (at instanceof Map<?, ?> map) {
      return map.get(step);
    }
    if (at instanceof List<?> list && INDEX.matcher(step).matches()) {
      int index = Integer.parseInt(step);
      return index < list.size() ? list.get(index) : null;
    }
    return null;
  }

  @Override
  public List<String> problems(Class<?> type) {
    return POINTER.matcher(pointer).matches()
        ? List.of()
        : List.of(
            ("The key of %s is to stand at '%s', which is no JSON pointer. Begin with '/', and write"
                    + " '~0' for '~' and '~1' for '/' in a name.")
                .formatted(type.getName(), Names.shown(pointer)));
  }

  @Override
  public List<String> problems(Class<?> type, @Nullable StructuredCodec codec) {
    return codec != null
        ? List.of()
        : List.of(
            ("The key of %s is to stand at '%s' of the content, and its codec cannot look there. Use"
                    + " pigeonhole-jackson or another StructuredCodec.")
                .formatted(type.getName(), Names.shown(pointer)));
  }
}
