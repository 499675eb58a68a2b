package dev.pigeonhole.internal.admin;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.admin.Count;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.TypeCounts;
import dev.pigeonhole.store.TypeCount;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What was met of each type, and whether there may be more. */
class TypeTallyTest {
  private static final Count NONE = Count.of(0);
  private static final Count SOME_MORE = new Count(0, true);

  private static TypeCount fresh(String type, long count) {
    return new TypeCount(true, DeliveryState.PENDING, type, count);
  }

  private static TypeCount later(DeliveryState state, String type, long count) {
    return new TypeCount(false, state, type, count);
  }

  @Test
  void belowTheBoundAllIsCounted() {
    List<TypeCounts> counts =
        TypeTally.of(
            List.of(
                fresh("b", 4),
                later(DeliveryState.PENDING, "b", 3),
                later(DeliveryState.SCHEDULED, "b", 2),
                later(DeliveryState.BLOCKED, "a", 5),
                later(DeliveryState.POISONED, "a", 10)),
            10);

    assertThat(counts)
        .containsExactly(
            new TypeCounts("a", NONE, NONE, Count.of(5), Count.of(10)),
            new TypeCounts("b", Count.of(7), Count.of(2), NONE, NONE));
    assertThat(counts.get(1).open()).isEqualTo(Count.of(9));
  }

  @Test
  void whereTheBoundWasReachedAnyTypeMayHaveMore() {
    assertThat(TypeTally.of(List.of(fresh("a", 10), fresh("b", 1)), 10))
        .containsExactly(
            new TypeCounts("a", new Count(10, true), NONE, NONE, NONE),
            new TypeCounts("b", new Count(1, true), NONE, NONE, NONE));
    assertThat(TypeTally.of(List.of(later(DeliveryState.BLOCKED, "a", 11)), 10))
        .containsExactly(new TypeCounts("a", SOME_MORE, SOME_MORE, new Count(10, true), NONE));
    assertThat(TypeTally.of(List.of(later(DeliveryState.POISONED, "a", 11)), 10))
        .containsExactly(new TypeCounts("a", NONE, NONE, NONE, new Count(10, true)));
  }

  @Test
  void twoPlacesThatTogetherGoOverTheBoundSaySoToo() {
    assertThat(TypeTally.of(List.of(fresh("a", 6), later(DeliveryState.PENDING, "a", 6)), 10))
        .containsExactly(new TypeCounts("a", new Count(10, true), NONE, NONE, NONE));
  }
}
