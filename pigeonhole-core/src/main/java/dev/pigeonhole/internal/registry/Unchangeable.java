package dev.pigeonhole.internal.registry;

import java.lang.reflect.RecordComponent;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.time.temporal.Temporal;
import java.time.temporal.TemporalAmount;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import java.util.UUID;

/**
 * Tells which classes can be shared between handlers: numbers, text, times, constants, and records
 * of nothing else. In doubt it says no: a list may be one that can be changed, and a class that is
 * not final may have a child that can.
 */
final class Unchangeable {
  private static final Set<Class<?>> SIMPLE =
      Set.of(
          String.class,
          Boolean.class,
          Character.class,
          Byte.class,
          Short.class,
          Integer.class,
          Long.class,
          Float.class,
          Double.class,
          BigDecimal.class,
          BigInteger.class,
          UUID.class,
          URI.class,
          Locale.class);

  private static final ClassValue<Boolean> KNOWN =
      new ClassValue<>() {
        @Override
        protected Boolean computeValue(Class<?> type) {
          return is(type, new HashSet<>());
        }
      };

  private Unchangeable() {}

  static boolean is(Class<?> type) {
    return KNOWN.get(type);
  }

  private static boolean is(Class<?> type, Set<Class<?>> asked) {
    if (type.isPrimitive() || type.isEnum() || SIMPLE.contains(type) || isTime(type)) {
      return true;
    }
    if (!type.isRecord()) {
      return false;
    }
    if (!asked.add(type)) {
      return true; // decided by whoever asks about it already
    }
    for (RecordComponent component : type.getRecordComponents()) {
      if (!is(component.getType(), asked)) {
        return false;
      }
    }
    return true;
  }

  private static boolean isTime(Class<?> type) {
    return type.getName().startsWith("java.time.")
        && (Temporal.class.isAssignableFrom(type) || TemporalAmount.class.isAssignableFrom(type))
        && !type.isInterface();
  }
}
