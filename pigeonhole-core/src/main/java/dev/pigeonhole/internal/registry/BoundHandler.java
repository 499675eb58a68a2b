package dev.pigeonhole.internal.registry;

import dev.pigeonhole.OnPoison;
import dev.pigeonhole.store.HandlerId;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A handler with the numbers the store knows it by.
 *
 * @param ids the current key first, then the former ones
 * @param channelOnPoison what its channel says
 * @param ownKey the business key that it alone goes by; null for what the message is known by
 */
public record BoundHandler(
    HandlerSpec spec,
    TypeSpec type,
    List<HandlerId> ids,
    OnPoison channelOnPoison,
    @Nullable KeyStrategy ownKey) {

  /** A handler that goes by what the message is known by. */
  public BoundHandler(
      HandlerSpec spec, TypeSpec type, List<HandlerId> ids, OnPoison channelOnPoison) {
    this(spec, type, ids, channelOnPoison, null);
  }

  /** Nobody waits for anybody at a handler that does not care for order. */
  public OnPoison onPoison() {
    return spec.unordered() ? OnPoison.SKIP : channelOnPoison;
  }

  /** What new deliveries are created under. */
  public HandlerId id() {
    return ids.get(0);
  }

  /** The families its keys belong to: one, unless keys have been joined that were strangers. */
  public List<Integer> families() {
    return ids.stream().map(HandlerId::family).distinct().toList();
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
