package dev.pigeonhole.internal.registry;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.time.Instant;
import java.time.temporal.TemporalAccessor;
import java.time.temporal.TemporalAmount;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.stream.BaseStream;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Values as texts that stand for them in every process and every version: the text of a number does
 * not depend on its class, that of an enum not on what it prints. What has no such text is no key.
 */
final class KeyText {
  private static final Set<Class<?>> PLAIN =
      Set.of(
          String.class,
          Boolean.class,
          Character.class,
          Byte.class,
          Short.class,
          Integer.class,
          Long.class,
          BigInteger.class,
          Float.class,
          Double.class,
          BigDecimal.class,
          UUID.class,
          URI.class,
          Instant.class);

  /** Longer ones are no keys anyway, and 1e999999999 has too many digits to write. */
  private static final int MOST_ZEROS = 200;

  private KeyText() {}

  /** Whether a property that is declared so can hold a key; true where only the value can tell. */
  static boolean mayBe(Class<?> declared) {
    if (declared.isInterface()) {
      return !Iterable.class.isAssignableFrom(declared)
          && !Map.class.isAssignableFrom(declared)
          && !Iterator.class.isAssignableFrom(declared)
          && !BaseStream.class.isAssignableFrom(declared);
    }
    return declared.isPrimitive()
        || Enum.class.isAssignableFrom(declared)
        || declared == Optional.class
        || isPlain(declared)
        || PLAIN.stream().anyMatch(declared::isAssignableFrom);
  }

  private static boolean isPlain(Class<?> type) {
    return PLAIN.contains(type)
        || (type.getName().startsWith("java.time.")
            && (TemporalAccessor.class.isAssignableFrom(type)
                || TemporalAmount.class.isAssignableFrom(type)));
  }

  /**
   * The text of a value; null for null.
   *
   * @param where begins the sentence that complains of a value without a text
   */
  static @Nullable String of(@Nullable Object value, Object where) {
    if (value == null) {
      return null;
    }
    if (value instanceof Optional<?> optional) {
      return of(optional.orElse(null), where);
    }
    if (value instanceof Enum<?> constant) {
      return constant.name();
    }
    if (value instanceof BigDecimal number) {
      return decimal(number);
    }
    if (value instanceof Double || value instanceof Float) {
      double number = ((Number) value).doubleValue();
      return Double.isFinite(number) ? decimal(new BigDecimal(value.toString())) : value.toString();
    }
    if (isPlain(value.getClass())) {
      return value.toString();
    }
    throw new InboxException(
        ErrorCode.KEY_SELECTOR_FAILED,
        ("%s holds a %s, which cannot be a key. Let it hold a text, a number, a boolean, an enum, a"
                + " UUID, a URI or a time.")
            .formatted(where, value.getClass().getTypeName()));
  }

  /** By its value: 1, 1.0 and 1.00 are one key. */
  private static String decimal(BigDecimal number) {
    BigDecimal stripped = number.stripTrailingZeros();
    return Math.abs((long) stripped.scale()) <= MOST_ZEROS
        ? stripped.toPlainString()
        : stripped.toString();
  }

  /** Several as one, so that ("a", "bc") and ("ab", "c") stay apart, and ("a|b", "c") as well. */
  static String joined(List<String> parts) {
    return parts.size() == 1
        ? parts.get(0)
        : parts.stream()
            .map(part -> part.replace("\\", "\\\\").replace("|", "\\|"))
            .collect(Collectors.joining("|"));
  }
}
