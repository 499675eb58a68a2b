package dev.pigeonhole.kafka;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.Sent;
import dev.pigeonhole.transport.Transport;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.InvalidRecordException;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.kafka.common.errors.InvalidTimestampException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.jspecify.annotations.Nullable;

/**
 * Sends to a topic of Kafka. A message is sent when all replicas that count have it; where there is
 * no such topic it is unroutable. The ordering key of a message is the key of its record.
 *
 * <pre>{@code
 * Transport orders = KafkaTransport.topic(Map.of("bootstrap.servers", brokers), "orders");
 * }</pre>
 */
public final class KafkaTransport implements Transport {
  private static final Duration CLOSE = Duration.ofSeconds(5);
  private static final Duration LARGEST_CLOCK_ERROR = Duration.ofHours(1);

  private final ProducerSettings settings;
  private final String topic;
  private final Destination destination;
  private @Nullable Producer<byte[], byte[]> producer; // guarded by this

  private KafkaTransport(ProducerSettings settings, String topic) {
    this.settings = settings;
    this.topic = topic;
    this.destination = new Destination(topic, settings.forAdmin());
  }

  /**
   * To this topic, which is never created here: the brokers are asked for it before the first
   * message, because a producer would let them create it.
   *
   * @param producerConfig for Kafka's producer, as its documentation knows it; {@code
   *     bootstrap.servers} is needed. What would lose or reorder messages is refused, and nothing
   *     that is given is changed
   * @throws ConfigurationException with {@code PH-KFK-08} and everything that is wrong: no {@code
   *     bootstrap.servers}, or a setting that is the transport's own, such as {@code acks}
   */
  public static KafkaTransport topic(Map<String, ?> producerConfig, String topic) {
    Objects.requireNonNull(topic, "topic");
    ProducerSettings settings = new ProducerSettings(producerConfig, topic);
    List<Problem> problems = settings.problems();
    if (!problems.isEmpty()) {
      throw new ConfigurationException(problems);
    }
    return new KafkaTransport(settings, topic);
  }

  @Override
  public String kind() {
    return "kafka";
  }

  @Override
  public String destination() {
    return topic;
  }

  @Override
  public List<Sent> send(List<Envelope> envelopes, Duration timeout) throws InterruptedException {
    long end = System.nanoTime() + timeout.toNanos();
    try {
      destination.find(timeout);
    } catch (KafkaException e) {
      return Collections.nCopies(envelopes.size(), notFound(e));
    }
    List<Sent> sent = sendOnce(envelopes, end);
    for (int again = 0; again < KafkaPublisher.MOST_RESENDS; again++) {
      List<Integer> places = new ArrayList<>();
      for (int i = 0; i < envelopes.size(); i++) {
        if (wasBesideInvalidOne(sent.get(i))) {
          places.add(i);
        }
      }
      if (places.isEmpty() || end - System.nanoTime() <= 0) {
        break;
      }
      List<Sent> next = sendOnce(places.stream().<Envelope>map(envelopes::get).toList(), end);
      for (int i = 0; i < next.size(); i++) {
        sent.set(places.get(i), next.get(i));
      }
    }
    return sent;
  }

  private List<Sent> sendOnce(List<Envelope> envelopes, long end) throws InterruptedException {
    List<Future<?>> started = new ArrayList<>(envelopes.size());
    Future<?> silent = null;
    for (Envelope envelope : envelopes) {
      Future<?> sending = silent == null ? start(envelope) : silent;
      started.add(sending);
      if (silent == null && hasTimedOut(sending)) {
        silent = sending; // each would wait as long again
      }
    }
    List<Sent> sent = new ArrayList<>(started.size());
    for (int i = 0; i < started.size(); i++) {
      sent.add(outcome(envelopes.get(i), started.get(i), end));
    }
    return sent;
  }

  private static boolean wasBesideInvalidOne(Sent sent) {
    return sent instanceof Sent.Failed failed
        && !(failed.cause() instanceof PoisonException)
        && KafkaPublisher.wasBesideInvalidOne(failed.cause().getCause());
  }

  private Sent notFound(KafkaException failure) {
    return Destination.isMissing(failure)
        ? unroutable()
        : new Sent.Failed(
            new InboxException(
                ErrorCode.SEND_UNCONFIRMED,
                "Kafka has not said whether there is a topic '%s': %s. Nothing was sent; it is tried again."
                    .formatted(topic, failure.getMessage()),
                failure));
  }

  private Future<?> start(Envelope envelope) throws InterruptedException {
    try {
      ProducerRecord<byte[], byte[]> record = RecordWriter.write(envelope, topic);
      Producer<byte[], byte[]> present = producer();
      try {
        return present.send(record);
      } catch (InterruptException e) {
        throw e;
      } catch (KafkaException e) {
        // What concerns a record or a topic is in the future. This client never sends again.
        drop(present);
        return producer().send(record);
      }
    } catch (InterruptException e) {
      boolean unused = Thread.interrupted();
      throw new InterruptedException("interrupted while sending to Kafka");
    } catch (RuntimeException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  private void drop(Producer<byte[], byte[]> failed) {
    synchronized (this) {
      if (producer == failed) {
        producer = null;
      }
    }
    try {
      failed.close(Duration.ZERO);
    } catch (KafkaException e) {
      // It had failed before; the next one sends.
    }
  }

  /** The client has got no metadata of the topic: nothing was sent. */
  private static boolean hasTimedOut(Future<?> sending) throws InterruptedException {
    if (!sending.isDone()) {
      return false;
    }
    try {
      sending.get();
      return false;
    } catch (ExecutionException e) {
      return e.getCause() instanceof org.apache.kafka.common.errors.TimeoutException;
    }
  }

  private Sent outcome(Envelope envelope, Future<?> sending, long end) throws InterruptedException {
    try {
      sending.get(Math.max(0, end - System.nanoTime()), TimeUnit.NANOSECONDS);
      return new Sent.Confirmed();
    } catch (ExecutionException e) {
      return judge(envelope, e.getCause() == null ? e : e.getCause());
    } catch (TimeoutException e) {
      return unconfirmed(e);
    }
  }

  private Sent judge(Envelope envelope, Throwable failure) {
    if (failure instanceof RecordTooLargeException) {
      return new Sent.Failed(
          new PoisonException(
              ErrorCode.PAYLOAD_TOO_LARGE,
              "Kafka takes no record of this size in topic '%s': %s. Raise max.message.bytes of the topic, or send a reference."
                  .formatted(topic, failure.getMessage()),
              failure));
    }
    if (failure instanceof InvalidRecordException || isTooOld(envelope, failure)) {
      return new Sent.Failed(
          new PoisonException(
              ErrorCode.ENVELOPE_UNMAPPABLE,
              "Topic '%s' does not accept this record: %s. Change the message, or the settings of the topic."
                  .formatted(topic, failure.getMessage()),
              failure));
    }
    if (failure instanceof InboxException) {
      return new Sent.Failed(failure);
    }
    return Destination.isMissing(failure) ? unroutable() : unconfirmed(failure);
  }

  /** A recent time is rejected only where clocks differ, which is not the message's fault. */
  private static boolean isTooOld(Envelope envelope, Throwable failure) {
    return failure instanceof InvalidTimestampException
        && envelope
            .sentAt()
            .filter(at -> at.isBefore(Instant.now().minus(LARGEST_CLOCK_ERROR)))
            .isPresent();
  }

  private Sent unroutable() {
    destination.forget();
    return new Sent.Unroutable(
        "There is no topic '%s'. Create it, or correct the name.".formatted(topic));
  }

  private Sent unconfirmed(Throwable failure) {
    destination.forget();
    return new Sent.Failed(
        new InboxException(
            ErrorCode.SEND_UNCONFIRMED,
            "Kafka has not confirmed the message for topic '%s': %s. It may be there nevertheless, and is sent again."
                .formatted(topic, failure.getMessage()),
            failure));
  }

  private synchronized Producer<byte[], byte[]> producer() {
    Producer<byte[], byte[]> present = producer;
    if (present == null) {
      present = new KafkaProducer<>(settings.forProducer());
      producer = present;
    }
    return present;
  }

  @Override
  public void close() {
    Producer<byte[], byte[]> last;
    synchronized (this) {
      last = producer;
      producer = null;
    }
    destination.forget(); // the next producer names it anew
    if (last != null) {
      last.close(CLOSE);
    }
  }

  @Override
  public String toString() {
    return kind() + ":" + topic;
  }
}
