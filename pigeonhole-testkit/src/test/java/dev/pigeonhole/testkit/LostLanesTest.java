package dev.pigeonhole.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.event.InboxListener;
import dev.pigeonhole.internal.dispatch.Events;
import dev.pigeonhole.internal.rescue.HandlerKeys;
import dev.pigeonhole.internal.rescue.LastHeartbeat;
import dev.pigeonhole.internal.rescue.Node;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellRow;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.store.StoreSettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A node whose dispatcher is slow to hear looks at the lanes several times meanwhile. */
class LostLanesTest {
  private static final int LANES = 4;
  private static final Duration NEVER = Duration.ofHours(1);

  private final InboxStore store = MemoryStore.create();
  private final List<InboxEvent> told = new ArrayList<>();

  private List<List<HandlerId>> keys;

  @BeforeEach
  void registerHandler() {
    store.maintenance().open(new StoreSettings("inbox", LANES, 4, 1 << 20));
    keys = store.maintenance().register(List.of(List.of("h")));
  }

  @Test
  void aLaneThatAnotherHasTakenIsCountedOnce() {
    Node slow = joined(NEVER, told::add);
    assertThat(lanes(InboxEvent.Move.ACQUIRED)).isEqualTo(LANES);
    store.nodes().declareDead(slow.incarnation(), 0);
    joined(NEVER, event -> {});

    slow.tick();
    slow.tick();

    assertThat(lanes(InboxEvent.Move.LOST)).isEqualTo(LANES);
  }

  @Test
  void aLaneOfANodeThatWasDeclaredDeadIsCountedOnce() {
    Node slow = joined(Duration.ofNanos(1), told::add);
    store.nodes().declareDead(slow.incarnation(), 0);
    joined(NEVER, event -> {});

    slow.tick(); // beats, hears that it is dead, and starts again
    slow.tick();

    assertThat(lanes(InboxEvent.Move.LOST)).isEqualTo(LANES);
  }

  private Node joined(Duration beat, InboxListener listener) {
    Node node =
        new Node(
            store,
            new Events("inbox", List.of(listener)),
            "node",
            new HandlerKeys(store.nodes(), keys),
            beat,
            NEVER,
            new LastHeartbeat(NEVER),
            NEVER,
            new SlowToHear());
    node.join();
    return node;
  }

  private int lanes(InboxEvent.Move move) {
    return told.stream()
        .filter(InboxEvent.LanesMoved.class::isInstance)
        .map(InboxEvent.LanesMoved.class::cast)
        .filter(event -> event.move() == move)
        .mapToInt(InboxEvent.LanesMoved::lanes)
        .sum();
  }

  /** Owns what it was ever given. */
  static final class SlowToHear implements Node.Cells {
    private final Set<Cell> owned = new HashSet<>();

    @Override
    public void taken(List<CellRow> cells) {
      cells.forEach(each -> owned.add(each.cell()));
    }

    @Override
    public void wanted(List<Cell> cells) {}

    @Override
    public void unwanted(List<Cell> cells) {}

    @Override
    public void gone(List<Cell> cells) {}

    @Override
    public void lost() {}

    @Override
    public void paused(Set<Integer> families) {}

    @Override
    public Set<Cell> owned() {
      return owned;
    }

    @Override
    public Set<Cell> leaving() {
      return Set.of();
    }

    @Override
    public Set<Cell> busy() {
      return Set.of();
    }
  }
}
