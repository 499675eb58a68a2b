package dev.pigeonhole.outbox;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.transport.Publisher;
import dev.pigeonhole.transport.Transport;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Where messages go: through a transport, or straight into a channel of the same database. */
final class Routes {
  private static final Logger LOG = LoggerFactory.getLogger(Routes.class);

  /** A way through a transport. */
  record Sending(Route<?> route, Transport transport) {}

  /** A way into a channel. */
  record Shortcut(Route<?> route, Publisher channel) {}

  private final List<Sending> sendings = new ArrayList<>();
  private final List<Shortcut> shortcuts = new ArrayList<>();

  void add(Route<?> route, Transport transport) {
    sendings.add(new Sending(route, transport));
  }

  void add(Route<?> route, Publisher channel) {
    shortcuts.add(new Shortcut(route, channel));
  }

  List<Sending> sendings() {
    return sendings;
  }

  List<Shortcut> shortcuts() {
    return shortcuts;
  }

  /** All names that a route goes by, or has gone by. */
  List<String> names() {
    return routes()
        .flatMap(route -> Stream.concat(Stream.of(route.name()), route.formerNames().stream()))
        .toList();
  }

  List<Class<?>> types() {
    return routes().<Class<?>>map(Route::type).toList();
  }

  private Stream<Route<?>> routes() {
    return Stream.concat(
        sendings.stream().map(Sending::route), shortcuts.stream().map(Shortcut::route));
  }

  /** Where the message goes in the transaction it is published in; null if it is relayed. */
  @Nullable Publisher shortcut(Message message) {
    Route<?> route = taking(message).orElse(null);
    return shortcuts.stream()
        .filter(each -> each.route() == route)
        .findFirst()
        .map(Shortcut::channel)
        .orElse(null);
  }

  /** Who sends a relayed message that names no source, if the mapper of its route says so. */
  Optional<String> source(Message message) {
    return taking(message).flatMap(route -> route.mapper().source());
  }

  /** By the name of its type, or else by its class, or else by what that extends. */
  private Optional<Route<?>> taking(Message message) {
    String type = message.type().orElse(null);
    if (type != null) {
      return taking(route -> route.answersTo(type));
    }
    Object payload = message.payload();
    if (payload == null) {
      return Optional.empty();
    }
    return taking(route -> route.type() == payload.getClass())
        .or(() -> taking(route -> route.type().isInstance(payload)));
  }

  /** Of two that take it, the shortcut. */
  private Optional<Route<?>> taking(Predicate<Route<?>> takes) {
    return Stream.<Route<?>>concat(
            shortcuts.stream().map(Shortcut::route), sendings.stream().map(Sending::route))
        .filter(takes)
        .findFirst();
  }

  InboxException unknown(String outbox, List<Message> messages, InboxException cause) {
    String types =
        messages.stream()
            .map(each -> each.type().orElseGet(() -> className(each.payload())))
            .distinct()
            .limit(5)
            .collect(Collectors.joining(", "));
    return new InboxException(
        ErrorCode.ROUTE_UNKNOWN,
        ("Outbox '%s' has no route for all of: %s. It has routes for: %s. Add .route(…) or .into(…)"
                + " for the type.")
            .formatted(outbox, types, String.join(", ", names())),
        cause);
  }

  private static String className(@Nullable Object payload) {
    return payload == null ? "null" : payload.getClass().getName();
  }

  void wakeShortcuts() {
    shortcuts.forEach(each -> each.channel().wake());
  }

  /** One that cannot be closed keeps none of the others. */
  void close() {
    for (Sending each : sendings) {
      try {
        each.transport().close();
      } catch (RuntimeException e) {
        LOG.warn("The transport of route '{}' could not be closed", each.route().name(), e);
      }
    }
  }
}
