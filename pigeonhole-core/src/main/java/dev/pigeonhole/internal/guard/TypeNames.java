package dev.pigeonhole.internal.guard;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.GuardKey;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The classes that one guard has seen, by the names that keys are scoped by: two classes must not
 * share one.
 */
public final class TypeNames {
  private final Map<String, Class<?>> classes = new ConcurrentHashMap<>();

  /**
   * Remembers the class of a key.
   *
   * @throws ConfigurationException if another class was seen under its name
   */
  public void check(GuardKey key) {
    Class<?> type = key.payloadType();
    if (type == null) {
      return;
    }
    Class<?> known = classes.putIfAbsent(key.type(), type);
    if (known != null && known != type) {
      throw new ConfigurationException(
          ErrorCode.TYPE_NAME_TAKEN,
          ("The type name '%s' stands for %s and for %s, and equal keys of the two would be one."
                  + " Name one of them yourself, with GuardKey.of(handler, \"…\", key).")
              .formatted(key.type(), known.getName(), type.getName()));
    }
  }
}
