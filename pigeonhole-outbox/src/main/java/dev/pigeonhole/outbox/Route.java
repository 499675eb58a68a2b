package dev.pigeonhole.outbox;

import dev.pigeonhole.transport.MessageMapper;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The messages that go one way: those of a type, the name they go under, and what keeps them in
 * order. Immutable; each step returns a new one.
 *
 * <pre>{@code
 * Route.of(OrderPlaced.class).named("order.placed").orderedBy(OrderPlaced::customer)
 * }</pre>
 */
public final class Route<T> {
  private final Class<T> type;
  private final String name;
  private final List<String> formerNames;
  private final @Nullable Function<? super T, @Nullable String> orderingKey;
  private final @Nullable MessageMapper mapper;

  private Route(
      Class<T> type,
      String name,
      List<String> formerNames,
      @Nullable Function<? super T, @Nullable String> orderingKey,
      @Nullable MessageMapper mapper) {
    this.type = type;
    this.name = name;
    this.formerNames = formerNames;
    this.orderingKey = orderingKey;
    this.mapper = mapper;
  }

  /** Messages of this class, under its simple name. */
  public static <T> Route<T> of(Class<T> type) {
    return new Route<>(type, type.getSimpleName(), List.of(), null, null);
  }

  /**
   * The logical name that messages are sent under. It is also the key of the route, by which
   * operators know it. What was staged under a former name still goes out, under that name.
   */
  public Route<T> named(String name, String... formerNames) {
    return new Route<>(type, name, List.of(formerNames), orderingKey, mapper);
  }

  /**
   * Messages of this route with the same key go out one at a time, in the order they were staged.
   * Two routes know nothing of each other's keys; and of two transactions that overlap, nobody can
   * say which has staged first. For routes through a transport: a channel has an order of its own.
   */
  public Route<T> orderedBy(Function<? super T, @Nullable String> selector) {
    return new Route<>(
        type, name, formerNames, Objects.requireNonNull(selector, "selector"), mapper);
  }

  /**
   * How messages become envelopes, and, if the {@linkplain MessageMapper#source() mapper says so},
   * the source of those that name none. Default {@link MessageMapper#plain()}. For routes through a
   * transport: what goes into a channel is no envelope.
   */
  public Route<T> mappedBy(MessageMapper mapper) {
    return new Route<>(
        type, name, formerNames, orderingKey, Objects.requireNonNull(mapper, "mapper"));
  }

  Class<T> type() {
    return type;
  }

  String name() {
    return name;
  }

  List<String> formerNames() {
    return formerNames;
  }

  @Nullable Function<? super T, @Nullable String> orderingKey() {
    return orderingKey;
  }

  MessageMapper mapper() {
    return mapper == null ? MessageMapper.plain() : mapper;
  }

  /** Whether it says how messages are sent, which those into a channel are not. */
  boolean saysHowToSend() {
    return orderingKey != null || mapper != null;
  }

  boolean answersTo(String typeName) {
    return name.equals(typeName) || formerNames.contains(typeName);
  }
}
