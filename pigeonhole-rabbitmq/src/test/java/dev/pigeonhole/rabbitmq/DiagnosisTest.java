package dev.pigeonhole.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;

import com.rabbitmq.client.Address;
import com.rabbitmq.client.ConnectionFactory;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;

/** What the tests with a broker do not come across. */
class DiagnosisTest {
  private final RabbitSource source = RabbitSource.queue(new ConnectionFactory(), "orders");

  @Test
  void allNodesThatWereTriedAreNamed() {
    Settings settings = source.nodes(new Address("one", 5672), new Address("two", 5673)).settings();
    assertThat(Diagnosis.of(new TimeoutException(), settings))
        .startsWith(
            "PH-RMQ-07: Queue 'orders' is not consumed from one:5672, two:5673 now: TimeoutException. Look at ");
  }

  @Test
  void aFailureOfTheInboxWithoutACodeGetsOne() {
    assertThat(Diagnosis.ofIntake(new IllegalStateException("full."), source.settings()))
        .startsWith("PH-RMQ-07: Queue 'orders' waits")
        .contains("IllegalStateException: full. Look at its store");
  }
}
