package dev.pigeonhole.internal.lifecycle;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.admin.ConflictView;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.admin.DrainCheck;
import dev.pigeonhole.admin.HandlerCounts;
import dev.pigeonhole.admin.InboxAdmin;
import dev.pigeonhole.admin.Pause;
import dev.pigeonhole.internal.registry.HeaderFormat;
import dev.pigeonhole.internal.registry.Lookalikes;
import dev.pigeonhole.internal.registry.Names;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.store.NodeRow;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.function.Predicate;

/** Administration over the store: keys are resolved by what the store has ever seen. */
final class DefaultAdmin implements InboxAdmin {
  private final InboxStore store;
  private final BiFunction<String, Message, Acceptance> accepting;
  private final String actor;

  /**
   * @param accepting channel and message → what became of it
   */
  DefaultAdmin(InboxStore store, BiFunction<String, Message, Acceptance> accepting, String actor) {
    this.store = store;
    this.accepting = accepting;
    this.actor = actor;
  }

  @Override
  public InboxAdmin as(String other) {
    return new DefaultAdmin(store, accepting, other);
  }

  @Override
  public List<HandlerCounts> counts() {
    Set<String> held = new HashSet<>();
    Predicate<Integer> known = knownToTheLiving();
    for (HandlerId key : store.maintenance().handlers()) {
      if (!known.test(key.family())) {
        held.add(key.key());
      }
    }
    return store.admin().counts().stream()
        .map(each -> held.contains(each.handler()) ? allHeld(each) : each)
        .toList();
  }

  @Override
  public Optional<DeliveryView> find(String source, String id, String handler) {
    return store
        .admin()
        .find(source, id, id(handler).family())
        .map(view -> isHeld(view) ? held(view) : view);
  }

  /** Held is nobody's column: it follows from who lives and what they know. */
  private boolean isHeld(DeliveryView view) {
    if (view.state() != DeliveryState.PENDING && view.state() != DeliveryState.SCHEDULED) {
      return false;
    }
    return !knownToTheLiving().test(id(view.handler()).family());
  }

  private static DeliveryView held(DeliveryView view) {
    return new DeliveryView(
        view.message(),
        view.handler(),
        DeliveryState.HELD,
        view.failures(),
        view.crashes(),
        view.releases(),
        view.receivedAt(),
        view.due(),
        view.ended(),
        view.lastFailure());
  }

  private static HandlerCounts allHeld(HandlerCounts counts) {
    return new HandlerCounts(
        counts.handler(),
        0,
        0,
        counts.pending() + counts.scheduled() + counts.held(),
        counts.blocked(),
        counts.completed(),
        counts.poisoned());
  }

  /** Where nobody lives nobody says that a key is unknown. */
  private Predicate<Integer> knownToTheLiving() {
    List<NodeRow> living = store.admin().nodes().stream().filter(NodeRow::alive).toList();
    return family ->
        living.isEmpty() || living.stream().anyMatch(node -> node.handlers().contains(family));
  }

  @Override
  public List<DeliveryView> poisoned(int limit) {
    return store.admin().poisoned(null, limit);
  }

  @Override
  public List<DeliveryView> poisoned(String handler, int limit) {
    return store.admin().poisoned(id(handler).family(), limit);
  }

  @Override
  public boolean retry(String source, String id, String handler, String reason) {
    return store.admin().retry(source, id, id(handler).family(), actor, reason);
  }

  @Override
  public boolean complete(String source, String id, String handler, String reason) {
    return store.admin().end(source, id, id(handler).family(), false, actor, reason);
  }

  @Override
  public boolean discard(String source, String id, String handler, String reason) {
    return store.admin().end(source, id, id(handler).family(), true, actor, reason);
  }

  @Override
  public List<ConflictView> conflicts(int limit) {
    return store.admin().conflicts(limit);
  }

  @Override
  public boolean dismissConflict(long conflict, String reason) {
    return store.admin().endConflict(conflict, "dismiss", actor, reason);
  }

  @Override
  public Optional<Acceptance> acceptConflict(long conflict, String newId, String reason) {
    return store
        .admin()
        .conflict(conflict)
        .map(
            copy -> {
              ConflictView view = copy.view();
              Message message =
                  Message.encoded(newId, view.type(), copy.content(), view.contentType())
                      .from(view.message().source())
                      .transport(view.transport())
                      .headers(HeaderFormat.decode(copy.headers()));
              if (copy.orderingKey() != null) {
                message = message.orderedBy(copy.orderingKey());
              }
              if (copy.occurredAt() != null) {
                message = message.occurredAt(copy.occurredAt());
              }
              Acceptance answer = accepting.apply(view.channel(), message);
              if (answer instanceof Acceptance.Accepted || answer instanceof Acceptance.Repeat) {
                store.admin().endConflict(conflict, "accept as " + newId, actor, reason);
              }
              return answer;
            });
  }

  @Override
  public boolean pause(String handler, String reason) {
    HandlerId id = id(handler);
    return store.admin().pause(id.family(), id.keyId(), actor, reason);
  }

  @Override
  public boolean resume(String handler, String reason) {
    HandlerId id = id(handler);
    return store.admin().resume(id.family(), id.keyId(), actor, reason);
  }

  @Override
  public List<Pause> paused() {
    return store.admin().paused();
  }

  @Override
  public DrainCheck drainCheck(String handler) {
    return new DrainCheck(handler, store.admin().open(id(handler).keyId()));
  }

  /** Nothing about a slip would look like good news. */
  private HandlerId id(String handler) {
    Collection<HandlerId> known = store.maintenance().handlers();
    return known.stream()
        .filter(key -> key.key().equals(handler))
        .findFirst()
        .orElseThrow(() -> unknown(handler, known.stream().map(HandlerId::key).toList()));
  }

  private static InboxException unknown(String handler, List<String> known) {
    String nearest = Lookalikes.nearest(known, handler);
    return new InboxException(
        ErrorCode.HANDLER_KEY_UNKNOWN,
        "No handler was ever registered with the key '%s'. %s"
            .formatted(
                Names.shown(handler),
                nearest == null
                    ? "There are: " + String.join(", ", known) + "."
                    : "Did you mean '" + nearest + "'?"));
  }
}
