package dev.pigeonhole.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Delivery;
import com.rabbitmq.client.Envelope;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

class UnacknowledgedTest {
  private final List<String> frames = new ArrayList<>();

  /** What the broker has taken for acknowledged, as RabbitMQ reads the frames. */
  private final TreeSet<Long> outside = new TreeSet<>();

  private final Unacknowledged unacknowledged =
      new Unacknowledged(
          (Channel)
              Proxy.newProxyInstance(
                  Channel.class.getClassLoader(),
                  new Class<?>[] {Channel.class},
                  (self, method, arguments) -> {
                    frame((Long) arguments[0], (Boolean) arguments[1]);
                    return null;
                  }));

  private void frame(long number, boolean multiple) {
    assertThat(outside).as("what may be acknowledged").contains(number);
    frames.add(multiple ? "to " + number : "only " + number);
    if (multiple) {
      outside.headSet(number, true).clear();
    } else {
      outside.remove(number);
    }
  }

  private static Delivery delivery(long number) {
    return new Delivery(
        new Envelope(number, false, "", "queue"), new BasicProperties(), new byte[0]);
  }

  private void receive(long... numbers) throws IOException {
    for (long number : numbers) {
      outside.add(number);
      unacknowledged.received(delivery(number));
    }
  }

  private void acknowledge(long... numbers) throws IOException {
    for (long number : numbers) {
      unacknowledged.settled(delivery(number));
    }
    unacknowledged.acknowledge();
  }

  @Test
  void aBatchIsAcknowledgedWithOneFrame() throws IOException {
    receive(1, 2, 3);
    acknowledge(1, 2, 3);
    receive(4, 5);
    acknowledge(5, 4);
    assertThat(frames).containsExactly("to 3", "to 5");
  }

  @Test
  void nothingIsAcknowledgedWithWhatComesAfterIt() throws IOException {
    receive(1, 2, 3, 4);
    acknowledge(1, 3, 4);
    receive(5);
    acknowledge(5);
    assertThat(frames).containsExactly("to 1", "only 3", "only 4", "only 5");
    assertThat(outside).containsExactly(2L);
  }

  @Test
  void whatHeldOthersUpIsAcknowledgedWithoutNamingThemAgain() throws IOException {
    receive(1, 2, 3);
    acknowledge(2, 3);
    acknowledge(1);
    receive(4);
    acknowledge(4);
    assertThat(frames).containsExactly("only 2", "only 3", "to 1", "to 4");
  }

  @Test
  void whereNothingIsSettledNothingIsSaid() throws IOException {
    receive(1);
    unacknowledged.acknowledge();
    assertThat(frames).isEmpty();
  }

  @Test
  void aMissingDeliveryEndsTheChannelInsteadOfBeingAcknowledgedWithOthers() throws IOException {
    receive(1);
    assertThatThrownBy(() -> unacknowledged.received(delivery(3)))
        .isInstanceOf(IOException.class)
        .hasMessage("delivery 3 came after 1");
  }

  @Test
  void whateverIsSettledInWhateverOrderExactlyThatIsAcknowledged() throws IOException {
    Random random = new Random(1);
    TreeSet<Long> expected = new TreeSet<>();
    long next = 1;
    for (int i = 0; i < 2_000; i++) {
      for (int fresh = random.nextInt(5); fresh > 0; fresh--) {
        expected.add(next);
        receive(next++);
      }
      long[] some =
          expected.stream().filter(it -> random.nextInt(3) > 0).mapToLong(it -> it).toArray();
      for (long each : some) {
        expected.remove(each);
      }
      acknowledge(some);
      assertThat(outside).isEqualTo(expected);
    }
  }
}
