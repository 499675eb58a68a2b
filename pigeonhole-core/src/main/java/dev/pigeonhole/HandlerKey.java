package dev.pigeonhole;

import java.util.List;
import java.util.stream.Stream;

/**
 * The stable name of a handler, stored with every delivery. Class names come and go; a key stays.
 *
 * @param key what new deliveries are stored under
 * @param formerKeys names the handler once had: their deliveries are still run by it, and what it
 *     handled under them is not handled again
 */
public record HandlerKey(String key, List<String> formerKeys) {

  public HandlerKey {
    formerKeys = List.copyOf(formerKeys);
  }

  /** A key without a past. */
  public static HandlerKey of(String key) {
    return new HandlerKey(key, List.of());
  }

  /** The same key, which was once called something else, too. */
  public HandlerKey formerly(String... formerKeys) {
    return new HandlerKey(
        key, Stream.concat(this.formerKeys.stream(), Stream.of(formerKeys)).toList());
  }
}
