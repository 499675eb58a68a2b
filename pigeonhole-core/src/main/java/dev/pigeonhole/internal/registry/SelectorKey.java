package dev.pigeonhole.internal.registry;

import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A key that code takes from the payload. */
public final class SelectorKey implements KeyReader {
  private final Class<?> takes;
  private final Function<Object, @Nullable String> selector;

  /**
   * @param takes the class of payloads that the selector takes
   */
  public SelectorKey(Class<?> takes, Function<Object, @Nullable String> selector) {
    this.takes = takes;
    this.selector = selector;
  }

  @Override
  public @Nullable String read(KeySubject subject) {
    Object payload = subject.payload();
    return payload == null ? null : selector.apply(payload);
  }

  @Override
  public List<String> problems(Class<?> type) {
    return takes.isAssignableFrom(type)
        ? List.of()
        : List.of(
            "A key selector takes %s, and %s is none. Give it the class of the messages."
                .formatted(takes.getName(), type.getName()));
  }
}
