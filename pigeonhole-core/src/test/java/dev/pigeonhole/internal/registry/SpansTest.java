package dev.pigeonhole.internal.registry;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SpansTest {

  @ParameterizedTest
  @CsvSource({
    "PT0S, 0 ms",
    "PT0.0809S, 80 ms",
    "PT0.999S, 999 ms",
    "PT1S, 1 s",
    "PT2.55S, 2.5 s",
    "PT59.999S, 59.9 s",
    "PT3M, 3 min",
    "PT1M30S, 1 min 30 s",
    "PT1H20M59S, 1 h 20 min",
    "PT23H, 23 h",
    "P2DT3H, 2 d 3 h"
  })
  void timesAreShownAsPeopleSayThem(Duration time, String shown) {
    assertThat(Spans.shown(time)).isEqualTo(shown);
  }
}
