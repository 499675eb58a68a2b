package dev.pigeonhole;

import dev.pigeonhole.internal.registry.HandlerSpec;
import dev.pigeonhole.internal.registry.TypeSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** One message type of a channel and its handlers. */
public final class TypeBuilder<T> {
  private final ChannelBuilder channel;
  private final Class<T> type;
  private final List<HandlerSpec> handlers = new ArrayList<>();
  private String name;
  private List<String> formerNames = List.of();
  private @Nullable Function<Object, @Nullable String> businessKey;
  private @Nullable Function<Object, @Nullable String> orderingKey;

  TypeBuilder(ChannelBuilder channel, Class<T> type) {
    this.channel = channel;
    this.type = type;
    this.name = type.getSimpleName();
  }

  /**
   * The logical name that messages are stored under, and names that stored messages may still
   * carry. Without it, the class's simple name.
   */
  public TypeBuilder<T> named(String name, String... formerNames) {
    this.name = name;
    this.formerNames = List.of(formerNames);
    return this;
  }

  /**
   * A business key instead of the message id: a republished message with a new id is a repeat. The
   * key is scoped by the type's name, so keys of two types never meet.
   *
   * <p>Called by the threads that accept, several at once. A message for which it answers null or
   * throws is rejected with {@code PH-ID-07}.
   */
  public TypeBuilder<T> keyedBy(Function<? super T, @Nullable String> selector) {
    this.businessKey = payload -> selector.apply(type.cast(payload));
    return this;
  }

  /**
   * Messages with the same key reach each handler one at a time, in the order of receipt; null
   * means no order.
   *
   * <p>Called by the threads that accept, several at once. A message for which it throws is
   * rejected with {@code PH-HDR-04}, one without a body with {@code PH-ID-07}.
   */
  public TypeBuilder<T> orderedBy(Function<? super T, @Nullable String> selector) {
    this.orderingKey = payload -> selector.apply(type.cast(payload));
    return this;
  }

  /** Adds a handler of payloads. */
  public TypeBuilder<T> handle(String key, Handler<? super T> handler, HandlerOption... options) {
    return handle(HandlerKey.of(key), handler, options);
  }

  /** Adds a handler of payloads that was once called something else. */
  public TypeBuilder<T> handle(
      HandlerKey key, Handler<? super T> handler, HandlerOption... options) {
    Objects.requireNonNull(handler, "handler");
    return handleMessage(key, received -> handler.handle(received.payload()), options);
  }

  /** Adds a handler that wants to see the whole received message. */
  public TypeBuilder<T> handleMessage(
      String key, MessageHandler<T> handler, HandlerOption... options) {
    return handleMessage(HandlerKey.of(key), handler, options);
  }

  /** As above, for a handler that was once called something else. */
  @SuppressWarnings("unchecked") // the dispatcher hands out what the codec decoded into T
  public TypeBuilder<T> handleMessage(
      HandlerKey key, MessageHandler<T> handler, HandlerOption... options) {
    Objects.requireNonNull(handler, "handler");
    handlers.add(spec(key, (MessageHandler<Object>) (MessageHandler<?>) handler, null, options));
    return this;
  }

  /** Adds a handler whose writes commit together with its receipt. */
  public TypeBuilder<T> handleInTransaction(
      String key, TransactionalHandler<T> handler, HandlerOption... options) {
    return handleInTransaction(HandlerKey.of(key), handler, options);
  }

  /** As above, for a handler that was once called something else. */
  @SuppressWarnings("unchecked") // the dispatcher hands out what the codec decoded into T
  public TypeBuilder<T> handleInTransaction(
      HandlerKey key, TransactionalHandler<T> handler, HandlerOption... options) {
    Objects.requireNonNull(handler, "handler");
    handlers.add(
        spec(key, null, (TransactionalHandler<Object>) (TransactionalHandler<?>) handler, options));
    return this;
  }

  /** Starts the block of another message type. */
  public <U> TypeBuilder<U> on(Class<U> other) {
    return channel.on(other);
  }

  /** Ends the channel. */
  public Channel build() {
    return channel.build();
  }

  TypeSpec spec() {
    return new TypeSpec(type, name, formerNames, businessKey, orderingKey, List.copyOf(handlers));
  }

  private static HandlerSpec spec(
      HandlerKey key,
      @Nullable MessageHandler<Object> plain,
      @Nullable TransactionalHandler<Object> transactional,
      HandlerOption... options) {
    HandlerOption.Chosen chosen = new HandlerOption.Chosen(options);
    return new HandlerSpec(
        key,
        plain,
        transactional,
        chosen.retry,
        chosen.timeout,
        chosen.atMost,
        chosen.sharedCommits,
        chosen.unordered);
  }
}
