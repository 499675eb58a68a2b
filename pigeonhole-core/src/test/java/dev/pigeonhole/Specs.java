package dev.pigeonhole;

import dev.pigeonhole.internal.registry.ChannelSpec;
import dev.pigeonhole.internal.registry.HandlerSpec;
import dev.pigeonhole.internal.registry.Keep;
import dev.pigeonhole.internal.registry.KeyStrategy;
import dev.pigeonhole.internal.registry.TypeSpec;
import dev.pigeonhole.transport.MessageMapper;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Declarations as the builders leave them, for tests of the parts that work with them. */
public final class Specs {
  private Specs() {}

  /** The channel whose last type this is. */
  public static ChannelSpec channel(TypeBuilder<?> last) {
    return last.build().spec();
  }

  /** A channel of which nothing is said but its types. */
  public static ChannelSpec channel(String name, TypeSpec... types) {
    return channel(name, false, types);
  }

  /** One whose handlers run at once, without an inbox. */
  public static ChannelSpec direct(String name, TypeSpec... types) {
    return channel(name, true, types);
  }

  private static ChannelSpec channel(String name, boolean direct, TypeSpec... types) {
    return new ChannelSpec(
        name,
        direct,
        direct,
        OnConflict.KEEP,
        Unhandled.KEEP,
        OnMissingId.REJECT,
        OnPoison.BLOCK_KEY,
        MessageMapper.plain(),
        List.of(types));
  }

  /** The type without its channel. */
  public static TypeSpec type(TypeBuilder<?> declared) {
    return declared.spec(false);
  }

  /** A type of which nothing is said but its handlers. */
  public static TypeSpec type(Class<?> type, String name, HandlerSpec... handlers) {
    return new TypeSpec(
        type,
        name,
        List.of(),
        KeyStrategy.of(type),
        null,
        null,
        null,
        List.of(),
        Keep.AS_INBOX,
        List.of(handlers));
  }

  public static HandlerSpec plain(
      HandlerKey key, MessageHandler<Object> body, HandlerOption... options) {
    return new HandlerSpec(key, body, null, null, HandlerOption.chosen(options));
  }

  /**
   * @param body null for one that nobody could declare
   */
  public static HandlerSpec transactional(
      String key, @Nullable TransactionalHandler<Object> body, HandlerOption... options) {
    return new HandlerSpec(HandlerKey.of(key), null, body, null, HandlerOption.chosen(options));
  }
}
