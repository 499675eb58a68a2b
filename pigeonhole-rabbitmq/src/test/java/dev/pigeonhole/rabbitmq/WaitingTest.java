package dev.pigeonhole.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Delivery;
import com.rabbitmq.client.Envelope;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class WaitingTest {
  private static final Duration LOOK = Duration.ofDays(1);

  private final AtomicLong now = new AtomicLong();
  private final Waiting waiting = new Waiting(now::get);

  private static Waiting.Offered offered(long number) {
    return new Waiting.Offered(
        new Delivery(
            new Envelope(number, false, "", "q"),
            new BasicProperties.Builder().build(),
            new byte[0]),
        0);
  }

  @Test
  void aDeliveryRestsTwiceAsLongEachTimeUpToHalfAMinute() {
    waiting.add(offered(1));
    for (long millis :
        new long[] {200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000}) {
      assertThat(waiting.next(LOOK)).isEqualTo(Duration.ofMillis(millis));
      now.addAndGet(millis * 1_000_000 - 1);
      assertThat(waiting.take(10)).isEmpty();
      now.incrementAndGet();
      List<Waiting.Offered> due = waiting.take(10);
      assertThat(due).hasSize(1);
      waiting.add(due.get(0));
    }
  }

  @Test
  void noMoreAreTakenThanAskedForAndTheOldestFirst() {
    for (long i = 1; i <= 3; i++) {
      waiting.add(offered(i));
      now.incrementAndGet();
    }
    now.addAndGet(Duration.ofMinutes(1).toNanos());
    assertThat(waiting.take(2))
        .extracting(it -> it.delivery().getEnvelope().getDeliveryTag())
        .containsExactly(1L, 2L);
    assertThat(waiting.next(LOOK)).isZero();
    assertThat(waiting.take(2)).hasSize(1);
    assertThat(waiting.next(LOOK)).as("nobody waits").isEqualTo(LOOK);
  }
}
