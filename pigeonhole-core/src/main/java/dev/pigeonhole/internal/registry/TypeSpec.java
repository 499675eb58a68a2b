package dev.pigeonhole.internal.registry;

import dev.pigeonhole.OnMissingKey;
import dev.pigeonhole.codec.PayloadCodec;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A message type of a channel as it was declared.
 *
 * @param name the logical name that new messages are stored under
 * @param formerNames names that stored messages may still carry
 * @param key where its business key comes from, if it has one; otherwise the message's own id
 *     counts
 * @param onMissingKey null where nothing was said: reject
 * @param orderingKey selects the ordering key; null for the message's own
 * @param codec null for the inbox's
 * @param upcasts older forms of it
 * @param keep its own times of retention
 */
public record TypeSpec(
    Class<?> type,
    String name,
    List<String> formerNames,
    KeyStrategy key,
    @Nullable OnMissingKey onMissingKey,
    @Nullable Function<Object, @Nullable String> orderingKey,
    @Nullable PayloadCodec codec,
    List<Upcast> upcasts,
    Keep keep,
    List<HandlerSpec> handlers) {

  /** Whether a stored message of this logical name is one of these. */
  public boolean answersTo(String logicalName) {
    return name.equals(logicalName)
        || formerNames.contains(logicalName)
        || upcast(logicalName) != null;
  }

  /** Every logical name it answers to, the present one first. */
  public List<String> names() {
    List<String> names = new ArrayList<>();
    names.add(name);
    names.addAll(formerNames);
    upcasts.forEach(each -> names.add(each.name()));
    return names;
  }

  /**
   * The source that business keys of this type are known under. It goes by the oldest name, the
   * last one, so that a rename does not make every key new; no channel can be called so.
   */
  public String keySource() {
    List<String> names = names();
    return keySource(names.get(names.size() - 1));
  }

  /** The source that business keys of a type with this oldest name are known under. */
  public static String keySource(String oldestName) {
    return "key of " + oldestName;
  }

  /**
   * The business key that one of several handlers has of its own; null where it goes by what the
   * message is known by. That of an only handler is the message's.
   */
  public @Nullable KeyStrategy ownKey(HandlerSpec handler) {
    KeyReader selector = handler.selector();
    return selector == null || handlers.size() == 1
        ? null
        : KeyStrategy.of(type, selector, List.of());
  }

  /** Whether anything is known by a business key of this type. */
  public boolean hasKeys() {
    return key.isPresent() || handlers.stream().anyMatch(handler -> handler.selector() != null);
  }

  /** What to do with a message of this logical name; null where it has the present form. */
  public @Nullable Upcast upcast(String logicalName) {
    for (Upcast each : upcasts) {
      if (each.name().equals(logicalName)) {
        return each;
      }
    }
    return null;
  }
}
