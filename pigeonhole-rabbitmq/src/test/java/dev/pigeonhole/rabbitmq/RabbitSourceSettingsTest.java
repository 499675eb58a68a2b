package dev.pigeonhole.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.rabbitmq.client.ConnectionFactory;
import java.time.Duration;
import java.util.stream.Stream;
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
  void withoutAWordTheSourceIsAsThePageSays() {
    Settings settings = source.settings();
    assertThat(settings.prefetch()).isEqualTo(250);
    assertThat(settings.batch()).isEqualTo(200);
    assertThat(settings.gather()).isEqualTo(Duration.ofMillis(5));
    assertThat(settings.maxBody()).isEqualTo(1_000_000);
    assertThat(settings.deadLetters()).isNull();
    assertThat(settings.maxRetries()).isZero();
    assertThat(settings.longestOutage()).isEqualTo(Duration.ofMinutes(10));
    assertThat(settings.longestParking()).isEqualTo(Duration.ofSeconds(30));
    assertThat(source.prefetch(50).settings().batch()).as("no more than there are").isEqualTo(50);
  }

  @Test
  void waitsDoubleUpToTheLongest() {
    Settings settings = source.settings();
    Backoff reconnect = new Backoff(settings.firstReconnect(), settings.lastReconnect());
    assertThat(Stream.generate(reconnect::next).limit(7).map(Duration::toSeconds))
        .containsExactly(1L, 2L, 4L, 8L, 16L, 30L, 30L);
    reconnect.reset();
    assertThat(reconnect.next()).isEqualTo(Duration.ofSeconds(1));
    assertThat(Stream.generate(Consumption.untilTheStoreIsBack()::next).limit(8))
        .extracting(Duration::toMillis)
        .containsExactly(100L, 200L, 400L, 800L, 1_600L, 3_200L, 5_000L, 5_000L);
  }

  @Test
  void aStepChangesNothingOfWhatItWasTakenFrom() {
    RabbitSource other = source.repeatedFor(Duration.ofDays(7));
    assertThat(source.repeatHorizon()).isEmpty();
    assertThat(other.repeatHorizon()).contains(Duration.ofDays(7));
    assertThat(source.trouble()).isEmpty();
  }
}
