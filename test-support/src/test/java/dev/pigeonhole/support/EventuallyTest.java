package dev.pigeonhole.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class EventuallyTest {

  @Test
  void returnsAsSoonAsTheConditionHolds() {
    AtomicInteger calls = new AtomicInteger();

    Eventually.until(Duration.ofMinutes(5), () -> calls.incrementAndGet() == 3);

    assertThat(calls).hasValue(3);
  }

  @Test
  void saysWhatItWaitedFor() {
    assertThatThrownBy(() -> Eventually.until("a miracle", Duration.ofMillis(20), () -> false))
        .isInstanceOf(AssertionError.class)
        .hasMessageMatching("Waited \\d+\\.\\d s in vain for a miracle \\(\\d+ tries\\), last: .*");
  }

  @Test
  void keepsTheLastFailureOfAnAssertion() {
    assertThatThrownBy(
            () -> Eventually.passes(Duration.ofMillis(20), () -> assertThat(1).isEqualTo(2)))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("expected: 2")
        .hasCauseInstanceOf(AssertionError.class);
  }

  @Test
  void exceptionOfAConditionCountsAsNotYet() {
    AtomicInteger calls = new AtomicInteger();

    Eventually.until(
        Duration.ofMinutes(5),
        () -> {
          if (calls.incrementAndGet() < 3) {
            throw new IllegalStateException("not yet");
          }
          return true;
        });

    assertThat(calls).hasValue(3);
  }
}
