package dev.pigeonhole.examples.demo;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class OrderStreamTest {
  private long now;
  private final OrderStream stream = new OrderStream(new int[] {4, 7, 9}, () -> now);

  @Test
  void whatIsNewIsBroughtInItsOrder() {
    assertThat(stream.take(2)).containsExactly(new Copy(4, 0), new Copy(7, 0));
    assertThat(stream.isEmpty()).isFalse();
    assertThat(stream.take(2)).containsExactly(new Copy(9, 0));
    assertThat(stream.isEmpty()).isTrue();
  }

  @Test
  void whatCameBackRestsWhileOthersGoOnAndComesFirstThen() {
    stream.take(1);
    stream.putBack(new Copy(4, 1));

    assertThat(stream.take(1)).containsExactly(new Copy(7, 0));
    now += stream.rest().toNanos();
    assertThat(stream.take(2)).containsExactly(new Copy(4, 1), new Copy(9, 0));
  }

  @Test
  void aStreamIsNotAtItsEndWhileSomethingRests() {
    stream.take(3);
    stream.putBack(new Copy(9, 2));

    assertThat(stream.take(3)).isEmpty();
    assertThat(stream.isEmpty()).isFalse();
    assertThat(stream.rest()).isPositive();
    now += stream.rest().toNanos();
    assertThat(stream.rest()).isEqualTo(Duration.ZERO);
    assertThat(stream.take(3)).containsExactly(new Copy(9, 2));
    assertThat(stream.isEmpty()).isTrue();
  }
}
