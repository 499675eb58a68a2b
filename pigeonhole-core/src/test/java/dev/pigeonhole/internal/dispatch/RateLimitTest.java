package dev.pigeonhole.internal.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

/** The clock is a number here. */
class RateLimitTest {
  private static final long SECOND = Duration.ofSeconds(1).toNanos();
  private static final int CELLS = 64;

  private long now = 5;

  private RateLimit limit(double perSecond, int owned) {
    RateLimit limit = new RateLimit(perSecond, CELLS, RateLimit.SAVED, now);
    limit.owns(owned, now);
    return limit;
  }

  /** Takes whatever is to be had in steps of a millisecond. */
  private int takenIn(RateLimit limit, long nanos) {
    int taken = 0;
    for (long end = now + nanos; now < end; now += SECOND / 1_000) {
      while (limit.take(now)) {
        taken++;
      }
    }
    return taken;
  }

  @Test
  void noMoreBeginThanTheLimitAllows() {
    assertThat(takenIn(limit(50, CELLS), 10 * SECOND)).isBetween(499, 502);
  }

  @Test
  void aNodeHasThePartThatItsCellsAreOfAll() {
    assertThat(takenIn(limit(100, CELLS / 4), 10 * SECOND)).isBetween(249, 252);
  }

  @Test
  void aPauseSavesUpForATenthOfASecondOnly() {
    RateLimit limit = limit(100, CELLS);
    takenIn(limit, SECOND);
    now += 60 * SECOND;

    assertThat(takenIn(limit, 1)).isEqualTo(10);
  }

  @Test
  void aHandlerOfGroupsSavesUpForASecond() {
    RateLimit limit = new RateLimit(100.0, CELLS, RateLimit.SAVED_FOR_GROUPS, now);
    limit.owns(CELLS, now);
    now += 60 * SECOND;

    assertThat(takenIn(limit, 1)).isEqualTo(100);
  }

  @Test
  void aSmallLimitSavesUpOne() {
    RateLimit limit = limit(0.1, CELLS);

    assertThat(limit.take(now)).isTrue();
    assertThat(limit.take(now)).isFalse();
    assertThat(limit.nanosUntilNext(now)).isBetween(10 * SECOND - 10, 10 * SECOND + 10);
    now += limit.nanosUntilNext(now);
    assertThat(limit.take(now)).isTrue();
  }

  @Test
  void aNodeWithoutCellsBeginsNothingMore() {
    RateLimit limit = limit(1_000, 0);
    limit.take(now);
    now += 100 * SECOND;

    assertThat(limit.take(now)).isFalse();
  }

  @Test
  void withoutALimitEverythingMayBegin() {
    RateLimit none = new RateLimit(null, CELLS, RateLimit.SAVED, now);

    assertThat(none.take(now)).isTrue();
    assertThat(none.nanosUntilNext(now)).isZero();
  }
}
