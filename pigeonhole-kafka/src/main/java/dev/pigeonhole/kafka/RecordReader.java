package dev.pigeonhole.kafka;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Headers;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.transport.Envelope;
import java.time.Instant;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.TimestampType;
import org.jspecify.annotations.Nullable;

/** Makes envelopes of records. Safe for many threads. */
final class RecordReader {
  private final KafkaId id;
  private final @Nullable String source;
  private final int maxBody;
  private final UnaryOperator<String> topicIds;

  /**
   * @param topicIds name → id of a topic, asked only where ids are made of it
   */
  RecordReader(KafkaSource.Choices choices, UnaryOperator<String> topicIds) {
    this.id = choices.id;
    this.source = choices.source;
    this.maxBody = choices.maxBody;
    this.topicIds = topicIds;
  }

  /**
   * The envelope of a record.
   *
   * @throws InboxException if it is refused before anybody else has seen it
   */
  Envelope read(ConsumerRecord<byte[], byte[]> record) {
    byte[] body = record.value(); // null is a tombstone, and stays one
    if (body != null && body.length > maxBody) {
      throw new InboxException(
          ErrorCode.PAYLOAD_TOO_LARGE,
          ("The value of %s-%d at offset %d has %d bytes, the limit is %d. Raise maxBody and the"
                  + " inbox's maxPayload, or send less.")
              .formatted(
                  record.topic(), record.partition(), record.offset(), body.length, maxBody));
    }
    Map<String, @Nullable Object> headers = HeaderValues.read(record.headers());
    String type = lastText(record, HeaderNames.TYPE);
    String contentType = lastText(record, HeaderNames.CONTENT_TYPE);
    String idText = id.of(record, topicIds);
    // What has a place of its own does not stand among the others, unless it is there twice.
    dropIf(headers, HeaderNames.TYPE, type);
    dropIf(headers, HeaderNames.CONTENT_TYPE, contentType);
    if (id.isIn(HeaderNames.ID)) {
      dropIf(headers, HeaderNames.ID, idText);
    }
    byte[] key = record.key();
    String keyText = keyText(key);
    return Envelope.of("kafka", record.topic())
        .source(source)
        .id(idText)
        .type(type)
        .key(keyText)
        .contentType(contentType)
        .body(body)
        .headers(headers.isEmpty() ? Headers.none() : Headers.of(headers))
        .property("partition", record.partition())
        .property("offset", record.offset())
        .property("timestampType", hasTime(record) ? record.timestampType().toString() : null)
        .property("key", keyText == null ? key : null)
        .sentAt(hasTime(record) ? Instant.ofEpochMilli(record.timestamp()) : null)
        .build();
  }

  private static void dropIf(
      Map<String, @Nullable Object> headers, String name, @Nullable String value) {
    if (value != null && value.equals(headers.get(name))) {
      headers.remove(name);
    }
  }

  private static boolean hasTime(ConsumerRecord<byte[], byte[]> record) {
    return record.timestamp() >= 0 && record.timestampType() != TimestampType.NO_TIMESTAMP_TYPE;
  }

  /** Stricter than for headers: a key may become an ordering key, which is one line. */
  private static @Nullable String keyText(byte @Nullable [] key) {
    String text = key == null ? null : Utf8.textOrNull(key);
    return text == null || text.chars().anyMatch(Character::isISOControl) ? null : text;
  }

  private static @Nullable String lastText(ConsumerRecord<byte[], byte[]> record, String name) {
    Header last = record.headers().lastHeader(name);
    byte[] value = last == null ? null : last.value();
    return value == null ? null : Utf8.readableOrNull(value);
  }
}
