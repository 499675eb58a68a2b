package dev.pigeonhole.internal.guard;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.internal.registry.KeyStrategy;
import dev.pigeonhole.internal.registry.Names;
import dev.pigeonhole.internal.registry.Payloads;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The keys that guards were given, or that the messages they were given name themselves. */
public final class NamedKeys {
  private static final ClassValue<KeyStrategy> STRATEGIES =
      new ClassValue<>() {
        @Override
        protected KeyStrategy computeValue(Class<?> type) {
          return KeyStrategy.of(type);
        }
      };

  private NamedKeys() {}

  /**
   * The key; null where there is none.
   *
   * @throws ConfigurationException if the class of a message says what cannot be
   */
  public static @Nullable String of(GuardKey key, Payloads payloads) {
    Object message = key.message();
    if (message == null) {
      return key.id() == null || Names.isBlank(key.id()) ? null : key.id();
    }
    KeyStrategy strategy = STRATEGIES.get(message.getClass());
    List<Problem> problems =
        Stream.concat(strategy.problems().stream(), strategy.problems(payloads, null).stream())
            .map(text -> new Problem(ErrorCode.BUSINESS_KEY_INVALID, text))
            .toList();
    if (!problems.isEmpty()) {
      throw new ConfigurationException(problems);
    }
    return strategy.key(message, payloads);
  }

  /** What to do about a key that is missing. */
  public static String wayOut(GuardKey key) {
    Object message = key.message();
    if (message == null || STRATEGIES.get(message.getClass()).isPresent()) {
      return "Give one";
    }
    return "%s names none: annotate it with @Idempotent, let it be an IdempotentMessage, or use"
            .formatted(message.getClass().getName())
        + " GuardKey.of(handler, type, key)";
  }
}
