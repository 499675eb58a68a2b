package dev.pigeonhole.cloudevents;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Headers;
import dev.pigeonhole.Message;
import dev.pigeonhole.transport.Envelope;
import io.cloudevents.CloudEvent;
import io.cloudevents.core.builder.CloudEventBuilder;
import io.cloudevents.core.message.MessageReader;
import io.cloudevents.http.HttpMessageFactory;
import io.cloudevents.jackson.JsonFormat;
import io.cloudevents.kafka.KafkaMessageFactory;
import java.net.URI;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What the CloudEvents SDK writes is read here, and the other way round. */
class SdkTest {
  private static final CloudEvent EVENT =
      CloudEventBuilder.v1()
          .withId("e-1")
          .withSource(URI.create("/shop/checkout"))
          .withType("order.placed")
          .withTime(OffsetDateTime.parse("2026-11-17T09:30:00.123456789Z"))
          .withSubject("o-1")
          .withDataSchema(URI.create("https://shop.example/order.json"))
          .withExtension("partitionkey", "c-1")
          .withExtension("region", "eu")
          .withData("application/json", "{\"amount\":110}".getBytes(UTF_8))
          .build();

  private final CloudEventMapper mapper = CloudEventMapper.create();

  @Test
  void binaryModeOfHttpIsReadBothWays() {
    Map<String, String> written = new LinkedHashMap<>();
    AtomicReference<byte @Nullable []> body = new AtomicReference<>();
    HttpMessageFactory.createWriter(written::put, body::set).writeBinary(EVENT);
    assertIsTheEvent(mapper.toMessage(http(written, body.get())));

    assertThat(sdk(mapper.toEnvelope(message("http"), "http", "/hooks")).toEvent())
        .isEqualTo(EVENT);
  }

  @Test
  void structuredModeOfHttpIsReadBothWays() {
    Map<String, String> written = new LinkedHashMap<>();
    AtomicReference<byte @Nullable []> body = new AtomicReference<>();
    HttpMessageFactory.createWriter(written::put, body::set)
        .writeStructured(EVENT, JsonFormat.CONTENT_TYPE);
    assertIsTheEvent(mapper.toMessage(http(written, body.get())));

    Envelope ours = mapper.structured().toEnvelope(message("http"), "http", "/hooks");
    assertSame(sdk(ours).toEvent());
  }

  @Test
  void binaryModeOfKafkaIsReadBothWays() {
    assertIsTheEvent(
        mapper.toMessage(kafka(KafkaMessageFactory.createWriter("orders").writeBinary(EVENT))));

    Envelope ours = mapper.toEnvelope(message("kafka"), "kafka", "orders");
    assertThat(KafkaMessageFactory.createReader(records(ours), ours.body()).toEvent())
        .isEqualTo(EVENT);
  }

  @Test
  void structuredModeOfKafkaIsReadBothWays() {
    assertIsTheEvent(
        mapper.toMessage(
            kafka(
                KafkaMessageFactory.createWriter("orders")
                    .writeStructured(EVENT, JsonFormat.CONTENT_TYPE))));

    Envelope ours = mapper.structured().toEnvelope(message("kafka"), "kafka", "orders");
    assertSame(KafkaMessageFactory.createReader(records(ours), ours.body()).toEvent());
  }

  @Test
  void dataThatIsNoJsonIsReadBothWays() {
    byte[] bytes = {0, (byte) 0xFF};
    CloudEvent image = CloudEventBuilder.v1(EVENT).withData("image/png", bytes).build();
    Message message =
        mapper.toMessage(
            Envelope.of("http", "/hooks")
                .contentType(JsonFormat.CONTENT_TYPE)
                .body(new JsonFormat().serialize(image))
                .build());
    assertThat(message.payload()).isEqualTo(bytes);
    Envelope ours = mapper.structured().toEnvelope(message, "http", "/hooks");
    assertThat(new JsonFormat().deserialize(ours.body())).isEqualTo(image);
  }

  private static void assertIsTheEvent(Message message) {
    assertThat(Facts.of(message)).isEqualTo(Facts.of(message(message.transport())));
  }

  /** After JSON, the data is the same, but not of the same class. */
  private static void assertSame(CloudEvent read) {
    assertThat(CloudEventBuilder.v1(read).withData(read.getData().toBytes()).build())
        .isEqualTo(EVENT);
  }

  private static Message message(String transport) {
    return Message.encoded(
            "e-1", "order.placed", "{\"amount\":110}".getBytes(UTF_8), "application/json")
        .from("/shop/checkout")
        .orderedBy("c-1")
        .occurredAt(Instant.parse("2026-11-17T09:30:00.123456789Z"))
        .header("ce-subject", "o-1")
        .header("ce-dataschema", "https://shop.example/order.json")
        .header("ce-region", "eu")
        .transport(transport);
  }

  private static Envelope http(Map<String, String> written, byte @Nullable [] body) {
    Map<String, String> headers = new LinkedHashMap<>(written);
    String contentType = headers.remove("Content-Type");
    return Envelope.of("http", "/hooks")
        .contentType(contentType)
        .headers(Headers.of(headers))
        .body(body)
        .build();
  }

  private static MessageReader sdk(Envelope envelope) {
    Map<String, String> headers = new LinkedHashMap<>();
    envelope.headers().asMap().forEach((name, value) -> headers.put(name, String.valueOf(value)));
    headers.put("Content-Type", envelope.contentType().orElseThrow());
    return HttpMessageFactory.createReader(headers, envelope.body());
  }

  private static Envelope kafka(ProducerRecord<Void, byte[]> written) {
    Map<String, Object> headers = new LinkedHashMap<>();
    written.headers().forEach(header -> headers.put(header.key(), header.value()));
    byte[] contentType = (byte[]) headers.remove("content-type");
    return Envelope.of("kafka", written.topic())
        .contentType(contentType == null ? null : new String(contentType, UTF_8))
        .headers(Headers.of(headers))
        .body(written.value())
        .build();
  }

  private static RecordHeaders records(Envelope envelope) {
    RecordHeaders records = new RecordHeaders();
    envelope
        .headers()
        .asMap()
        .forEach((name, value) -> records.add(name, String.valueOf(value).getBytes(UTF_8)));
    records.add("content-type", envelope.contentType().orElseThrow().getBytes(UTF_8));
    return records;
  }
}
