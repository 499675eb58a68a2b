package dev.pigeonhole;

import dev.pigeonhole.internal.registry.ChannelSpec;
import dev.pigeonhole.internal.registry.TypeSpec;
import dev.pigeonhole.transport.MessageMapper;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/** Declares a channel. What it is given is checked when the inbox is built, all together. */
public final class ChannelBuilder {
  private final String name;
  private final List<TypeBuilder<?>> types = new ArrayList<>();
  private boolean direct;
  private boolean withoutInbox;
  private boolean inline;
  private OnConflict onConflict = OnConflict.KEEP;
  private Unhandled unhandled = Unhandled.KEEP;
  private OnMissingId onMissingId = OnMissingId.REJECT;
  private OnPoison onPoison = OnPoison.BLOCK_KEY;
  private MessageMapper mapper = MessageMapper.plain();

  ChannelBuilder(String name) {
    this.name = name;
  }

  /** Handlers run at once on the publisher's thread, without storage, retry or memory. */
  public ChannelBuilder direct() {
    this.direct = true;
    return this;
  }

  /** All handlers run at once, as {@link HandlerOption#inline} says. */
  public ChannelBuilder inline() {
    this.inline = true;
    return this;
  }

  /** This channel may do without an inbox even where the application requires one. */
  public ChannelBuilder withoutInbox() {
    this.withoutInbox = true;
    return this;
  }

  /**
   * Sets what happens to a known id with other content or another type. Default {@link
   * OnConflict#KEEP}. Types with a business key always use {@link OnConflict#REPEAT}.
   */
  public ChannelBuilder onConflict(OnConflict policy) {
    this.onConflict = policy;
    return this;
  }

  /** What happens to messages whose type no handler takes. Default {@link Unhandled#KEEP}. */
  public ChannelBuilder unhandled(Unhandled policy) {
    this.unhandled = policy;
    return this;
  }

  /** What happens to messages without an id. Default {@link OnMissingId#REJECT}. */
  public ChannelBuilder onMissingId(OnMissingId policy) {
    this.onMissingId = policy;
    return this;
  }

  /**
   * What a poisoned delivery does to those behind it in its ordering key. Default {@link
   * OnPoison#BLOCK_KEY}; without ordering keys it says nothing.
   */
  public ChannelBuilder onPoison(OnPoison policy) {
    this.onPoison = policy;
    return this;
  }

  /**
   * How what its sources receive is read: where the id, the type and the ordering key are. Default
   * {@link MessageMapper#plain()}. What is handed in as a {@link Message} needs no mapper.
   */
  public ChannelBuilder mappedBy(MessageMapper mapper) {
    this.mapper = Objects.requireNonNull(mapper, "mapper");
    return this;
  }

  /** Whether {@link #inline} was called, or one of the handlers given so far is inline itself. */
  public boolean hasInlineHandlers() {
    return inline || types.stream().anyMatch(TypeBuilder::hasInlineHandlers);
  }

  /** What the channel is called. */
  public String name() {
    return name;
  }

  /**
   * The block of a message type that was started before, or a new one: for whoever adds handlers to
   * a channel that somebody else has begun.
   */
  @SuppressWarnings("unchecked") // a block is of its own type
  public <T> TypeBuilder<T> alsoOn(Class<T> type) {
    for (TypeBuilder<?> each : types) {
      if (each.type() == type) {
        return (TypeBuilder<T>) each;
      }
    }
    return on(type);
  }

  /** Starts the block of a message type. */
  public <T> TypeBuilder<T> on(Class<T> type) {
    TypeBuilder<T> builder = new TypeBuilder<>(this, type);
    types.add(builder);
    return builder;
  }

  /** Ends a channel whose blocks were started elsewhere. */
  public Channel build() {
    List<TypeSpec> specs = types.stream().map(type -> type.spec(inline)).toList();
    return new Channel(
        new ChannelSpec(
            name,
            direct,
            withoutInbox,
            onConflict,
            unhandled,
            onMissingId,
            onPoison,
            mapper,
            specs));
  }
}
