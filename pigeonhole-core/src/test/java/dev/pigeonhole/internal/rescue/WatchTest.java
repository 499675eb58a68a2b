package dev.pigeonhole.internal.rescue;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.store.NodeRow;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class WatchTest {
  private static final long SECOND = Duration.ofSeconds(1).toNanos();
  private static final long SELF = 1;

  private final Watch watch = new Watch(Duration.ofSeconds(8), Duration.ofSeconds(2));

  /** Any start will do: the monotonic clock may even be negative and run over. */
  private long now = Long.MAX_VALUE - 5 * SECOND;

  private static NodeRow node(long incarnation, long beat) {
    return new NodeRow(incarnation, "n", NodeRow.State.LIVE, beat, Set.of());
  }

  private List<NodeRow> lookAfter(long nanos, NodeRow... nodes) {
    now += nanos;
    return watch.silent(List.of(nodes), SELF, now);
  }

  @Test
  void aBeatThatStandsStillForEightSecondsIsSilence() {
    for (int second = 0; second < 8; second++) {
      assertThat(lookAfter(SECOND, node(2, 5))).as("second %d", second).isEmpty();
    }
    assertThat(lookAfter(SECOND, node(2, 5))).containsExactly(node(2, 5));
  }

  @Test
  void aBeatStartsTheCountAnew() {
    for (int second = 0; second < 100; second++) {
      assertThat(lookAfter(SECOND, node(2, second / 7))).isEmpty();
    }
  }

  @Test
  void anOutageOfTheDatabaseKillsNobody() {
    lookAfter(SECOND, node(2, 5), node(3, 9));
    assertThat(lookAfter(600 * SECOND, node(2, 5), node(3, 9))).isEmpty();
    for (int second = 0; second < 7; second++) {
      assertThat(lookAfter(SECOND, node(2, 5), node(3, 9 + second))).isEmpty();
    }
    assertThat(lookAfter(SECOND, node(2, 5), node(3, 20))).containsExactly(node(2, 5));
  }

  /** Each look follows a beat of our own, so the database serves, only slowly. */
  @Test
  void aSlowDatabaseDoesNotHideTheDead() {
    lookAfter(SECOND, node(2, 5), node(3, 0));
    for (int i = 0; i < 4; i++) {
      assertThat(lookAfter(3 * SECOND + 1, node(2, 5), node(3, i / 2))).isEmpty();
    }
    assertThat(lookAfter(60 * SECOND, node(2, 5), node(3, 3))).containsExactly(node(2, 5));
  }

  @Test
  void whoBeatsOnceInAWhileOnASlowDatabaseIsAlive() {
    for (int i = 0; i < 100; i++) {
      assertThat(lookAfter(20 * SECOND, node(2, i / 3))).isEmpty();
    }
  }

  @Test
  void nodesStayAliveThroughOutages() {
    for (int i = 0; i < 100; i++) {
      assertThat(lookAfter(600 * SECOND, node(2, i / 2))).isEmpty();
      assertThat(lookAfter(SECOND, node(2, i / 2))).isEmpty();
    }
  }

  @Test
  void aNodeIsNotItsOwnUndertakerAndTheDeadAreNotKilledAgain() {
    NodeRow dead = new NodeRow(2, "n", NodeRow.State.DEAD, 5, Set.of());
    NodeRow stopped = new NodeRow(3, "n", NodeRow.State.STOPPED, 5, Set.of());
    NodeRow stopping = new NodeRow(4, "n", NodeRow.State.STOPPING, 5, Set.of());
    List<NodeRow> silent = List.of();
    for (int second = 0; second < 20; second++) {
      silent = lookAfter(SECOND, node(SELF, 5), dead, stopped, stopping);
    }

    assertThat(silent).containsExactly(stopping);
  }

  @Test
  void whoIsSeenForTheFirstTimeHasAllItsTime() {
    for (int second = 0; second < 20; second++) {
      lookAfter(SECOND, node(2, 5));
    }
    assertThat(lookAfter(SECOND, node(2, 5), node(9, 0))).containsExactly(node(2, 5));
    assertThat(lookAfter(SECOND)).isEmpty();
    assertThat(lookAfter(SECOND, node(2, 5))).as("forgotten while it was gone").isEmpty();
  }
}
