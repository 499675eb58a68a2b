package dev.pigeonhole.internal.registry;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Headers;
import dev.pigeonhole.Idempotent;
import dev.pigeonhole.IdempotentMessage;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.codec.PayloadCodec;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Where the business key of a type comes from, decided once. The first of these that is there: the
 * selector of a handler, the selector of the type, {@link IdempotentMessage}, {@link Idempotent}
 * with a key, {@link Idempotent} without one. Without all of them a message goes by its id.
 */
public final class KeyStrategy {
  private final Class<?> type;
  private final @Nullable KeyReader reader;
  private final List<String> problems;

  private KeyStrategy(Class<?> type, @Nullable KeyReader reader, List<String> problems) {
    this.type = type;
    this.reader = reader;
    this.problems = List.copyOf(problems);
  }

  /** What a class says of itself, for whoever has no channel. */
  public static KeyStrategy of(Class<?> type) {
    return of(type, null, List.of());
  }

  /** For a type whose messages go by their ids, whatever its class says. */
  public static KeyStrategy none(Class<?> type) {
    return new KeyStrategy(type, null, List.of());
  }

  /**
   * @param ofHandler the selector of the only handler; null for none
   * @param ofType the selectors that were given for the type, of which there should be one at most
   */
  public static KeyStrategy of(
      Class<?> type, @Nullable KeyReader ofHandler, List<KeyReader> ofType) {
    List<String> problems = new ArrayList<>();
    if (ofType.size() > 1) {
      problems.add(
          "%s has keyedBy %d times, and one key only. Leave one of them."
              .formatted(type.getName(), ofType.size()));
    }
    KeyReader reader = ofHandler;
    if (reader == null && !ofType.isEmpty()) {
      reader = ofType.get(0);
    }
    if (reader == null) {
      reader = ofClass(type);
    }
    if (reader != null) {
      problems.addAll(reader.problems(type));
    }
    return new KeyStrategy(type, reader, problems);
  }

  private static @Nullable KeyReader ofClass(Class<?> type) {
    if (IdempotentMessage.class.isAssignableFrom(type)) {
      return new SelectorKey(type, it -> ((IdempotentMessage) it).idempotencyKey());
    }
    Idempotent annotation = type.getAnnotation(Idempotent.class);
    if (annotation == null) {
      return null;
    }
    return annotation.key().length > 0
        ? new PropertyKey(type, List.of(annotation.key()), annotation.except().length > 0)
        : new ContentKey(List.of(annotation.except()));
  }

  /** Whether messages of the type have a business key at all. */
  public boolean isPresent() {
    return reader != null;
  }

  /** Whether the key is a hash of the content, so that equal content is one message. */
  public boolean isContent() {
    return reader instanceof ContentKey;
  }

  /** Where it looks, for people; empty where only code knows. */
  public String place() {
    return reader == null ? "" : reader.place();
  }

  /** What is wrong with it, whatever the codec; each with its way out. */
  public List<String> problems() {
    return problems;
  }

  /**
   * What is wrong with it as far as only the codec can tell.
   *
   * @param own the codec of the type; null for that of all
   */
  public List<String> problems(Payloads payloads, @Nullable PayloadCodec own) {
    return reader == null ? List.of() : reader.problems(type, payloads.structured(own));
  }

  /**
   * The key; null where there is none.
   *
   * @throws InboxException with {@code PH-ID-07} if it cannot be told, or with another code if the
   *     content cannot be read
   */
  public @Nullable String key(KeySubject subject) {
    if (reader == null) {
      return null;
    }
    try {
      String key = reader.read(subject);
      return key == null || Names.isBlank(key) ? null : key;
    } catch (InboxException e) {
      throw e;
    } catch (Throwable e) {
      Faults.passOnWhatIsNoMessages(e);
      throw new InboxException(
          ErrorCode.KEY_SELECTOR_FAILED,
          "The key selector of %s threw %s. Make it answer for every message of the type."
              .formatted(type.getName(), e.getClass().getName()),
          e);
    }
  }

  /** The key of a payload that came without a message. */
  public @Nullable String key(Object payload, Payloads payloads) {
    return key(
        new KeySubject() {
          @Override
          public Headers headers() {
            return Headers.none();
          }

          @Override
          public Object payload() {
            return payload;
          }

          @Override
          public @Nullable Object content() {
            return fields();
          }

          @Override
          public @Nullable Object fields() {
            return payloads.tree(payload, null);
          }
        });
  }
}
