package dev.pigeonhole.kafka;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.pigeonhole.PoisonException;
import dev.pigeonhole.transport.Envelope;
import java.time.Instant;
import java.util.Optional;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.jspecify.annotations.Nullable;

/** Makes records of envelopes: the other way round of what {@link RecordReader} does. */
final class RecordWriter {
  private RecordWriter() {}

  /**
   * The record of an envelope.
   *
   * @throws PoisonException with {@code PH-HDR-06} if it has a header that Kafka cannot carry
   */
  static ProducerRecord<byte[], byte[]> write(Envelope envelope, String topic) {
    RecordHeaders headers = HeaderValues.write(envelope.headers());
    // Of another message, from which they were copied: at the other end they would count.
    HeaderNames.OWN.forEach(headers::remove);
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

  /**
   * A message that is passed on has the key of the record it came in, and is ordered by what {@link
   * Envelope#orderingKey} makes of it: as text, it would go to another partition than its bytes.
   */
  private static byte @Nullable [] key(Envelope envelope) {
    Optional<String> text = envelope.key();
    if (envelope.properties().get("key") instanceof byte[] bytes
        && (text.isEmpty() || text.equals(envelope.toBuilder().key(null).build().orderingKey()))) {
      return bytes;
    }
    return text.map(it -> it.getBytes(UTF_8)).orElse(null);
  }

  /** Brokers refuse what is from the future, and the client what is from before 1970. */
  private static @Nullable Long time(Envelope envelope) {
    return envelope
        .sentAt()
        .filter(at -> !at.isBefore(Instant.EPOCH) && !at.isAfter(Instant.now()))
        .map(Instant::toEpochMilli)
        .orElse(null);
  }
}
