package dev.pigeonhole.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.internal.dispatch.Events;
import dev.pigeonhole.internal.rescue.HandlerKeys;
import dev.pigeonhole.internal.rescue.LastHeartbeat;
import dev.pigeonhole.internal.rescue.Node;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.store.StoreSettings;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * A virtual machine that is suspended: its monotonic clock stands still, and the wall clock not.
 */
class SuspendedNodeTest {
  private static final Duration BEAT = Duration.ofSeconds(2);
  private static final Duration DEAD_AFTER = Duration.ofSeconds(8);
  private static final Duration START_LIMIT = Duration.ofSeconds(6);

  private final InboxStore store = MemoryStore.create();
  private final AtomicLong nanos = new AtomicLong(-5_000_000_000L);
  private final AtomicLong millis = new AtomicLong(1_700_000_000_000L);

  private Node node;

  @BeforeEach
  void join() {
    store.maintenance().open(new StoreSettings("inbox", 4, 4, 1 << 20));
    List<List<HandlerId>> keys = store.maintenance().register(List.of(List.of("h")));
    node =
        new Node(
            store,
            new Events("inbox", List.of()),
            "node",
            new HandlerKeys(store.nodes(), keys),
            BEAT,
            DEAD_AFTER,
            new LastHeartbeat(START_LIMIT, nanos::get, millis::get),
            Duration.ofHours(1),
            new LostLanesTest.SlowToHear());
    node.join();
  }

  private void runs(Duration time) {
    nanos.addAndGet(time.toNanos());
    millis.addAndGet(time.toMillis());
  }

  @Test
  void nothingIsStartedAfterASuspensionUntilAHeartbeatIsConfirmed() {
    runs(Duration.ofSeconds(1));
    assertThat(node.mayStart()).isTrue();

    millis.addAndGet(Duration.ofMinutes(10).toMillis()); // suspended
    assertThat(node.mayStart()).isFalse();
    assertThat(node.beating()).isFalse();

    assertThat(node.beatIfDue()).as("at once, without waiting for its time").isTrue();
    assertThat(node.mayStart()).isTrue();
  }

  @Test
  void aNodeThatWasDeclaredDeadWhileItWasSuspendedStartsOnlyAfterItHasJoinedAnew() {
    long before = node.incarnation();
    store.nodes().declareDead(before, 0);
    millis.addAndGet(DEAD_AFTER.toMillis());
    assertThat(node.mayStart(before)).isFalse();

    node.beatIfDue();

    assertThat(node.incarnation()).isGreaterThan(before);
    assertThat(node.mayStart(before)).isFalse();
    assertThat(node.mayStart(node.incarnation())).isTrue();
  }

  @Test
  void aWallClockThatIsSetBackChangesNothing() {
    millis.addAndGet(-Duration.ofDays(1).toMillis());
    assertThat(node.mayStart()).isTrue();
    assertThat(node.beatIfDue()).isFalse();

    runs(START_LIMIT);
    assertThat(node.mayStart()).as("the monotonic clock says so").isFalse();
  }

  @Test
  void theAgeOfAHeartbeatCountsByEitherClock() {
    runs(START_LIMIT.minusMillis(1));
    assertThat(node.mayStart()).isTrue();
    runs(Duration.ofMillis(1));
    assertThat(node.mayStart()).isFalse();
  }
}
