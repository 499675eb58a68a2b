package dev.pigeonhole.kafka;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;

/** Records as a consumer gets them. */
final class Records {
  static final long TIME = 1_700_000_000_000L;

  private Records() {}

  static ConsumerRecord<byte[], byte[]> at(long offset) {
    return record(offset, null, bytes("{}"), new RecordHeaders());
  }

  static ConsumerRecord<byte[], byte[]> record(
      long offset, byte[] key, byte[] value, RecordHeaders headers) {
    return new ConsumerRecord<>(
        "orders",
        3,
        offset,
        TIME,
        TimestampType.CREATE_TIME,
        key == null ? -1 : key.length,
        value == null ? -1 : value.length,
        key,
        value,
        headers,
        Optional.of(7));
  }

  static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }
}
