package dev.pigeonhole.internal.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.internal.dispatch.Breaker.Leave;
import dev.pigeonhole.internal.dispatch.Breaker.Verdict;
import dev.pigeonhole.store.Delivery;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class BreakerTest {
  private static final long NOW = Long.parseLong("9223372036854775800"); // close to the end
  private static final Delivery ONE = Rows.row(1);
  private static final Delivery TWO = Rows.row(2);

  private final Breaker breaker = new Breaker(3);

  private void pause() {
    breaker.failed(ONE);
    breaker.failed(ONE);
    assertThat(breaker.failed(ONE)).isEqualTo(Verdict.PAUSES);
    breaker.waitFor(Duration.ofNanos(100), NOW);
  }

  @Test
  void failuresInARowPause() {
    assertThat(breaker.failed(ONE)).isEqualTo(Verdict.COUNTS);
    assertThat(breaker.failed(TWO)).isEqualTo(Verdict.COUNTS);
    assertThat(breaker.ask(NOW)).isEqualTo(Leave.ALL);
    assertThat(breaker.failed(ONE)).isEqualTo(Verdict.PAUSES);
    assertThat(breaker.failed(TWO)).isEqualTo(Verdict.TOO_LATE);
  }

  @Test
  void aSuccessInBetweenBeginsAnew() {
    breaker.failed(ONE);
    breaker.failed(ONE);
    assertThat(breaker.succeeded()).isFalse();
    breaker.failed(ONE);
    assertThat(breaker.failed(ONE)).isEqualTo(Verdict.COUNTS);
  }

  @Test
  void withoutALimitNothingPauses() {
    Breaker none = new Breaker(null);
    for (int i = 0; i < 100; i++) {
      assertThat(none.failed(ONE)).isEqualTo(Verdict.COUNTS);
    }
    assertThat(none.ask(NOW)).isEqualTo(Leave.ALL);
    assertThat(none.nanosUntilNext(NOW)).isZero();
  }

  @Test
  void oneAtATimeFindsOutWhenItsTimeHasCome() {
    pause();
    assertThat(breaker.closed(NOW)).isTrue();
    assertThat(breaker.ask(NOW + 99)).isEqualTo(Leave.NONE);
    assertThat(breaker.closed(NOW + 100)).isFalse();
    assertThat(breaker.ask(NOW + 100)).isEqualTo(Leave.ONE);
    breaker.probing(ONE);
    assertThat(breaker.ask(NOW + 1_000)).isEqualTo(Leave.NONE);
    assertThat(breaker.nanosUntilNext(NOW + 1_000)).isEqualTo(Long.MAX_VALUE);
    assertThat(breaker.closed(NOW + 1_000)).isTrue();
  }

  @Test
  void anotherThatFailsMeanwhileFindsNothingOut() {
    pause();
    breaker.ask(NOW + 100);
    breaker.probing(ONE);
    assertThat(breaker.failed(TWO)).isEqualTo(Verdict.TOO_LATE);
    assertThat(breaker.ask(NOW + 1_000)).isEqualTo(Leave.NONE);
    assertThat(breaker.waits()).isEqualTo(1);

    assertThat(breaker.failed(ONE)).isEqualTo(Verdict.STILL_FAILS);
    breaker.waitFor(Duration.ofNanos(100), NOW + 1_000);
    assertThat(breaker.waits()).isEqualTo(2);
    assertThat(breaker.ask(NOW + 1_099)).isEqualTo(Leave.NONE);
    assertThat(breaker.ask(NOW + 1_100)).isEqualTo(Leave.ONE);
  }

  @Test
  void theFirstSuccessLetsAllGoOn() {
    pause();
    breaker.ask(NOW + 100);
    breaker.probing(ONE);
    assertThat(breaker.succeeded()).isTrue();
    assertThat(breaker.ask(NOW + 100)).isEqualTo(Leave.ALL);
    assertThat(breaker.failed(ONE)).isEqualTo(Verdict.COUNTS);
    assertThat(breaker.waits()).isZero();
  }

  @Test
  void oneThatWasCutOrNeverThereIsMadeUpFor() {
    pause();
    breaker.ask(NOW + 100);
    breaker.probing(null);
    assertThat(breaker.ask(NOW + 100)).isEqualTo(Leave.ONE);
    breaker.probing(ONE);
    breaker.over(TWO);
    assertThat(breaker.ask(NOW + 100)).isEqualTo(Leave.NONE);
    breaker.over(ONE);
    assertThat(breaker.ask(NOW + 100)).isEqualTo(Leave.ONE);
  }
}
