package dev.pigeonhole.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.transport.Acceptor;
import dev.pigeonhole.transport.Envelope;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;

/** A queue, a source that reads it, and the short words of the tests of both. */
@Timeout(600)
abstract class SourceTests {
  static final Duration QUICK = Duration.ofMillis(20);

  static int size(int small, int full) {
    return "full".equals(System.getProperty("pigeonhole.size")) ? full : small;
  }

  final Intake intake = new Intake();
  private final List<RabbitSource> started = new ArrayList<>();
  TestQueue queue = TestQueue.create();

  @AfterEach
  void stop() {
    intake.open();
    started.forEach(source -> source.stop(Duration.ofSeconds(10)));
    queue.close();
  }

  RabbitSource start(RabbitSource source) {
    return start(source, intake);
  }

  RabbitSource start(RabbitSource source, Acceptor acceptor) {
    started.add(source);
    source.start(acceptor);
    return source;
  }

  void another(TestQueue other) {
    queue.close();
    queue = other;
  }

  void send(String... ids) {
    for (String id : ids) {
      queue.send(Envelope.of("test", "queue").id(id).type("t").body(new byte[] {1}).build());
    }
  }

  void send(int count) {
    IntStream.range(0, count).forEach(i -> send("m-" + i));
  }

  void awaitEmpty() {
    Eventually.until("an empty queue", Intake.LIMIT, () -> queue.unacknowledged() == 0);
  }

  /** What it says then, which people can look up. */
  static String awaitTrouble(RabbitSource source, String code) {
    AtomicReference<String> said = new AtomicReference<>("");
    Eventually.until(
        "trouble with " + code,
        Intake.LIMIT,
        () -> {
          said.set(source.trouble().orElse(""));
          return said.get().contains(code);
        });
    assertThat(said.get()).matches("PH-[A-Z]+-\\d\\d: .*");
    return said.get();
  }

  static void awaitNoTrouble(RabbitSource source) {
    Eventually.until("no trouble", Intake.LIMIT, () -> source.trouble().isEmpty());
  }

  void deleteQueue(String name) throws Exception {
    try (Connection connection = queue.straight().newConnection();
        Channel channel = connection.createChannel()) {
      channel.queueDelete(name);
    }
  }

  void deleteExchange(String name) throws Exception {
    try (Connection connection = queue.straight().newConnection();
        Channel channel = connection.createChannel()) {
      channel.exchangeDelete(name);
    }
  }
}
