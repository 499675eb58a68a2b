package dev.pigeonhole.internal.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class AttemptTest {
  private final Attempt attempt = Handlers.attempt(Handlers.plain("h", received -> {}), 7);

  private static void letTimePass() {
    long before = System.nanoTime();
    while (System.nanoTime() - before <= 0) {
      Thread.onSpinWait();
    }
  }

  @Test
  void itsTimeStandsStillOnceTheHandlerHasReturned() {
    attempt.started();
    letTimePass();
    attempt.end(Attempt.State.ENDED);
    Duration took = attempt.took();
    letTimePass();

    assertThat(took).isPositive();
    assertThat(attempt.took()).isEqualTo(took);
  }

  @Test
  void itsTimeGoesOnWhileTheHandlerHasNotReturned() {
    attempt.started();
    attempt.end(Attempt.State.TIMED_OUT);
    Duration took = attempt.took();
    letTimePass();

    assertThat(attempt.took()).isGreaterThan(took);
  }

  @Test
  void onlyTheFirstEndCounts() {
    assertThat(attempt.end(Attempt.State.TIMED_OUT)).isTrue();
    assertThat(attempt.end(Attempt.State.ENDED)).isFalse();
    assertThat(attempt.state()).isEqualTo(Attempt.State.TIMED_OUT);
  }
}
