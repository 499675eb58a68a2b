package dev.pigeonhole.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.internal.dispatch.Events;
import dev.pigeonhole.internal.rescue.HandlerKeys;
import dev.pigeonhole.internal.rescue.LastHeartbeat;
import dev.pigeonhole.internal.rescue.Node;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellRow;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.StoreSettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * A database that forgets that a lane was given back, and no heartbeat: a failover to a standby
 * that lags behind by less than a heartbeat.
 */
class ForgottenGiveBackTest {
  private static final int LANES = 4;
  private static final Duration NEVER = Duration.ofHours(1);

  private final MemoryStore memory = MemoryStore.create();
  private final HookedStore store = new HookedStore(memory);
  private final Mailbox dispatcher = new Mailbox();

  private List<List<HandlerId>> keys;
  private Node node;
  private CellRow first;

  @BeforeEach
  void joinAlone() {
    store.maintenance().open(new StoreSettings("inbox", LANES, 4, 1 << 20));
    keys = store.maintenance().register(List.of(List.of("h")));
    node = joined(NEVER);
    first = rows().get(0);
  }

  private Node joined(Duration beat) {
    Node joined =
        new Node(
            store,
            new Events("inbox", List.of()),
            "node",
            new HandlerKeys(store.nodes(), keys),
            beat,
            NEVER,
            new LastHeartbeat(NEVER),
            NEVER,
            dispatcher);
    joined.join();
    dispatcher.read();
    return joined;
  }

  private List<CellRow> rows() {
    return memory.nodes().cells(Set.of(keys.get(0).get(0).family()));
  }

  private CellRow row(Cell cell) {
    return rows().stream().filter(each -> each.cell().equals(cell)).findFirst().orElseThrow();
  }

  /** What the dispatcher does once no attempt runs in the lane. */
  private void giveBack(CellRow taken) {
    node.giveBack(taken.owner(), List.of(taken.cell()));
    dispatcher.cells.remove(taken.cell());
  }

  private void forgetWhatCameAfter(CellRow before) {
    memory
        .tables()
        .commit(
            () ->
                memory
                    .tables()
                    .ownership
                    .change(row -> row.cell().equals(before.cell()), row -> before));
  }

  @Test
  void theLaneIsTakenAnew() {
    giveBack(first);
    forgetWhatCameAfter(first);

    node.tick();
    dispatcher.read();

    assertThat(row(first.cell()).token()).isGreaterThan(first.token());
    assertThat(dispatcher.cells).containsEntry(first.cell(), row(first.cell()));
  }

  @Test
  void theLaneIsTakenAnewAlsoIfTheNodeWasLookingWhenItWasGivenBack() {
    store.around(
        "cells",
        call -> {
          Object seen = call.proceed();
          store.unhook("cells");
          giveBack(first);
          forgetWhatCameAfter(first);
          return seen;
        });
    node.tick();

    node.tick();
    dispatcher.read();

    assertThat(dispatcher.cells).containsEntry(first.cell(), row(first.cell()));
  }

  @Test
  void aLaneThatIsGivenBackWhileTheNodeLooksIsLeftToOthers() {
    store.around(
        "cells",
        call -> {
          Object seen = call.proceed();
          giveBack(first);
          return seen;
        });

    node.tick();
    dispatcher.read();

    assertThat(row(first.cell()).owner()).as("as it was given back").isZero();
    assertThat(dispatcher.cells).doesNotContainKey(first.cell());
  }

  @Test
  void aLaneThatAnotherNodeHasTakenIsLeftToIt() {
    long other = memory.nodes().join("other", Set.of(first.cell().handler()));
    giveBack(first);
    assertThat(memory.nodes().take(other, List.of(first.cell()))).hasSize(1);

    node.tick();
    dispatcher.read();

    assertThat(row(first.cell()).owner()).isEqualTo(other);
    assertThat(dispatcher.cells).doesNotContainKey(first.cell());
  }

  @Test
  void aLaneThatTheNodeTakesAgainBeforeTheGiveBackReturnsIsHeld() {
    store.around(
        "giveBack",
        call -> {
          Object answer = call.proceed();
          node.tick(); // on the node's own thread: it finds the lane free
          return answer;
        });
    giveBack(first);
    dispatcher.read();
    CellRow again = row(first.cell());
    assertThat(again.token()).isGreaterThan(first.token());
    assertThat(dispatcher.cells).containsEntry(first.cell(), again);

    node.tick();

    assertThat(row(first.cell())).as("not taken a third time").isEqualTo(again);
  }

  @Test
  void aGiveBackOfAFormerIncarnationLeavesTheLanesOfTheNext() {
    memory.nodes().stopped(node.incarnation());
    node = joined(Duration.ofNanos(1));
    CellRow former = rows().get(0);
    memory.nodes().declareDead(former.owner(), 0);
    node.tick(); // joins again
    List<CellRow> taken = rows();
    assertThat(taken).allMatch(row -> row.owner() == node.incarnation());

    node.giveBack(former.owner(), List.of(former.cell()));
    node.tick();

    assertThat(rows()).isEqualTo(taken);
  }

  @Test
  void ofALaneThatIsTakenAnewTheFormerTakeIsDropped() {
    dispatcher.leaving.add(first.cell());
    store.around(
        "giveBack",
        call -> {
          call.proceed();
          throw new IllegalStateException("The answer is lost.");
        });
    assertThatThrownBy(() -> giveBack(first)).hasMessage("The answer is lost.");

    node.tick(); // finds the lane free
    dispatcher.read();

    assertThat(row(first.cell()).token()).isGreaterThan(first.token());
    assertThat(dispatcher.cells).containsEntry(first.cell(), row(first.cell()));
  }

  /** A dispatcher that reads its mail when the test lets it. */
  private static final class Mailbox implements Node.Cells {
    final Map<Cell, CellRow> cells = new HashMap<>();
    final Set<Cell> leaving = new HashSet<>();
    private final List<Runnable> mail = new ArrayList<>();

    void read() {
      mail.forEach(Runnable::run);
      mail.clear();
    }

    @Override
    public void taken(List<CellRow> taken) {
      mail.add(() -> taken.forEach(row -> cells.putIfAbsent(row.cell(), row)));
    }

    @Override
    public void wanted(List<Cell> wanted) {}

    @Override
    public void unwanted(List<Cell> unwanted) {}

    @Override
    public void gone(List<Cell> gone) {
      mail.add(() -> gone.forEach(cells::remove));
    }

    @Override
    public void lost() {
      mail.add(cells::clear);
    }

    @Override
    public void paused(Set<Integer> families) {}

    @Override
    public Set<Cell> owned() {
      return cells.keySet().stream()
          .filter(cell -> !leaving.contains(cell))
          .collect(Collectors.toSet());
    }

    @Override
    public Set<Cell> leaving() {
      return Set.copyOf(leaving);
    }

    @Override
    public Set<Cell> busy() {
      return Set.of();
    }
  }
}
