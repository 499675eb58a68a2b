package dev.pigeonhole.kafka;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.pigeonhole.transport.Envelope;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.jspecify.annotations.Nullable;

/**
 * Sends records and says of each whether all replicas that count have it. Its client is made when
 * it is needed first, and made anew after a failure: what it had not sent by then, it never sends,
 * so that nothing turns up after its sender was told that it failed. For one thread at a time.
 */
final class KafkaPublisher implements AutoCloseable {
  private static final Duration CLOSE = Duration.ofSeconds(5);

  /**
   * What became of a record.
   *
   * @param failure null if it is acknowledged; otherwise it may be there nevertheless
   */
  record Sent(@Nullable Exception failure) {}

  private final Map<String, Object> config;
  private @Nullable Producer<byte[], byte[]> producer;

  /**
   * @param config as {@link ClientSettings#forProducer} makes it
   */
  KafkaPublisher(Map<String, Object> config) {
    this.config = config;
  }

  /** The record for an envelope: the other way round of what {@link RecordReader} does. */
  static ProducerRecord<byte[], byte[]> record(Envelope envelope) {
    return record(envelope, envelope.destination());
  }

  static ProducerRecord<byte[], byte[]> record(Envelope envelope, String topic) {
    RecordHeaders headers = HeaderValues.write(envelope.headers());
    envelope.id().ifPresent(id -> replace(headers, HeaderNames.ID, id));
    envelope.type().ifPresent(type -> replace(headers, HeaderNames.TYPE, type));
    envelope.contentType().ifPresent(type -> replace(headers, HeaderNames.CONTENT_TYPE, type));
    return new ProducerRecord<>(
        topic, null, time(envelope), key(envelope), envelope.body(), headers);
  }

  private static void replace(RecordHeaders headers, String name, String value) {
    headers.remove(name);
    headers.add(name, value.getBytes(UTF_8));
  }

  private static byte @Nullable [] key(Envelope envelope) {
    String text = envelope.key().orElse(null);
    if (text != null) {
      return text.getBytes(UTF_8);
    }
    return envelope.properties().get("key") instanceof byte[] bytes ? bytes : null;
  }

  /** Brokers refuse what is from the future, and the client what is from before 1970. */
  private static @Nullable Long time(Envelope envelope) {
    return envelope
        .sentAt()
        .filter(at -> !at.isBefore(Instant.EPOCH) && !at.isAfter(Instant.now()))
        .map(Instant::toEpochMilli)
        .orElse(null);
  }

  /** Sends envelopes as {@link #send} does; one that cannot be a record fails alone. */
  List<Sent> publish(List<Envelope> envelopes, Duration patience) {
    return sendAll(envelopes, KafkaPublisher::record, patience);
  }

  /**
   * Sends them in order and waits; answers for each, in order, after this time at the latest, or
   * after the ten seconds more that the client looks for a topic nobody knows.
   */
  List<Sent> send(List<ProducerRecord<byte[], byte[]>> records, Duration patience) {
    return sendAll(records, record -> record, patience);
  }

  private <T> List<Sent> sendAll(
      List<T> all, Function<T, ProducerRecord<byte[], byte[]>> record, Duration patience) {
    long end = System.nanoTime() + patience.toNanos();
    List<Future<?>> started = new ArrayList<>(all.size());
    for (T each : all) {
      started.add(start(() -> record.apply(each), end));
    }
    List<Sent> sent = new ArrayList<>(all.size());
    for (Future<?> each : started) {
      sent.add(new Sent(failure(each, end)));
    }
    if (sent.stream().anyMatch(each -> each.failure() != null)) {
      drop(Duration.ZERO);
    }
    return sent;
  }

  /** Each may wait for the metadata of its topic; one that was too late is enough. */
  private Future<?> start(Supplier<ProducerRecord<byte[], byte[]>> record, long end) {
    if (end - System.nanoTime() <= 0) {
      return CompletableFuture.failedFuture(tooLate());
    }
    try {
      return producer().send(record.get());
    } catch (RuntimeException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  private static @Nullable Exception failure(Future<?> future, long end) {
    try {
      future.get(Math.max(0, end - System.nanoTime()), TimeUnit.NANOSECONDS);
      return null;
    } catch (ExecutionException e) {
      return e.getCause() instanceof Exception cause ? cause : e;
    } catch (java.util.concurrent.TimeoutException e) {
      return tooLate();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return e;
    }
  }

  private static Exception tooLate() {
    return new TimeoutException("not acknowledged in time");
  }

  private Producer<byte[], byte[]> producer() {
    Producer<byte[], byte[]> present = producer;
    if (present == null) {
      present = new KafkaProducer<>(config);
      producer = present;
    }
    return present;
  }

  private void drop(Duration patience) {
    Producer<byte[], byte[]> last = producer;
    producer = null;
    if (last != null) {
      try {
        last.close(patience);
      } catch (KafkaException e) {
        // It had failed before; what matters was answered.
      }
    }
  }

  @Override
  public void close() {
    drop(CLOSE);
  }
}
