package dev.pigeonhole.internal.lifecycle;

import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.admin.DrainCheck;
import dev.pigeonhole.admin.HandlerCounts;
import dev.pigeonhole.admin.InboxAdmin;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.store.NodeRow;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;

/** Administration over the store: keys are resolved by what the store has ever seen. */
final class DefaultAdmin implements InboxAdmin {
  private final InboxStore store;
  private final String actor;

  DefaultAdmin(InboxStore store, String actor) {
    this.store = store;
    this.actor = actor;
  }

  @Override
  public InboxAdmin as(String other) {
    return new DefaultAdmin(store, other);
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
        .map(each -> held.contains(each.handler()) ? each.allHeld() : each)
        .toList();
  }

  @Override
  public Optional<DeliveryView> find(String source, String id, String handler) {
    return id(handler)
        .flatMap(
            key ->
                store
                    .admin()
                    .find(source, id, key.family())
                    .map(view -> isHeld(view, key.family()) ? view.as(DeliveryState.HELD) : view));
  }

  /** Held is nobody's column: it follows from who lives and what they know. */
  private boolean isHeld(DeliveryView view, int family) {
    if (view.state() != DeliveryState.PENDING && view.state() != DeliveryState.SCHEDULED) {
      return false;
    }
    return !knownToTheLiving().test(family);
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
    return id(handler).map(key -> store.admin().poisoned(key.family(), limit)).orElse(List.of());
  }

  @Override
  public boolean retry(String source, String id, String handler, String reason) {
    return id(handler)
        .map(key -> store.admin().retry(source, id, key.family(), actor, reason))
        .orElse(false);
  }

  @Override
  public DrainCheck drainCheck(String handler) {
    return new DrainCheck(
        handler, id(handler).map(key -> store.admin().open(key.keyId())).orElse(0L));
  }

  private Optional<HandlerId> id(String handler) {
    return store.maintenance().handlers().stream()
        .filter(key -> key.key().equals(handler))
        .findFirst();
  }
}
