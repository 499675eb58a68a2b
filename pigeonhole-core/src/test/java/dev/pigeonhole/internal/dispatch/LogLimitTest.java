package dev.pigeonhole.internal.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class LogLimitTest {
  private static final long SECOND = Duration.ofSeconds(1).toNanos();

  private final LogLimit limit = new LogLimit(2, Duration.ofSeconds(1));

  @Test
  void aFloodIsCutAndTheNextLineSaysByHowMuch() {
    assertThat(limit.leftOutBefore(5)).isZero();
    assertThat(limit.leftOutBefore(6)).isZero();
    assertThat(limit.leftOutBefore(7)).isNegative();
    assertThat(limit.leftOutBefore(SECOND + 4)).isNegative();
    assertThat(limit.leftOutBefore(SECOND + 5)).isEqualTo(2);
    assertThat(limit.leftOutBefore(SECOND + 6)).isZero();
    assertThat(limit.leftOutBefore(SECOND + 7)).isNegative();
  }

  @Test
  void whoSpeaksSeldomIsAlwaysHeard() {
    for (long i = 0; i < 10; i++) {
      assertThat(limit.leftOutBefore(i * SECOND)).isZero();
    }
  }
}
