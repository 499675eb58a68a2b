package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellRow;
import dev.pigeonhole.store.Nodes;
import dev.pigeonhole.support.TestDatabase;
import java.sql.Connection;
import java.sql.Statement;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A process stands still in the middle of taking lanes. */
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
    try (Connection paused = database.dataSource().getConnection();
        Statement statement = paused.createStatement()) {
      paused.setAutoCommit(false);
      statement.executeQuery(
          "SELECT owner FROM %s WHERE lane = %d AND handler = %d FOR UPDATE"
              .formatted(rig.table("lane"), locked.lane(), locked.handler()));

      assertThat(nodes.take(node, cells))
          .extracting(CellRow::cell)
          .containsExactlyInAnyOrder(cells.get(0), cells.get(2), cells.get(3));
      paused.rollback();
    }

    assertThat(nodes.take(node, cells)).extracting(CellRow::cell).containsExactly(locked);
  }
}
