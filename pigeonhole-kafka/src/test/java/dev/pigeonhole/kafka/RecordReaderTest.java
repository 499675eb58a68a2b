package dev.pigeonhole.kafka;

import static dev.pigeonhole.kafka.Records.bytes;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Headers;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.MessageMapper;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class RecordReaderTest {
  private static final byte[] NO_TEXT = {(byte) 0xC3, (byte) 0x28};

  private final KafkaSource.Choices choices =
      new KafkaSource.Choices(
          new ClientSettings(Map.of("bootstrap.servers", "b:1", "group.id", "g")),
          List.of("orders"));
  private final RecordHeaders headers = new RecordHeaders();

  private Envelope read(byte[] key, byte[] value) {
    return new RecordReader(choices, UnaryOperator.identity())
        .read(Records.record(4711, key, value, headers));
  }

  @Test
  void whatHasAPlaceOfItsOwnIsThere() {
    headers.add("pigeonhole-id", bytes("m-1"));
    headers.add("pigeonhole-type", bytes("order.placed"));
    headers.add("content-type", bytes("application/json"));
    headers.add("tenant", bytes("acme"));
    Envelope envelope = read(bytes("c-1"), bytes("{}"));

    assertThat(envelope.transport()).isEqualTo("kafka");
    assertThat(envelope.destination()).isEqualTo("orders");
    assertThat(envelope.id()).contains("m-1");
    assertThat(envelope.type()).contains("order.placed");
    assertThat(envelope.contentType()).contains("application/json");
    assertThat(envelope.key()).contains("c-1");
    assertThat(envelope.body()).isEqualTo(bytes("{}"));
    assertThat(envelope.headers()).isEqualTo(Headers.of(Map.of("tenant", "acme")));
    assertThat(envelope.sentAt()).contains(Instant.ofEpochMilli(Records.TIME));
    assertThat(envelope.redelivered()).isFalse();
    assertThat(envelope.properties().asMap())
        .isEqualTo(Map.of("partition", 3, "offset", 4711L, "timestampType", "CreateTime"));
  }

  @Test
  void noIdIsMadeUp() {
    assertThat(read(bytes("c-1"), bytes("{}")).id()).isEmpty();

    choices.id = KafkaId.key();
    assertThat(read(null, bytes("{}")).id()).isEmpty();
  }

  @Test
  void theIdCanBeTheKeyOrThePosition() {
    choices.id = KafkaId.key();
    assertThat(read(bytes("c-1"), bytes("{}")).id()).contains("c-1");

    choices.id = KafkaId.position();
    RecordReader reader = new RecordReader(choices, topic -> "AbC-" + topic);
    assertThat(reader.read(Records.at(4711)).id()).contains("AbC-orders:3:4711");
  }

  @Test
  void theIdCanBeInAnotherHeaderWhichStaysThere() {
    headers.add("x-event", bytes("first"));
    headers.add("x-event", bytes("last"));
    headers.add("pigeonhole-id", bytes("m-1"));
    choices.id = KafkaId.header("x-event");
    Envelope envelope = read(null, null);

    assertThat(envelope.id()).contains("last");
    assertThat(envelope.headers().asMap())
        .containsEntry("x-event", List.of("first", "last"))
        .containsEntry("pigeonhole-id", "m-1");
  }

  @Test
  void d10_anIdThatIsNoTextIsRefusedWithItsBytes() {
    headers.add("pigeonhole-id", NO_TEXT);
    assertThatThrownBy(() -> read(null, bytes("{}")))
        .isInstanceOfSatisfying(
            InboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.ID_INVALID_UNICODE))
        .hasMessageContaining("c328")
        .hasMessageContaining("orders-3 at offset 4711");

    choices.id = KafkaId.key();
    assertThatThrownBy(() -> read(NO_TEXT, bytes("{}"))).hasMessageContaining("c328");
  }

  @Test
  void kf09_noValueIsNotAnEmptyOne() {
    assertThat(read(bytes("k"), null).body()).isNull();
    assertThat(read(bytes("k"), new byte[0]).body()).isEqualTo(new byte[0]);
    assertThat(read(null, bytes("{}")).key()).isEmpty();
    assertThat(read(new byte[0], bytes("{}")).key()).contains("");
  }

  @Test
  void aKeyThatIsNoTextIsAPropertyInBytes() {
    byte[] number = {0, 0, 0, 7};
    for (byte[] key : List.of(NO_TEXT, number)) {
      Envelope envelope = read(key, bytes("{}"));
      assertThat(envelope.key()).isEmpty();
      assertThat(envelope.properties().get("key")).isSameAs(key);
    }
  }

  @Test
  void d62_headersAreTextOrBytesOrNull() {
    headers.add("text", bytes("grüße\tund\nmehr"));
    headers.add("empty", new byte[0]);
    headers.add("number", new byte[] {0, 0, 0, 7});
    headers.add("bytes", NO_TEXT);
    headers.add("nothing", null);
    Headers read = read(null, null).headers();

    assertThat(read.get("text")).isEqualTo("grüße\tund\nmehr");
    assertThat(read.get("empty")).isEqualTo("");
    assertThat(read.get("number")).isEqualTo(new byte[] {0, 0, 0, 7});
    assertThat(read.get("bytes")).isEqualTo(NO_TEXT);
    assertThat(read.asMap()).containsEntry("nothing", null);
    assertThat(HeaderValues.write(read)).isEqualTo(headers);
  }

  @Test
  void d63_namesThatAreThereTwiceKeepAllTheirValuesInOrder() {
    headers.add("tag", bytes("b"));
    headers.add("tag", NO_TEXT);
    headers.add("tag", null);
    headers.add("tag", bytes("b"));
    Headers read = read(null, null).headers();

    assertThat(read.get("tag")).isEqualTo(Arrays.asList("b", NO_TEXT, null, "b"));
    assertThat(HeaderValues.write(read)).isEqualTo(headers);
  }

  @Test
  void whatIsTooLargeIsRefused() {
    choices.maxBody = 10;
    assertThat(read(null, new byte[10]).body()).hasSize(10);
    assertThatThrownBy(() -> read(null, new byte[11]))
        .isInstanceOfSatisfying(
            InboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.PAYLOAD_TOO_LARGE))
        .hasMessageContaining("11 bytes")
        .hasMessageContaining("10");
  }

  @Test
  void whatIsWrittenReadsTheSame() {
    Envelope envelope =
        Envelope.of("kafka", "orders")
            .id("m-1")
            .type("order.placed")
            .key("c-1")
            .contentType("application/json")
            .body(bytes("{}"))
            .headers(Headers.none().with("tenant", "acme").with("tries", 3))
            .sentAt(Instant.ofEpochMilli(Records.TIME))
            .build();
    ProducerRecord<byte[], byte[]> written = RecordWriter.write(envelope, "orders");
    assertThat(written.timestamp()).isEqualTo(Records.TIME);
    written.headers().forEach(headers::add);
    Envelope read = read(written.key(), written.value());

    assertThat(read.id()).isEqualTo(envelope.id());
    assertThat(read.type()).isEqualTo(envelope.type());
    assertThat(read.key()).isEqualTo(envelope.key());
    assertThat(read.contentType()).isEqualTo(envelope.contentType());
    assertThat(read.headers().asMap()).isEqualTo(Map.of("tenant", "acme", "tries", "3"));
  }

  private static byte[] passedOn(Envelope received, @Nullable String key) {
    Message in = MessageMapper.plain().orderedByKey().type("t").toMessage(received);
    Message out =
        Message.encoded("m-2", "t", new byte[0], "text/plain")
            .headers(in.headers())
            .orderedBy(key == null ? in.orderingKey().orElse(null) : key);
    return RecordWriter.write(MessageMapper.plain().toEnvelope(out, "kafka", "next"), "next").key();
  }

  @Test
  void aKeyIsPassedOnAsItWas() {
    byte[] number = {0, 0, 0, 7};
    byte[] large = new byte[101];
    for (byte[] key : List.of(NO_TEXT, number, large, bytes("c-1"))) {
      assertThat(passedOn(read(key, bytes("{}")), null)).isEqualTo(key);
    }
    assertThat(passedOn(read(null, bytes("{}")), null)).isNull();
  }

  @Test
  void aKeyOfItsOwnIsWrittenInsteadOfTheOneThatCame() {
    assertThat(passedOn(read(NO_TEXT, bytes("{}")), "c-1")).isEqualTo(bytes("c-1"));
    assertThat(passedOn(read(NO_TEXT, bytes("{}")), "c3")).isEqualTo(bytes("c3"));
  }

  @Test
  void headersOfAnotherMessageDoNotSpeakForThisOne() {
    Headers stale =
        Headers.none()
            .with("pigeonhole-id", "old")
            .with("pigeonhole-type", "old")
            .with("pigeonhole-code", "PH-ID-03")
            .with("tenant", "acme");
    ProducerRecord<byte[], byte[]> written =
        RecordWriter.write(Envelope.of("kafka", "orders").id("new").headers(stale).build(), "t");
    written.headers().forEach(headers::add);
    Envelope read = read(written.key(), written.value());

    assertThat(read.id()).contains("new");
    assertThat(read.type()).isEmpty();
    assertThat(read.headers().asMap()).isEqualTo(Map.of("tenant", "acme"));
  }

  @Test
  void aHeaderThatKafkaCannotHoldIsRefused() {
    Headers nested = Headers.none().with("map", Map.of("a", 1));
    assertThatThrownBy(() -> HeaderValues.write(nested))
        .isInstanceOfSatisfying(
            InboxException.class,
            e -> assertThat(e.code()).isEqualTo(ErrorCode.HEADER_VALUE_UNSUPPORTED));
  }
}
