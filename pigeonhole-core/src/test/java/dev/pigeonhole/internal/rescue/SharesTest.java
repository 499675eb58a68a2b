package dev.pigeonhole.internal.rescue;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellRow;
import dev.pigeonhole.store.NodeRow;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SharesTest {
  private static final int HANDLER = 7;

  private static NodeRow node(long incarnation, NodeRow.State state, Integer... handlers) {
    return new NodeRow(incarnation, "n" + incarnation, state, 1, Set.of(handlers));
  }

  private static NodeRow live(long incarnation) {
    return node(incarnation, NodeRow.State.LIVE, HANDLER);
  }

  private static Shares shares(List<CellRow> cells, List<NodeRow> nodes, long self) {
    return Shares.of(cells, nodes, self, Set.of(), Set.of(), Set.of());
  }

  private static Set<Cell> lanes(int... lanes) {
    return java.util.Arrays.stream(lanes)
        .mapToObj(lane -> new Cell(lane, HANDLER))
        .collect(Collectors.toSet());
  }

  /** So many cells for each owner, in this order; 0 owns the free ones. */
  private static List<CellRow> cells(long... owners) {
    List<CellRow> rows = new ArrayList<>();
    for (int lane = 0; lane < owners.length; lane++) {
      rows.add(new CellRow(new Cell(lane, HANDLER), owners[lane], 1, false));
    }
    return rows;
  }

  private static List<CellRow> all(int cells, long owner) {
    long[] owners = new long[cells];
    java.util.Arrays.fill(owners, owner);
    return cells(owners);
  }

  @ParameterizedTest
  @CsvSource({"64,1,64", "64,2,32", "64,3,22", "64,64,1", "64,65,1", "1,3,1"})
  void aNodeTakesItsShareRoundedUp(int cells, int nodes, int share) {
    List<NodeRow> fleet = new ArrayList<>();
    for (long i = 1; i <= nodes; i++) {
      fleet.add(live(i));
    }
    Shares shares = shares(all(cells, 0), fleet, 1);

    assertThat(shares.take()).hasSize(share);
    assertThat(shares.giveBack()).isEmpty();
  }

  @Test
  void nobodyStealsFromTheLiving() {
    Shares shares = shares(cells(2, 2, 2, 0), List.of(live(1), live(2)), 1);

    assertThat(shares.take()).containsExactly(new Cell(3, HANDLER));
  }

  @ParameterizedTest
  @CsvSource({"64,8", "33,1", "34,1", "36,1", "37,2"})
  void aQuarterOfTheSurplusIsGivenBackAtATime(int owned, int given) {
    long[] owners = new long[64];
    java.util.Arrays.fill(owners, 0, owned, 1);
    java.util.Arrays.fill(owners, owned, 64, 2);

    Shares shares = shares(cells(owners), List.of(live(1), live(2)), 1);

    assertThat(shares.giveBack()).hasSize(given);
    assertThat(shares.take()).isEmpty();
  }

  @Test
  void cellsThatAreLeavingAreNoLongerCounted() {
    List<CellRow> rows = all(64, 1);
    Set<Cell> leaving = new HashSet<>();
    for (CellRow row : rows.subList(32, 64)) {
      leaving.add(row.cell());
    }

    Shares shares = Shares.of(rows, List.of(live(1), live(2)), 1, leaving, Set.of(), Set.of());

    assertThat(shares.giveBack()).isEmpty();
    assertThat(shares.keep()).isEmpty();
  }

  @Test
  void cellsOfWhichNothingRunsAreGivenBackFirst() {
    List<CellRow> rows = all(16, 1);
    Set<Cell> busy = lanes(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15);

    Shares shares = Shares.of(rows, List.of(live(1), live(2)), 1, Set.of(), busy, Set.of());

    assertThat(shares.giveBack()).containsExactlyInAnyOrderElementsOf(lanes(11, 15));
  }

  @Test
  void aBusyCellThatCouldNotLeaveLatelyIsNotTriedAgain() {
    List<CellRow> rows = all(4, 1);
    List<NodeRow> two = List.of(live(1), live(2));
    Set<Cell> busy = lanes(0, 1, 2, 3);

    assertThat(Shares.of(rows, two, 1, Set.of(), busy, lanes(2, 3)).giveBack())
        .containsExactlyElementsOf(lanes(1));
    assertThat(Shares.of(rows, two, 1, Set.of(), busy, busy).giveBack()).isEmpty();
    assertThat(Shares.of(rows, two, 1, Set.of(), lanes(0, 1, 3), busy).giveBack())
        .as("idle by now")
        .containsExactlyElementsOf(lanes(2));
  }

  @Test
  void leavingCellsStayBeforeFreeOnesAreTaken() {
    List<CellRow> rows = cells(1, 1, 1, 1, 0, 0);

    Shares alone = Shares.of(rows, List.of(live(1)), 1, lanes(2, 3), lanes(2, 3), Set.of());
    assertThat(alone.keep()).containsExactlyInAnyOrderElementsOf(lanes(2, 3));
    assertThat(alone.take()).containsExactlyInAnyOrderElementsOf(lanes(4, 5));

    Shares one = Shares.of(rows, List.of(live(1), live(2)), 1, lanes(2, 3), lanes(2, 3), Set.of());
    assertThat(one.keep()).as("up to the share").hasSize(1);
    assertThat(one.take()).isEmpty();
  }

  @Test
  void onlyLivingNodesThatKnowTheHandlerShareIt() {
    List<NodeRow> fleet =
        List.of(
            live(1),
            node(2, NodeRow.State.LIVE, 99),
            node(3, NodeRow.State.STOPPING, HANDLER),
            node(4, NodeRow.State.STOPPED, HANDLER),
            node(5, NodeRow.State.DEAD, HANDLER));

    assertThat(shares(all(64, 0), fleet, 1).take()).hasSize(64);
    assertThat(shares(all(64, 1), fleet, 1).giveBack()).isEmpty();
  }

  @Test
  void eachHandlerIsSharedByItself() {
    List<CellRow> rows = new ArrayList<>();
    for (int handler = 1; handler <= 3; handler++) {
      for (int lane = 0; lane < 8; lane++) {
        rows.add(new CellRow(new Cell(lane, handler), 0, 1, false));
      }
    }
    List<NodeRow> fleet =
        List.of(node(1, NodeRow.State.LIVE, 1, 2, 3), node(2, NodeRow.State.LIVE, 1, 2));

    Shares shares = shares(rows, fleet, 1);

    assertThat(shares.take()).filteredOn(cell -> cell.handler() == 1).hasSize(4);
    assertThat(shares.take()).filteredOn(cell -> cell.handler() == 2).hasSize(4);
    assertThat(shares.take()).filteredOn(cell -> cell.handler() == 3).hasSize(8);
  }

  @Test
  void aFleetSettlesWithEveryCellOwnedAndNobodyAboveItsShare() {
    Map<Cell, Long> owners = new HashMap<>();
    for (int lane = 0; lane < 64; lane++) {
      owners.put(new Cell(lane, HANDLER), 0L);
    }
    List<NodeRow> fleet = new ArrayList<>();
    int turns = 0;
    for (long nodes = 1; nodes <= 5; nodes++) {
      fleet.add(live(nodes));
      boolean changed = true;
      while (changed) {
        changed = false;
        for (NodeRow node : fleet) {
          Shares shares = shares(rows(owners), fleet, node.incarnation());
          shares.giveBack().forEach(cell -> owners.put(cell, 0L));
          shares.take().forEach(cell -> owners.put(cell, node.incarnation()));
          changed |= !shares.giveBack().isEmpty() || !shares.take().isEmpty();
        }
        assertThat(++turns).isLessThan(200);
      }
      assertThat(owners.values()).doesNotContain(0L);
      long share = (64 + nodes - 1) / nodes;
      for (NodeRow node : fleet) {
        assertThat(owners.values().stream().filter(owner -> owner == node.incarnation()).count())
            .isBetween(1L, share);
      }
    }
  }

  private static List<CellRow> rows(Map<Cell, Long> owners) {
    return owners.entrySet().stream()
        .map(entry -> new CellRow(entry.getKey(), entry.getValue(), 1, false))
        .toList();
  }
}
