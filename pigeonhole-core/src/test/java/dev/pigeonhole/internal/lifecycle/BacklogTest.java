package dev.pigeonhole.internal.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.HandlerKey;
import dev.pigeonhole.OnPoison;
import dev.pigeonhole.Specs;
import dev.pigeonhole.internal.dispatch.Events;
import dev.pigeonhole.internal.prune.Pruner;
import dev.pigeonhole.internal.prune.Retention;
import dev.pigeonhole.internal.registry.BoundHandler;
import dev.pigeonhole.internal.registry.Registry;
import dev.pigeonhole.store.Deliveries;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.Maintenance;
import dev.pigeonhole.store.Pruning;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Two handlers whose limit is a hundred each, and what is deleted while they work. */
class BacklogTest {
  private static final BoundHandler SLOW = handler("slow", 1);
  private static final BoundHandler QUICK = handler("quick", 2);

  private final Events events = new Events("inbox", List.of());
  private final Map<Integer, Integer> waiting = new HashMap<>();
  private final Set<BoundHandler> resting = new HashSet<>();
  private final Backlog backlog =
      new Backlog(
          answering(Deliveries.class, "waiting", waiting),
          events,
          new Sources(List.of(), channel -> messages -> List.of()),
          List.of(SLOW, QUICK),
          resting::contains,
          settings());

  private static BoundHandler handler(String key, int family) {
    return new BoundHandler(
        Specs.plain(HandlerKey.of(key), received -> {}),
        Specs.type(String.class, "t"),
        List.of(new HandlerId(key, family, family)),
        OnPoison.BLOCK_KEY);
  }

  private static InboxSettings settings() {
    InboxSettings.Draft draft = new InboxSettings.Draft();
    draft.maxHandlerBacklog = 100;
    return draft.freeze();
  }

  private static <T> T answering(Class<T> type, String name, Object answer) {
    return type.cast(
        Proxy.newProxyInstance(
            BacklogTest.class.getClassLoader(),
            new Class<?>[] {type},
            (self, method, args) -> {
              assertThat(method.getName()).isEqualTo(name);
              return answer;
            }));
  }

  private int deletedInATurn() {
    Retention retention =
        new Retention(
            new Retention.Times(Duration.ofDays(1), null, null),
            new Registry(List.of(), List.of()),
            List.of());
    Maintenance store = answering(Maintenance.class, "prune", new Pruning.Step(1, 0, false));
    int[] deleted = {0};
    Events counting = new Events("inbox", List.of(event -> deleted[0]++));
    backlog.look();
    new Pruner(store, retention, counting, backlog::pressing).turn();
    return deleted[0];
  }

  @Test
  void nothingIsDeletedWhileAHandlerIsBehind() {
    assertThat(deletedInATurn()).isEqualTo(1);

    waiting.put(1, 101);
    assertThat(deletedInATurn()).isZero();
    waiting.put(1, 51);
    assertThat(deletedInATurn()).as("it has to come down to half").isZero();
    waiting.put(1, 50);
    assertThat(deletedInATurn()).isEqualTo(1);
  }

  @Test
  void aHandlerThatRestsKeepsNobodyFromDeleting() {
    waiting.put(1, 101);
    assertThat(deletedInATurn()).isZero();

    resting.add(SLOW);
    assertThat(deletedInATurn()).isEqualTo(1);
    resting.remove(SLOW);
    assertThat(deletedInATurn()).isZero();
  }
}
