package dev.pigeonhole.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;

class TestClockTest {
  private final TestClock clock = new TestClock();

  @Test
  void startsAtAFixedInstantAndStandsStill() {
    assertThat(clock.now()).isEqualTo(Instant.parse("2030-01-01T00:00:00Z"));
    assertThat(clock.instant()).isEqualTo(clock.now());
  }

  @Test
  void movesWhenToldTo() {
    assertThat(clock.advance(Duration.ofSeconds(2))).isEqualTo("2030-01-01T00:00:02Z");
    assertThat(clock.now()).isEqualTo("2030-01-01T00:00:02Z");
  }

  @Test
  void neverMovesBack() {
    assertThatIllegalArgumentException().isThrownBy(() -> clock.advance(Duration.ofSeconds(-1)));
  }
}
