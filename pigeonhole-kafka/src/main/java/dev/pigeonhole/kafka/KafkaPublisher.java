package dev.pigeonhole.kafka;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Sends records and says of each whether all replicas that count have it. Its client is made when
 * it is needed first, and made anew after a failure: what it had not sent by then, it never sends,
 * so that nothing turns up after its sender was told that it failed. For one thread at a time.
 */
final class KafkaPublisher implements AutoCloseable {
  private static final Duration CLOSE = Duration.ofSeconds(5);

  /** Others may share a batch of the client, and have invalid records, too. */
  static final int MOST_RESENDS = 3;

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

  /**
   * Sends records in order and returns one result per record, in the same order, after this time at
   * the latest; a client that looks for a missing topic takes up to ten seconds more. Records that
   * the brokers have rejected only because of another one are sent again.
   */
  List<Sent> send(List<ProducerRecord<byte[], byte[]>> records, Duration patience) {
    long end = System.nanoTime() + patience.toNanos();
    List<Sent> sent = sendOnce(records, end);
    for (int again = 0; again < MOST_RESENDS; again++) {
      List<Integer> places = new ArrayList<>();
      for (int i = 0; i < records.size(); i++) {
        if (wasBesideInvalidOne(sent.get(i).failure())) {
          places.add(i);
        }
      }
      if (places.isEmpty() || end - System.nanoTime() <= 0) {
        break;
      }
      List<ProducerRecord<byte[], byte[]>> beside = new ArrayList<>(places.size());
      places.forEach(place -> beside.add(records.get(place)));
      List<Sent> next = sendOnce(beside, end);
      for (int i = 0; i < next.size(); i++) {
        sent.set(places.get(i), next.get(i));
      }
    }
    if (sent.stream().anyMatch(each -> each.failure() != null)) {
      drop(Duration.ZERO);
    }
    return sent;
  }

  /**
   * The brokers reject a whole batch of the client if one of its records is invalid. Of the others
   * the client says so with its plainest exception.
   */
  static boolean wasBesideInvalidOne(@Nullable Throwable failure) {
    return failure != null && failure.getClass() == KafkaException.class;
  }

  private List<Sent> sendOnce(List<ProducerRecord<byte[], byte[]>> records, long end) {
    List<Future<?>> started = new ArrayList<>(records.size());
    for (ProducerRecord<byte[], byte[]> each : records) {
      started.add(start(each, end));
    }
    List<Sent> sent = new ArrayList<>(records.size());
    for (Future<?> each : started) {
      sent.add(new Sent(failure(each, end)));
    }
    return sent;
  }

  /** Each may wait for the metadata of its topic; one that was too late is enough. */
  private Future<?> start(ProducerRecord<byte[], byte[]> record, long end) {
    if (end - System.nanoTime() <= 0) {
      return CompletableFuture.failedFuture(tooLate());
    }
    try {
      return producer().send(record);
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
