package dev.pigeonhole.kafka;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.pigeonhole.transport.Disposition;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.function.LongSupplier;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Puts refused records into a topic where people see them: key, value and headers as they were, and
 * why they are there.
 */
final class Parking {
  private static final Logger LOG = LoggerFactory.getLogger(Parking.class);
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final int LONGEST_REASON = 2_000;

  /** A record that is to be parked, and the reason. */
  record Refusal(ConsumerRecord<byte[], byte[]> record, Disposition.Refused why) {}

  private final String source;
  private final Destination destination;
  private final KafkaPublisher publisher;
  private final OncePerMinute log;

  Parking(String source, Destination destination, KafkaPublisher publisher, LongSupplier nanos) {
    this.source = source;
    this.destination = destination;
    this.publisher = publisher;
    this.log = new OncePerMinute(nanos);
  }

  /** Whether each of them is there now, in order. */
  List<KafkaPublisher.Sent> park(List<Refusal> refusals) {
    try {
      destination.find(PATIENCE);
    } catch (KafkaException e) {
      return Collections.nCopies(refusals.size(), new KafkaPublisher.Sent(e));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Collections.nCopies(refusals.size(), new KafkaPublisher.Sent(e));
    }
    List<KafkaPublisher.Sent> sent =
        publisher.send(refusals.stream().map(this::parked).toList(), PATIENCE);
    for (int i = 0; i < refusals.size(); i++) {
      if (sent.get(i).failure() == null) {
        tell(refusals.get(i).why());
      } else {
        destination.forget(); // as the publisher forgets its client
      }
    }
    return sent;
  }

  private void tell(Disposition.Refused why) {
    int leftOut = log.leftOutBefore(why.code().text());
    if (leftOut >= 0) {
      LOG.warn(
          "Source {} parked a record in {}: {}{}",
          source,
          destination.topic(),
          OneLine.of(why.reason()),
          leftOut == 0 ? "" : " (and " + leftOut + " more since the last line)");
    }
  }

  /** Its time is now, or a topic that deletes what is old would delete it at once. */
  ProducerRecord<byte[], byte[]> parked(Refusal refusal) {
    ConsumerRecord<byte[], byte[]> record = refusal.record();
    RecordHeaders headers = new RecordHeaders(record.headers());
    HeaderNames.OF_PARKED.forEach(headers::remove); // it may have been here before
    String reason = refusal.why().reason();
    add(headers, HeaderNames.CODE, refusal.why().code().text());
    add(
        headers,
        HeaderNames.REASON,
        reason.length() > LONGEST_REASON ? reason.substring(0, LONGEST_REASON) : reason);
    add(headers, HeaderNames.TOPIC, record.topic());
    add(headers, HeaderNames.PARTITION, Integer.toString(record.partition()));
    add(headers, HeaderNames.OFFSET, Long.toString(record.offset()));
    add(headers, HeaderNames.TIMESTAMP, Long.toString(record.timestamp()));
    return new ProducerRecord<>(destination.topic(), null, record.key(), record.value(), headers);
  }

  private static void add(RecordHeaders headers, String name, String value) {
    headers.add(name, value.getBytes(UTF_8));
  }
}
