package dev.pigeonhole.benchmarks;

import dev.pigeonhole.benchmarks.SubjectProcess.SubjectException;
import dev.pigeonhole.support.KafkaServer;
import dev.pigeonhole.support.RabbitServer;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The brokers that messages come from. Each starts when it is needed first. */
final class Brokers implements AutoCloseable {

  static final String RABBITMQ = "rabbitmq";
  static final String KAFKA = "kafka";

  private @Nullable RabbitServer rabbit;
  private @Nullable KafkaServer kafka;

  /** What a subject must know to get to the broker of a scenario; nothing where it has none. */
  Map<String, String> toValues(String scenario) throws SubjectException {
    return switch (scenario) {
      case RABBITMQ -> {
        if (rabbit == null) {
          rabbit = start("RabbitMQ", RabbitServer::start);
        }
        yield Map.of("broker", "amqp://guest:guest@127.0.0.1:" + rabbit.amqpPort());
      }
      case KAFKA -> {
        if (kafka == null) {
          kafka = start("Kafka", KafkaServer::start);
        }
        yield Map.of("broker", kafka.bootstrap());
      }
      default -> Map.of();
    };
  }

  private static <T> T start(String name, Supplier<T> start) throws SubjectException {
    try {
      return start.get();
    } catch (RuntimeException | AssertionError e) {
      throw new SubjectException("no %s could be started: %s".formatted(name, e.getMessage()));
    }
  }

  /** Ends those that have started; whoever needs one again gets a new one. */
  @Override
  public void close() {
    if (rabbit != null) {
      rabbit.close();
      rabbit = null;
    }
    if (kafka != null) {
      kafka.close();
      kafka = null;
    }
  }
}
