package dev.pigeonhole.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Delivery;
import com.rabbitmq.client.Envelope;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(600)
class LineTest {
  private static final Duration LONG = Duration.ofHours(1);

  private final Line line = new Line();

  private void add(int count) {
    for (int i = 1; i <= count; i++) {
      line.add(
          new Delivery(
              new Envelope(i, false, "", "q"), new BasicProperties.Builder().build(), new byte[0]));
    }
  }

  private List<Long> take(int most, Duration patience, Duration gather)
      throws InterruptedException {
    return line.take(most, patience, gather).stream()
        .map(it -> it.getEnvelope().getDeliveryTag())
        .toList();
  }

  @Test
  void aFullBatchWaitsForNoMoreAndTheRestIsForTheNext() throws InterruptedException {
    add(5);
    assertThat(take(3, LONG, LONG)).containsExactly(1L, 2L, 3L);
    assertThat(take(2, LONG, LONG)).containsExactly(4L, 5L);
  }

  @Test
  void whatIsThereIsTakenWhenNoMoreComeForAMoment() throws InterruptedException {
    add(2);
    assertThat(take(3, LONG, Duration.ofMillis(1))).containsExactly(1L, 2L);
    assertThat(take(3, Duration.ofMillis(1), LONG)).isEmpty();
    assertThat(take(0, LONG, LONG)).isEmpty();
  }
}
