package dev.pigeonhole.internal.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;

class PriorityTest {
  private static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");

  @Test
  void aStepOfPriorityIsWorthAnHour() {
    assertThat(Priority.place(5, NOW)).isLessThan(Priority.place(4, NOW));
    assertThat(Priority.place(5, NOW.plus(Duration.ofHours(1)))).isEqualTo(Priority.place(4, NOW));
  }

  /** Whoever reads rows with a place begins at one: zero stands for none. */
  @Test
  void aClockThatIsFarOffStillGivesAPlace() {
    assertThat(Priority.place(Priority.HIGHEST, Instant.EPOCH)).isEqualTo(1);
    assertThat(Priority.place(Priority.HIGHEST, Instant.EPOCH.plus(Duration.ofHours(9))))
        .isEqualTo(1);
    assertThat(Priority.place(Priority.LOWEST, Instant.parse("1901-01-01T00:00:00Z"))).isEqualTo(1);
  }
}
