package dev.pigeonhole;

import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.internal.registry.BatchSpec;
import dev.pigeonhole.internal.registry.HandlerSpec;
import dev.pigeonhole.internal.registry.Keep;
import dev.pigeonhole.internal.registry.KeyReader;
import dev.pigeonhole.internal.registry.KeyStrategy;
import dev.pigeonhole.internal.registry.SelectorKey;
import dev.pigeonhole.internal.registry.TypeSpec;
import dev.pigeonhole.internal.registry.Upcast;
import java.time.Duration;
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
  private final List<KeyReader> selectors = new ArrayList<>();
  private @Nullable OnMissingKey onMissingKey;
  private @Nullable Function<Object, @Nullable String> orderingKey;
  private @Nullable PayloadCodec codec;
  private final List<Upcast> upcasts = new ArrayList<>();
  private Keep keep = Keep.AS_INBOX;

  TypeBuilder(ChannelBuilder channel, Class<T> type) {
    this.channel = channel;
    this.type = type;
    this.name = type.getSimpleName();
  }

  /**
   * The logical name that messages are stored under, and names that stored messages may still
   * carry, the newest first. Without it, the class's simple name.
   */
  public TypeBuilder<T> named(String name, String... formerNames) {
    this.name = name;
    this.formerNames = List.of(formerNames);
    return this;
  }

  /**
   * A business key instead of the message id: a republished message with a new id is a repeat. The
   * source is {@code "key of "} and the type's oldest name, so keys of two types never meet, and
   * neither do keys and ids. The oldest name is the last of those given to {@link #upcast}, or else
   * to {@link #named}: it has to stay the last one, or every key is new.
   *
   * <p>Called by the threads that accept, several at once. A message for which it throws is
   * rejected with {@code PH-ID-07}; one for which it answers null goes by {@link #missingKey}.
   *
   * <p>It wins over what the class says of itself with {@link IdempotentMessage} or {@link
   * Idempotent}, and {@link HandlerOption#keyedBy} wins over it. May be given once.
   */
  public TypeBuilder<T> keyedBy(Function<? super T, @Nullable String> selector) {
    Objects.requireNonNull(selector, "selector");
    selectors.add(new SelectorKey(type, payload -> selector.apply(type.cast(payload))));
    return this;
  }

  /**
   * The same for a key that is found without decoding the message: in a header, or at a place of
   * the content.
   */
  public TypeBuilder<T> keyedBy(KeySelector selector) {
    Objects.requireNonNull(selector, "selector");
    selectors.add(selector.reader());
    return this;
  }

  /**
   * What happens to messages without a business key. Default {@link OnMissingKey#REJECT}; only for
   * types that have one, by {@link #keyedBy} or by their class.
   */
  public TypeBuilder<T> missingKey(OnMissingKey policy) {
    this.onMissingKey = policy;
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

  /** How payloads of this type become bytes, instead of the inbox's codec. */
  public TypeBuilder<T> codec(PayloadCodec codec) {
    this.codec = codec;
    return this;
  }

  /**
   * Takes messages of an older form too: those with this logical name are decoded into the older
   * class and changed into the present one, for every handler and selector of this type. Stored
   * messages stay as they are. What the change throws poisons the delivery, as a payload that
   * cannot be read does.
   */
  public <O> TypeBuilder<T> upcast(
      String formerName, Class<O> older, Function<? super O, ? extends T> change) {
    upcasts.add(new Upcast(formerName, older, payload -> change.apply(older.cast(payload))));
    return this;
  }

  /** How long messages of this type are known after their last completion. */
  public TypeBuilder<T> keepReceipts(Duration time) {
    this.keep = keep.receipts(time);
    return this;
  }

  /** How long the content of messages of this type is kept after their last completion. */
  public TypeBuilder<T> keepPayload(Duration time) {
    this.keep = keep.payload(time);
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
    return add(key, (MessageHandler<Object>) (MessageHandler<?>) handler, null, null, options);
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
    return add(
        key, null, (TransactionalHandler<Object>) (TransactionalHandler<?>) handler, null, options);
  }

  /** Adds a handler that takes up to this many messages with one call; it waits for none. */
  public TypeBuilder<T> handleBatch(
      String key, int most, BatchHandler<T> handler, HandlerOption... options) {
    return handleBatch(HandlerKey.of(key), most, handler, options);
  }

  /** As above, for a handler that was once called something else. */
  @SuppressWarnings("unchecked") // the dispatcher hands out what the codec decoded into T
  public TypeBuilder<T> handleBatch(
      HandlerKey key, int most, BatchHandler<T> handler, HandlerOption... options) {
    Objects.requireNonNull(handler, "handler");
    BatchSpec batch = new BatchSpec(most, (BatchHandler<Object>) (BatchHandler<?>) handler, false);
    return add(key, null, null, batch, options);
  }

  /**
   * Adds a handler that takes up to this many messages with one call as the bytes that were stored,
   * in the form of {@link Received#contentType}. For whoever passes them on: messages of a type
   * that has no other handlers go by their ids, whatever their class says of itself with {@link
   * IdempotentMessage} or {@link Idempotent}, unless {@link #keyedBy} is given.
   */
  @SuppressWarnings("unchecked") // the dispatcher hands out what was stored
  public TypeBuilder<T> handleEncoded(
      HandlerKey key, int most, BatchHandler<byte[]> handler, HandlerOption... options) {
    Objects.requireNonNull(handler, "handler");
    BatchSpec batch = new BatchSpec(most, (BatchHandler<Object>) (BatchHandler<?>) handler, true);
    return add(key, null, null, batch, options);
  }

  /** Starts the block of another message type. */
  public <U> TypeBuilder<U> on(Class<U> other) {
    return channel.on(other);
  }

  /** Ends the channel. */
  public Channel build() {
    return channel.build();
  }

  Class<T> type() {
    return type;
  }

  boolean hasInlineHandlers() {
    return handlers.stream().anyMatch(HandlerSpec::inline);
  }

  TypeSpec spec(boolean inline) {
    return new TypeSpec(
        type,
        name,
        formerNames,
        key(),
        onMissingKey,
        orderingKey,
        codec,
        List.copyOf(upcasts),
        keep,
        inline ? handlers.stream().map(HandlerSpec::inlined).toList() : List.copyOf(handlers));
  }

  /** What is only passed on is for its receivers to tell apart by key. */
  private KeyStrategy key() {
    KeyReader ofHandler = handlers.size() == 1 ? handlers.get(0).selector() : null;
    boolean passedOn = !handlers.isEmpty() && handlers.stream().allMatch(HandlerSpec::takesEncoded);
    return passedOn && ofHandler == null && selectors.isEmpty()
        ? KeyStrategy.none(type)
        : KeyStrategy.of(type, ofHandler, List.copyOf(selectors));
  }

  private TypeBuilder<T> add(
      HandlerKey key,
      @Nullable MessageHandler<Object> plain,
      @Nullable TransactionalHandler<Object> transactional,
      @Nullable BatchSpec batch,
      HandlerOption... options) {
    handlers.add(new HandlerSpec(key, plain, transactional, batch, HandlerOption.chosen(options)));
    return this;
  }
}
