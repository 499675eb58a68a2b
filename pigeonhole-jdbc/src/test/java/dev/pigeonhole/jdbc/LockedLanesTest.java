package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellRow;
import dev.pigeonhole.store.NodeRow;
import dev.pigeonhole.store.Nodes;
import dev.pigeonhole.support.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A process stands still in a transaction that holds rows of nodes, lanes or handlers. Others wait
 * for none of them, or they could not beat meanwhile: a statement that waits here fails after half
 * a minute.
 */
@Timeout(600)
class LockedLanesTest {

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void aLockedLaneKeepsNobodyFromTakingTheOthers(TestDatabase database) throws Exception {
    Rig rig = Rig.on(database);
    Nodes nodes = rig.store.nodes();
    long node = nodes.join("node", Set.of(rig.a.family()));
    List<Cell> cells = Rig.cells(rig.a);
    Cell locked = cells.get(1);
    try (Connection paused = lock(rig, "lane", isLane(locked))) {
      assertThat(nodes.take(node, cells))
          .extracting(CellRow::cell)
          .containsExactlyInAnyOrder(cells.get(0), cells.get(2), cells.get(3));
      paused.rollback();
    }

    assertThat(nodes.take(node, cells)).extracting(CellRow::cell).containsExactly(locked);
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void aLockedNodeIsDeclaredDeadOnlyAfterwards(TestDatabase database) throws Exception {
    Rig rig = Rig.on(database);
    Nodes nodes = rig.store.nodes();
    long silent = nodes.join("silent", Set.of(rig.a.family()));
    nodes.take(silent, Rig.cells(rig.a));
    try (Connection paused = lock(rig, "node", "incarnation = " + silent)) {
      assertThat(nodes.declareDead(silent, 0)).isFalse();
      paused.rollback();
    }

    assertNothingOfItIsLost(rig, silent);
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void aNodeWithALockedLaneIsDeclaredDeadOnlyAfterwards(TestDatabase database) throws Exception {
    Rig rig = Rig.on(database);
    Nodes nodes = rig.store.nodes();
    long silent = nodes.join("silent", Set.of(rig.a.family()));
    nodes.take(silent, Rig.cells(rig.a));
    try (Connection paused = lock(rig, "lane", isLane(Rig.cells(rig.a).get(2)))) {
      assertThat(nodes.declareDead(silent, 0)).isFalse();
      paused.rollback();
    }

    assertNothingOfItIsLost(rig, silent);
  }

  /** It is still alive and the owner of all its lanes. Then it is declared dead. */
  private static void assertNothingOfItIsLost(Rig rig, long silent) {
    Nodes nodes = rig.store.nodes();
    assertThat(nodes.beat(silent, 0)).isTrue();
    assertThat(nodes.cells(Set.of(rig.a.family())))
        .hasSize(Rig.LANES)
        .allSatisfy(row -> assertThat(row.owner()).isEqualTo(silent));

    assertThat(nodes.declareDead(silent, 1)).isTrue();

    assertThat(nodes.cells(Set.of(rig.a.family())))
        .hasSize(Rig.LANES)
        .allSatisfy(row -> assertThat(row.owner()).isZero())
        .allMatch(CellRow::unclean);
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void aLockedNodeOrLaneKeepsNobodyFromJoiningAndStopping(TestDatabase database) throws Exception {
    Rig rig = Rig.on(database);
    Nodes nodes = rig.store.nodes();
    long paused = nodes.join("paused", Set.of(rig.a.family()));
    Cell locked = Rig.cells(rig.a).get(0);
    nodes.take(paused, List.of(locked));
    long other;
    try (Connection ofNode = lock(rig, "node", "incarnation = " + paused);
        Connection ofLane = lock(rig, "lane", isLane(locked))) {
      other = nodes.join("other", Set.of(rig.b.family()));
      assertThat(nodes.take(other, Rig.cells(rig.b))).hasSize(Rig.LANES);
      nodes.stopped(other);
      ofNode.rollback();
      ofLane.rollback();
    }

    assertThat(nodes.nodes())
        .extracting(NodeRow::incarnation, NodeRow::state)
        .containsExactly(tuple(paused, NodeRow.State.LIVE), tuple(other, NodeRow.State.STOPPED));
    assertThat(nodes.cells(Set.of(rig.b.family())))
        .allSatisfy(row -> assertThat(row.owner()).isZero());
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void noTimeIsCountedForAHandlerThatAJoiningNodeHolds(TestDatabase database) throws Exception {
    Rig rig = Rig.on(database);
    Nodes nodes = rig.store.nodes();
    nodes.unknownFor(rig.a.family(), 60_000);
    database.execute(
        "UPDATE %s SET unknown_ms = 5000 WHERE key_id = %d"
            .formatted(rig.table("handler"), rig.a.family()));
    try (Connection joining = lock(rig, "handler", "key_id = " + rig.a.family())) {
      assertThat(nodes.unknownFor(rig.a.family(), 60_000)).isZero();
      joining.rollback();
    }

    assertThat(nodes.unknownFor(rig.a.family(), 60_000)).isGreaterThanOrEqualTo(5_000);
  }

  private static String isLane(Cell cell) {
    return "lane = %d AND handler = %d".formatted(cell.lane(), cell.handler());
  }

  /** Like a process that stands still in the transaction of this connection. */
  private static Connection lock(Rig rig, String table, String which) throws SQLException {
    Connection paused = rig.database.dataSource().getConnection();
    try (Statement statement = paused.createStatement()) {
      paused.setAutoCommit(false);
      assertThat(
              statement
                  .executeQuery(
                      "SELECT 1 FROM %s WHERE %s FOR UPDATE".formatted(rig.table(table), which))
                  .next())
          .isTrue();
    }
    return paused;
  }
}
