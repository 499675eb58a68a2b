package dev.pigeonhole.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.rabbitmq.client.ConnectionFactory;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class RabbitSourceSettingsTest {
  private final RabbitSource source = RabbitSource.queue(new ConnectionFactory(), "orders");

  @Test
  void choicesThatMakeNoSenseAreRefused() {
    assertThatThrownBy(() -> source.prefetch(0)).hasMessageStartingWith("PH-CFG-05");
    assertThatThrownBy(() -> source.consumers(101)).hasMessageStartingWith("PH-CFG-05");
    assertThatThrownBy(() -> source.maxBody(0)).hasMessageStartingWith("PH-CFG-05");
    assertThatThrownBy(() -> source.withRetry(0, Duration.ofSeconds(1)))
        .hasMessageStartingWith("PH-CFG-05");
    assertThatThrownBy(() -> source.withRetry(1, Duration.ZERO))
        .hasMessageStartingWith("PH-CFG-05");
    assertThatThrownBy(() -> source.withRetry(1, Duration.ofDays(2)))
        .hasMessageStartingWith("PH-CFG-05")
        .hasMessageContaining("orders");
    assertThatThrownBy(() -> source.withRetry(1, Duration.ofSeconds(Long.MAX_VALUE)))
        .hasMessageStartingWith("PH-CFG-05");
    assertThatThrownBy(() -> source.repeatedFor(Duration.ofDays(-1)))
        .hasMessageStartingWith("PH-CFG-05");
    assertThatThrownBy(() -> source.repeatedFor(Duration.ofSeconds(Long.MAX_VALUE)))
        .hasMessageStartingWith("PH-CFG-05");
  }

  @Test
  void aStepChangesNothingOfWhatItWasTakenFrom() {
    RabbitSource other = source.repeatedFor(Duration.ofDays(7));
    assertThat(source.repeatHorizon()).isEmpty();
    assertThat(other.repeatHorizon()).contains(Duration.ofDays(7));
    assertThat(source.trouble()).isEmpty();
  }
}
