package dev.pigeonhole.examples.demo;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class LullTest {
  private static final Status SOME = new Status(90, 0, 0, 10);
  private static final Status FEWER = new Status(95, 0, 0, 5);

  private long now;
  private final Lull lull = new Lull(() -> now);

  private String after(int seconds, Status status, boolean allSent, int kills) {
    now += Duration.ofSeconds(seconds).toNanos();
    return lull.look(status, allSent, kills);
  }

  @Test
  void aStandstillAfterAKillIsExplainedOnce() {
    assertThat(after(1, SOME, true, 1)).isEmpty();
    assertThat(after(1, SOME, true, 1)).isEmpty();
    assertThat(after(1, SOME, true, 1))
        .isEqualTo("waiting for the work of a killed worker: 10 deliveries");
    assertThat(after(9, SOME, true, 1)).isEmpty();
    assertThat(after(1, FEWER, true, 1)).isEmpty();
    assertThat(after(2, FEWER, true, 1)).contains("5 deliveries");
  }

  @Test
  void nobodyWaitsForTheDeadWhereNobodyWasKilledOrSendingGoesOn() {
    assertThat(after(1, SOME, true, 0)).isEmpty();
    assertThat(after(9, SOME, true, 0)).isEmpty();
    assertThat(after(9, SOME, false, 1)).isEmpty();
    assertThat(after(9, new Status(100, 0, 0, 0), true, 1)).isEmpty();
    assertThat(after(9, new Status(100, 0, 0, 0), true, 1)).isEmpty();
  }
}
