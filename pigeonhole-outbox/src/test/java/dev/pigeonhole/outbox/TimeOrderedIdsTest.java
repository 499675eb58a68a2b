package dev.pigeonhole.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.testkit.TestClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class TimeOrderedIdsTest {
  private final TestClock clock = new TestClock();
  private final TimeOrderedIds ids = new TimeOrderedIds(clock);

  @Test
  void theyAreUuidsOfVersionSevenWithTheTimeInFront() {
    for (int i = 0; i < 1_000; i++) {
      UUID id = UUID.fromString(ids.next());
      assertThat(id.version()).isEqualTo(7);
      assertThat(id.variant()).isEqualTo(2);
      assertThat(id.getMostSignificantBits() >>> 16).isEqualTo(clock.now().toEpochMilli());
    }
  }

  @Test
  void theyGrowFromOneMillisecondToTheNextAndDifferWithinOne() {
    List<String> made = new ArrayList<>();
    for (int i = 0; i < 1_000; i++) {
      made.add(ids.next());
      clock.advance(Duration.ofMillis(1));
    }
    assertThat(made).isSorted();
    made.clear();
    for (int i = 0; i < 1_000; i++) {
      made.add(ids.next());
    }
    assertThat(made).doesNotHaveDuplicates();
  }
}
