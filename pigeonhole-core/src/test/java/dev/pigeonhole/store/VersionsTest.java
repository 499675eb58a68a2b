package dev.pigeonhole.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;

class VersionsTest {
  private static final long FIRST = Versions.first(-1);
  private static final long LAST = FIRST + (1L << 32) - 1;

  @Test
  void afterTheLastVersionOfAMessageTheyStartOver() {
    assertThat(Versions.next(FIRST)).isEqualTo(FIRST + 1);
    assertThat(Versions.next(LAST)).isEqualTo(FIRST);
    assertThat(Versions.next((1L << 32) - 1)).isZero();
  }

  @Test
  void theAttemptAfterTheLastVersionFollowsIt() {
    assertThat(delivery(FIRST).follows(delivery(LAST))).isTrue();
    assertThat(delivery(LAST).follows(delivery(FIRST))).isFalse();
    assertThat(delivery(FIRST + 1).follows(delivery(FIRST))).isTrue();
    assertThat(delivery(FIRST).follows(delivery(FIRST))).isFalse();
  }

  @Test
  void everyLifeHasVersionsOfItsOwnAndOfItsMessage() {
    long before = FIRST;
    for (int life = 1; life <= Versions.MOST_LIVES; life++) {
      long version = Versions.ofLife(FIRST, life);
      assertThat(version).isEqualTo(before + (1 << 20));
      assertThat(Versions.ofOneMessage(FIRST, version)).isTrue();
      before = version;
    }
    for (int none : new int[] {Integer.MIN_VALUE, 0, Versions.MOST_LIVES + 1, Integer.MAX_VALUE}) {
      assertThatIllegalArgumentException().isThrownBy(() -> Versions.ofLife(FIRST, none));
    }
  }

  private static Delivery delivery(long version) {
    return Delivery.fresh(new Cell(0, 1), 1, version, 1, null);
  }
}
