package dev.pigeonhole;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What travels beside the payload, in the order it was set. Values are text, whole and decimal
 * numbers, booleans, instants, bytes, null, and lists and maps of these; each comes back as what it
 * was.
 *
 * <p>Immutable, but not what it holds: bytes, lists and maps are not copied. Leave them alone until
 * {@code accept} has answered.
 */
public final class Headers {
  private static final Headers NONE = new Headers(Map.of());

  private final Map<String, @Nullable Object> values;

  private Headers(Map<String, @Nullable Object> values) {
    this.values = values;
  }

  /** No headers. */
  public static Headers none() {
    return NONE;
  }

  /** These headers in a map of its own; the values are the same objects. */
  public static Headers of(Map<String, ? extends @Nullable Object> values) {
    return new Headers(Collections.unmodifiableMap(new LinkedHashMap<>(values)));
  }

  /** The same headers with one more, or one replaced. */
  public Headers with(String name, @Nullable Object value) {
    Map<String, @Nullable Object> copy = new LinkedHashMap<>(values);
    copy.put(name, value);
    return new Headers(Collections.unmodifiableMap(copy));
  }

  /** The value if it is there and is text. */
  public Optional<String> text(String name) {
    return values.get(name) instanceof String text ? Optional.of(text) : Optional.empty();
  }

  /** The value as it was set, or null. */
  public @Nullable Object get(String name) {
    return values.get(name);
  }

  /** Everything, unmodifiable, in order. */
  public Map<String, @Nullable Object> asMap() {
    return values;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof Headers headers && values.equals(headers.values);
  }

  @Override
  public int hashCode() {
    return values.hashCode();
  }

  @Override
  public String toString() {
    return values.keySet().toString();
  }
}
