package dev.pigeonhole.internal.registry;

import dev.pigeonhole.store.HandlerId;
import java.util.List;

/**
 * A handler with the numbers the store knows it by.
 *
 * @param ids the current key first, then the former ones
 */
public record BoundHandler(HandlerSpec spec, TypeSpec type, List<HandlerId> ids) {

  /** What new deliveries are created under. */
  public HandlerId id() {
    return ids.get(0);
  }

  public String key() {
    return spec.key().key();
  }

  /** The exact key with this number, for a row that may have been created under a former one. */
  public String keyOf(int keyId) {
    for (HandlerId id : ids) {
      if (id.keyId() == keyId) {
        return id.key();
      }
    }
    return key();
  }
}
