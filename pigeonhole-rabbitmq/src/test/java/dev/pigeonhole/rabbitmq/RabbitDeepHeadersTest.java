package dev.pigeonhole.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.Delivery;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Headers that are nested so deeply that whoever walks through them runs out of stack: the client
 * that reads them, the source that looks at them, and the client that writes them again.
 */
class RabbitDeepHeadersTest extends SourceTests {
  /** For the test alone, whose client has to write what nobody should. */
  private static final long STACK = 1L << 30;

  private static Object nested(int depth) {
    Object value = "x";
    for (int i = 0; i < depth; i++) {
      value = List.of(value);
    }
    return value;
  }

  private void publish(String id, int depth) throws Exception {
    CompletableFuture<Void> published = new CompletableFuture<>();
    Runnable publish =
        () -> {
          try (Connection connection = queue.straight().newConnection("deep");
              Channel channel = connection.createChannel()) {
            channel.confirmSelect();
            channel.basicPublish(
                "",
                queue.name(),
                new BasicProperties.Builder()
                    .messageId(id)
                    .type("t")
                    .deliveryMode(2)
                    .headers(Map.of("deep", nested(depth)))
                    .build(),
                new byte[] {7});
            channel.waitForConfirmsOrDie();
            published.complete(null);
          } catch (Exception | Error e) {
            published.completeExceptionally(e);
          }
        };
    new Thread(null, publish, "deep", STACK).start();
    published.get(Intake.LIMIT.toSeconds(), TimeUnit.SECONDS);
  }

  @ParameterizedTest
  @ValueSource(ints = {200, 8_000})
  void rq15_whatIsNestedTooDeeplyIsPutAsideAndTheQueueGoesOn(int depth) throws Exception {
    publish("deep", depth);
    send("good");
    RabbitSource source = start(queue.source());
    intake.awaitTaken("good");
    awaitEmpty();

    assertThat(intake.offers("deep")).isZero();
    assertThat(queue.putAside()).singleElement().satisfies(RabbitDeepHeadersTest::isRefused);
    awaitNoTrouble(source);
  }

  private static void isRefused(Delivery delivery) {
    assertThat(delivery.getProperties().getMessageId()).isEqualTo("deep");
    assertThat(delivery.getBody()).containsExactly(7);
    assertThat(delivery.getProperties().getHeaders()).doesNotContainKey("deep");
    assertThat(delivery.getProperties().getHeaders().get("pigeonhole-code"))
        .hasToString("PH-HDR-06");
  }

  @Test
  void rq15_whatAnInboxCanKeepIsHandedInAsItIs() throws Exception {
    publish("flat", 15);
    start(queue.source());
    intake.awaitTaken("flat");
    assertThat(intake.offered().get(0).headers().get("deep")).isEqualTo(nested(15));
  }
}
