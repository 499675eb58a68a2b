package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellRow;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NodeRow;
import dev.pigeonhole.store.NodeRow.State;
import dev.pigeonhole.store.Nodes;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Nodes, their beats, and who owns which cell. */
abstract class NodeContract extends StoreFixture {
  private HandlerId a;
  private HandlerId b;
  private Nodes nodes;

  NodeContract(InboxStoreContract contract) {
    super(contract);
  }

  @BeforeEach
  void registerHandlers() {
    a = handler("a");
    b = handler("b");
    nodes = store.nodes();
  }

  @Test
  void aNodeThatJoinsIsLiveAndListsWhatItCanRun() {
    long incarnation = nodes.join("host-1/4711", Set.of(a.family(), b.family()));

    assertThat(incarnation).isPositive();
    NodeRow row = node(incarnation);
    assertThat(row.name()).isEqualTo("host-1/4711");
    assertThat(row.state()).isEqualTo(State.LIVE);
    assertThat(row.handlers()).containsExactlyInAnyOrder(a.family(), b.family());
    assertThat(row.alive()).isTrue();
  }

  @Test
  void operatorsSeeTheSameNodesAsNodesDo() {
    nodes.join("lives", Set.of(a.family(), b.family()));
    long stopped = nodes.join("stopped", Set.of(a.family()));
    nodes.stopped(stopped);
    long dead = nodes.join("dead", Set.of());
    nodes.declareDead(dead, 0);

    assertThat(store.admin().nodes()).isEqualTo(nodes.nodes());
    assertThat(store.admin().nodes())
        .extracting(NodeRow::state)
        .containsExactly(State.LIVE, State.STOPPED, State.DEAD);
  }

  @Test
  void aNodeMayKnowNoHandlerAtAll() {
    assertThat(node(nodes.join("n", Set.of())).handlers()).isEmpty();
  }

  @Test
  void eachIncarnationIsHigherThanAnyBefore() {
    long first = join();
    long second = join();
    nodes.stopped(second);
    long third = join();

    assertThat(List.of(first, second, third)).isSorted().doesNotHaveDuplicates();
  }

  @Test
  void aBeatAddsOne() {
    long incarnation = join();
    long before = node(incarnation).beat();

    assertThat(nodes.beat(incarnation, 0)).isTrue();
    assertThat(nodes.beat(incarnation, 0)).isTrue();
    assertThat(node(incarnation).beat()).isEqualTo(before + 2);
  }

  /** A backup was restored under a running node. */
  @Test
  void aNodeWhoseBeatsTheStoreHasForgottenIsOver() {
    long incarnation = join();
    nodes.take(incarnation, cells(a));
    nodes.beat(incarnation, 0);
    nodes.beat(incarnation, 1);
    CellRow before = row(cell(0, a));

    assertThat(nodes.beat(incarnation, 3)).isFalse();

    assertThat(node(incarnation).state()).isEqualTo(State.DEAD);
    assertThat(row(cell(0, a))).isEqualTo(new CellRow(cell(0, a), 0, before.token() + 1, true));
    assertThat(nodes.beat(incarnation, 0)).isFalse();
  }

  /** One whose number was given twice would beat for two processes. */
  @Test
  void anIncarnationCannotBeGuessedFromTheOneBefore() {
    Set<Long> lowerHalves = new HashSet<>();
    for (int i = 0; i < 8; i++) {
      lowerHalves.add(join() & 0x7fff_ffffL);
    }

    assertThat(lowerHalves).hasSizeGreaterThan(6);
  }

  /** A receiver that compares tokens must not refuse whoever comes after a failover. */
  @Test
  void aTokenIsNotLowerThanOneThatTheStoreMayHaveForgotten() {
    long incarnation = join();

    long first = nodes.take(incarnation, List.of(cell(1, a))).get(0).token();
    assertThat(first).isGreaterThanOrEqualTo(clock.now().toEpochMilli());
    clock.advance(Duration.ofHours(1));
    long later = nodes.take(incarnation, List.of(cell(2, a))).get(0).token();
    assertThat(later - first).isGreaterThanOrEqualTo(Duration.ofHours(1).toMillis());
  }

  @Test
  void aNodeThatNeverJoinedCannotBeat() {
    assertThat(nodes.beat(join() + 1000, 0)).isFalse();
  }

  @Test
  void everyFamilyHasOneFreeCellInEachLane() {
    assertThat(nodes.cells(Set.of(a.family(), b.family())))
        .extracting(CellRow::cell)
        .containsExactlyInAnyOrderElementsOf(concat(cells(a), cells(b)));
    assertThat(nodes.cells(Set.of(a.family())))
        .allSatisfy(
            row -> {
              assertThat(row.owner()).isZero();
              assertThat(row.unclean()).isFalse();
              assertThat(row.cell().handler()).isEqualTo(a.family());
            });
    assertThat(nodes.cells(Set.of())).isEmpty();
  }

  @Test
  void aFreeCellIsTakenWithAHigherToken() {
    long incarnation = join();
    long token = row(cell(1, a)).token();

    List<CellRow> taken = nodes.take(incarnation, List.of(cell(1, a), cell(2, b)));

    assertThat(taken).extracting(CellRow::cell).containsExactlyInAnyOrder(cell(1, a), cell(2, b));
    CellRow row = row(cell(1, a));
    assertThat(row).isEqualTo(new CellRow(cell(1, a), incarnation, row.token(), false));
    assertThat(row.token()).isGreaterThan(token);
    assertThat(taken).contains(row);
    assertThat(row(cell(0, a)).owner()).isZero();
  }

  @Test
  void cellsOfOneLaneMayHaveDifferentOwners() {
    long first = join();
    long second = join();

    assertThat(nodes.take(first, List.of(cell(1, a)))).hasSize(1);
    assertThat(nodes.take(second, List.of(cell(1, a), cell(1, b)))).hasSize(1);

    assertThat(row(cell(1, a)).owner()).isEqualTo(first);
    assertThat(row(cell(1, b)).owner()).isEqualTo(second);
  }

  @Test
  void whatSomebodyOwnsIsNotTakenNotEvenByItself() {
    long incarnation = join();
    nodes.take(incarnation, cells(a));
    CellRow before = row(cell(0, a));

    assertThat(nodes.take(incarnation, cells(a))).isEmpty();
    assertThat(row(cell(0, a))).isEqualTo(before);
  }

  @Test
  void aCellThatDoesNotExistIsNotTaken() {
    assertThat(nodes.take(join(), List.of(new Cell(0, a.family() + 1000)))).isEmpty();
    assertThat(nodes.take(join(), List.of())).isEmpty();
  }

  @Test
  void aCellGivenBackIsCleanAndFree() {
    long incarnation = join();
    nodes.take(incarnation, cells(a));
    long token = row(cell(1, a)).token();
    nodes.giveBack(incarnation, List.of(cell(1, a), cell(1, b)));

    assertThat(row(cell(1, a)).owner()).isZero();
    assertThat(row(cell(1, a)).unclean()).isFalse();
    assertThat(row(cell(0, a)).owner()).isEqualTo(incarnation);

    CellRow again = nodes.take(incarnation, List.of(cell(1, a))).get(0);
    assertThat(again.token()).isGreaterThan(token);
    assertThat(again.unclean()).isFalse();
  }

  @Test
  void aCellOnProbationStaysSoWhenItIsGivenBack() {
    long next = takeOverFromTheDead();

    nodes.giveBack(next, List.of(cell(1, a)));

    assertThat(nodes.take(next, List.of(cell(1, a)))).extracting(CellRow::unclean).contains(true);
  }

  @Test
  void aCleanStopEndsTheProbationOfWhatIsLeft() {
    long next = takeOverFromTheDead();

    nodes.stopped(next);

    assertThat(nodes.cells(Set.of(a.family()))).extracting(CellRow::unclean).containsOnly(false);
  }

  private long takeOverFromTheDead() {
    long dead = join();
    long next = join();
    nodes.take(dead, cells(a));
    nodes.declareDead(dead, node(dead).beat());
    nodes.take(next, cells(a));
    return next;
  }

  @Test
  void nobodyGivesBackWhatAnotherOwns() {
    long owner = join();
    long other = join();
    nodes.take(owner, cells(a));
    CellRow before = row(cell(0, a));

    nodes.giveBack(other, cells(a));
    nodes.markClean(other, cells(a));

    assertThat(row(cell(0, a))).isEqualTo(before);
  }

  @Test
  void b58_aNodeIsDeclaredDeadOnlyAtTheBeatThatWasSeen() {
    long incarnation = join();
    join();
    long seen = node(incarnation).beat();
    nodes.beat(incarnation, 0);

    assertThat(nodes.declareDead(incarnation, seen)).isFalse();
    assertThat(node(incarnation).state()).isEqualTo(State.LIVE);
    assertThat(nodes.declareDead(incarnation, seen + 1)).isTrue();
    assertThat(node(incarnation).state()).isEqualTo(State.DEAD);
    assertThat(node(incarnation).alive()).isFalse();
  }

  @Test
  void aDeadNodesCellsAreFreedAsUnclean() {
    long dead = join();
    long other = join();
    nodes.take(dead, cells(a));
    nodes.take(other, List.of(cell(0, b)));
    CellRow before = row(cell(1, a));
    CellRow others = row(cell(0, b));
    nodes.declareDead(dead, node(dead).beat());

    assertThat(row(cell(1, a))).isEqualTo(new CellRow(cell(1, a), 0, before.token() + 1, true));
    assertThat(row(cell(0, b))).isEqualTo(others);

    CellRow taken = nodes.take(other, List.of(cell(1, a))).get(0);
    assertThat(taken).isEqualTo(new CellRow(cell(1, a), other, taken.token(), true));
    assertThat(taken.token()).isGreaterThan(before.token() + 1);
  }

  @Test
  void probationEndsWhenItsOwnerSaysSo() {
    long dead = join();
    long next = join();
    nodes.take(dead, cells(a));
    nodes.declareDead(dead, node(dead).beat());
    nodes.take(next, cells(a));
    CellRow before = row(cell(1, a));

    nodes.markClean(next, List.of(cell(1, a)));

    assertThat(row(cell(1, a))).isEqualTo(new CellRow(cell(1, a), next, before.token(), false));
    assertThat(row(cell(2, a)).unclean()).isTrue();
  }

  @Test
  void b61_aNodeThatWasDeclaredDeadNeitherBeatsNorTakesNorGivesBack() {
    long dead = join();
    long next = join();
    nodes.take(dead, cells(a));
    nodes.declareDead(dead, node(dead).beat());
    nodes.take(next, cells(a));
    CellRow before = row(cell(0, a));

    assertThat(nodes.beat(dead, 0)).isFalse();
    assertThat(nodes.take(dead, cells(b))).isEmpty();
    nodes.giveBack(dead, cells(a));
    nodes.markClean(dead, cells(a));
    nodes.stopping(dead);
    nodes.stopped(dead);

    assertThat(row(cell(0, a))).isEqualTo(before);
    assertThat(node(dead).state()).isEqualTo(State.DEAD);
    assertThat(nodes.declareDead(dead, node(dead).beat())).isFalse();
  }

  @Test
  void aStoppingNodeBeatsButTakesNothing() {
    long incarnation = join();
    nodes.take(incarnation, List.of(cell(0, a)));
    nodes.stopping(incarnation);

    assertThat(node(incarnation).state()).isEqualTo(State.STOPPING);
    assertThat(node(incarnation).alive()).isTrue();
    assertThat(nodes.beat(incarnation, 0)).isTrue();
    assertThat(nodes.take(incarnation, List.of(cell(1, a)))).isEmpty();
    assertThat(row(cell(0, a)).owner()).isEqualTo(incarnation);
  }

  @Test
  void aStoppingNodeThatFallsSilentCanBeDeclaredDead() {
    long incarnation = join();
    join();
    nodes.take(incarnation, cells(a));
    nodes.stopping(incarnation);

    assertThat(nodes.declareDead(incarnation, node(incarnation).beat())).isTrue();
    assertThat(row(cell(0, a)).unclean()).isTrue();
  }

  @Test
  void aStoppedNodeLeavesEverythingClean() {
    long incarnation = join();
    nodes.take(incarnation, concat(cells(a), cells(b)));
    nodes.stopping(incarnation);
    nodes.stopped(incarnation);

    assertThat(node(incarnation).state()).isEqualTo(State.STOPPED);
    assertThat(nodes.cells(Set.of(a.family(), b.family())))
        .allSatisfy(
            row -> {
              assertThat(row.owner()).isZero();
              assertThat(row.unclean()).isFalse();
            });
    assertThat(nodes.beat(incarnation, 0)).isFalse();
    assertThat(nodes.take(incarnation, cells(a))).isEmpty();
    assertThat(nodes.declareDead(incarnation, node(incarnation).beat())).isFalse();
  }

  @Test
  void newHandlersGetTheirCellsWhileNodesAreRunning() {
    long incarnation = join();
    nodes.take(incarnation, cells(a));
    HandlerId late = handler("late");

    assertThat(nodes.take(incarnation, cells(late))).hasSize(lanes());
    assertThat(row(cell(0, a)).owner()).isEqualTo(incarnation);
  }

  @Test
  void theTimeDuringWhichNobodyKnowsAFamilyAddsUp() {
    assertThat(nodes.unknownFor(a.family(), 5_000)).isZero();
    clock.advance(Duration.ofSeconds(2));
    assertThat(nodes.unknownFor(a.family(), 5_000)).isEqualTo(2_000);
    assertThat(nodes.unknownFor(a.family(), 5_000)).isEqualTo(2_000);
    clock.advance(Duration.ofSeconds(3));
    assertThat(nodes.unknownFor(a.family(), 5_000)).isEqualTo(5_000);
    assertThat(nodes.unknownFor(b.family(), 5_000)).isZero();
  }

  @Test
  void aTimeInWhichNobodyLookedCountsOnlyUpToTheCap() {
    nodes.unknownFor(a.family(), 5_000);
    clock.advance(Duration.ofHours(1));

    assertThat(nodes.unknownFor(a.family(), 5_000)).isEqualTo(5_000);
  }

  @Test
  void aFamilyThatIsKnownAgainStartsFromNothing() {
    nodes.unknownFor(a.family(), 5_000);
    nodes.unknownFor(b.family(), 5_000);
    clock.advance(Duration.ofSeconds(2));
    nodes.unknownFor(a.family(), 5_000);
    nodes.known(Set.of(a.family()));
    clock.advance(Duration.ofSeconds(2));

    assertThat(nodes.unknownFor(a.family(), 5_000)).isZero();
    assertThat(nodes.unknownFor(b.family(), 5_000)).isEqualTo(4_000);
    nodes.known(Set.of());
  }

  private long join() {
    return nodes.join("node", Set.of(a.family(), b.family()));
  }

  private NodeRow node(long incarnation) {
    return nodes.nodes().stream()
        .filter(row -> row.incarnation() == incarnation)
        .findFirst()
        .orElseThrow();
  }

  private CellRow row(Cell cell) {
    return nodes.cells(Set.of(cell.handler())).stream()
        .filter(row -> row.cell().equals(cell))
        .findFirst()
        .orElseThrow();
  }
}
