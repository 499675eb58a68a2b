package dev.pigeonhole.internal.registry;

import dev.pigeonhole.Message;
import dev.pigeonhole.store.HandlerId;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The channels and handlers of one inbox, bound to the store's numbers. Immutable. */
public final class Registry {
  private final Map<String, ChannelSpec> channels = new LinkedHashMap<>();
  private final List<BoundHandler> handlers = new ArrayList<>();
  private final Set<Integer> families = new LinkedHashSet<>();
  private final Map<HandlerSpec, BoundHandler> bySpec = new HashMap<>();
  private final Set<String> keySources = new HashSet<>();

  /**
   * @param ids what the store answered for {@link #families}, in the same order
   */
  public Registry(List<ChannelSpec> specs, List<List<HandlerId>> ids) {
    int next = 0;
    for (ChannelSpec channel : specs) {
      channels.put(channel.name(), channel);
      for (TypeSpec type : channel.types()) {
        if (type.hasKeys()) {
          keySources.add(type.keySource());
        }
        for (HandlerSpec spec : type.handlers()) {
          bind(
              new BoundHandler(
                  spec, type, List.copyOf(ids.get(next++)), channel.onPoison(), type.ownKey(spec)));
        }
      }
    }
  }

  private void bind(BoundHandler handler) {
    handlers.add(handler);
    bySpec.put(handler.spec(), handler);
    for (HandlerId id : handler.ids()) {
      families.add(id.family());
    }
  }

  /** The keys of every handler, the current one first, in the order of declaration. */
  public static List<List<String>> families(List<ChannelSpec> specs) {
    List<List<String>> families = new ArrayList<>();
    for (ChannelSpec channel : specs) {
      for (TypeSpec type : channel.types()) {
        for (HandlerSpec handler : type.handlers()) {
          List<String> keys = new ArrayList<>();
          keys.add(handler.key().key());
          keys.addAll(handler.key().formerKeys());
          families.add(keys);
        }
      }
    }
    return families;
  }

  public Collection<ChannelSpec> channels() {
    return channels.values();
  }

  public @Nullable ChannelSpec channel(String name) {
    return channels.get(name);
  }

  public List<BoundHandler> handlers() {
    return handlers;
  }

  /** Every family that this application can run. */
  public Set<Integer> families() {
    return Collections.unmodifiableSet(families);
  }

  /** Whether business keys of a type are known under this source, so that no plain id may be. */
  public boolean isKeySource(String source) {
    return keySources.contains(source);
  }

  /** Who wants messages of this type stored, as new deliveries name them. */
  public List<HandlerId> handlersOf(TypeSpec type) {
    List<HandlerId> ids = new ArrayList<>(type.handlers().size());
    for (HandlerSpec spec : type.handlers()) {
      BoundHandler bound = bySpec.get(spec);
      if (bound != null && !spec.inline()) {
        ids.add(bound.id());
      }
    }
    return ids;
  }

  /** Who takes messages of this type where they are handed in, in the order of declaration. */
  public List<BoundHandler> inlineOf(TypeSpec type) {
    List<BoundHandler> inline = new ArrayList<>();
    for (HandlerSpec spec : type.handlers()) {
      BoundHandler bound = bySpec.get(spec);
      if (bound != null && spec.inline()) {
        inline.add(bound);
      }
    }
    return inline;
  }

  /** The type of a channel that a message belongs to, by its own word or by its payload's class. */
  public static @Nullable TypeSpec typeOf(ChannelSpec channel, Message message) {
    if (message.type().isPresent()) {
      return typeNamed(channel, message.type().get());
    }
    Object payload = message.payload();
    return payload == null ? null : typeOf(channel, payload.getClass());
  }

  /** The type of a channel that a payload belongs to: its own class first, then one it extends. */
  public static @Nullable TypeSpec typeOf(ChannelSpec channel, Class<?> payload) {
    for (TypeSpec type : channel.types()) {
      if (type.type() == payload) {
        return type;
      }
    }
    for (TypeSpec type : channel.types()) {
      if (type.type().isAssignableFrom(payload)) {
        return type;
      }
    }
    return null;
  }

  /** The type of a channel with this logical name, current or former. */
  public static @Nullable TypeSpec typeNamed(ChannelSpec channel, String logicalName) {
    for (TypeSpec type : channel.types()) {
      if (type.answersTo(logicalName)) {
        return type;
      }
    }
    return null;
  }
}
