package dev.pigeonhole.kafka;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import java.util.HexFormat;
import java.util.Objects;
import java.util.function.UnaryOperator;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;
import org.jspecify.annotations.Nullable;

/** Where a {@link KafkaSource} finds the id of a message. */
public final class KafkaId {
  private static final int MOST_SHOWN = 32;
  private static final KafkaId KEY = new KafkaId(Place.KEY, "");
  private static final KafkaId POSITION = new KafkaId(Place.POSITION, "");

  private enum Place {
    HEADER,
    KEY,
    POSITION
  }

  private final Place place;
  private final String header;

  private KafkaId(Place place, String header) {
    this.place = place;
    this.header = header;
  }

  /**
   * The id is in this header, as text in UTF-8; in the last one, should there be several. It is the
   * choice that also knows what a producer has sent twice.
   */
  public static KafkaId header(String name) {
    return new KafkaId(Place.HEADER, Objects.requireNonNull(name, "name"));
  }

  /**
   * The id is the record's key, as text in UTF-8. Only for topics in which a key stands for one
   * message: a second record with the key is a repeat or a conflict.
   */
  public static KafkaId key() {
    return KEY;
  }

  /**
   * The id is where the record is: topic id, partition and offset, as in {@code
   * 5K8h0eN1QZ2mJ7c0bV3yAw:3:4711}. What a producer has sent twice is two messages then. A topic
   * that was deleted and created again has another topic id, so its records look like no others.
   */
  public static KafkaId position() {
    return POSITION;
  }

  /** Whether this header is where the id is. */
  boolean isIn(String name) {
    return place == Place.HEADER && header.equals(name);
  }

  boolean needsTopicIds() {
    return place == Place.POSITION;
  }

  /**
   * The id of a record, or null where it has none.
   *
   * @param topicIds name → id of a topic
   * @throws InboxException with {@code PH-ID-05} if there is one that is no text
   */
  @Nullable String of(ConsumerRecord<byte[], byte[]> record, UnaryOperator<String> topicIds) {
    return switch (place) {
      case POSITION ->
          topicIds.apply(record.topic()) + ":" + record.partition() + ":" + record.offset();
      case KEY -> text("The key", record.key(), record);
      case HEADER -> {
        Header last = record.headers().lastHeader(header);
        yield last == null ? null : text("Header '" + header + "'", last.value(), record);
      }
    };
  }

  private static @Nullable String text(
      String what, byte @Nullable [] bytes, ConsumerRecord<byte[], byte[]> record) {
    if (bytes == null) {
      return null;
    }
    String text = Utf8.textOrNull(bytes);
    if (text == null) {
      throw new InboxException(
          ErrorCode.ID_INVALID_UNICODE,
          "%s of %s-%d at offset %d should be an id, and is no UTF-8: %s. Send text, in UTF-8."
              .formatted(
                  what,
                  record.topic(),
                  record.partition(),
                  record.offset(),
                  HexFormat.of().formatHex(bytes, 0, Math.min(bytes.length, MOST_SHOWN))));
    }
    return text;
  }

  @Override
  public String toString() {
    return place == Place.HEADER ? "header " + header : place == Place.KEY ? "key" : "position";
  }
}
