package dev.pigeonhole.cloudevents;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_16;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Headers;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.MessageMapper;
import java.math.BigDecimal;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.AbstractThrowableAssert;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CloudEventMapperTest {
  private static final String JSON = "application/cloudevents+json";
  private static final String PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  private static final String OTHER = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-00";

  private final CloudEventMapper mapper = CloudEventMapper.create();

  /** An event of binary mode, and what else the headers hold. */
  private static Envelope.Builder binary(
      String transport, String prefix, Map<String, ?> attributes) {
    Map<String, @Nullable Object> headers = new LinkedHashMap<>();
    headers.put(prefix + "specversion", "1.0");
    headers.put(prefix + "id", "e-1");
    headers.put(prefix + "source", "/shop/checkout");
    headers.put(prefix + "type", "order.placed");
    headers.put("tenant", "acme");
    attributes.forEach((name, value) -> headers.put(prefix + name, value));
    return Envelope.of(transport, "orders").headers(Headers.of(headers));
  }

  private static Envelope structured(String members) {
    return structured(members, "");
  }

  private static Envelope structured(String members, String parameters) {
    String document =
        """
        {"specversion":"1.0","id":"e-1","source":"/shop","type":"order.placed"%s}"""
            .formatted(members.isEmpty() ? "" : "," + members);
    return document(document.getBytes(UTF_8), parameters);
  }

  private static Envelope document(byte @Nullable [] document, String parameters) {
    return Envelope.of("http", "/hooks").contentType(JSON + parameters).body(document).build();
  }

  private static String payload(Message message) {
    return message.payload() instanceof byte[] bytes ? new String(bytes, UTF_8) : "none";
  }

  private AbstractThrowableAssert<?, ?> refused(Envelope envelope, ErrorCode code) {
    return assertThatThrownBy(() -> mapper.toMessage(envelope))
        .isInstanceOfSatisfying(
            InboxException.class, e -> assertThat(e.code()).as(e.getMessage()).isEqualTo(code));
  }

  @ParameterizedTest
  @CsvSource({
    "rabbitmq, cloudEvents:",
    "rabbitmq, cloudEvents_",
    "rabbitmq, ce-",
    "kafka, ce_",
    "http, ce-",
    "http, Ce-",
    "carrier-pigeon, cloudEvents_",
    "carrier-pigeon, ce_",
    "carrier-pigeon, ce-"
  })
  void anEventOfBinaryModeIsAMessage(String transport, String prefix) {
    Map<String, ?> attributes =
        Map.of(
            "time", "2026-11-17T11:30:00.123456789+02:00",
            "partitionkey", "c-1",
            "subject", "o-1",
            "dataschema", "https://shop.example/order.json",
            "region", "eu");
    Message message =
        mapper.toMessage(
            binary(transport, prefix, attributes)
                .id("broker's own")
                .type("broker's own")
                .key("k")
                .contentType("application/json")
                .body("{}".getBytes(UTF_8))
                .property("offset", 7L)
                .build());

    assertThat(message.id()).isEqualTo("e-1");
    assertThat(message.source()).hasValue("/shop/checkout");
    assertThat(message.type()).hasValue("order.placed");
    assertThat(message.occurredAt()).hasValue(Instant.parse("2026-11-17T09:30:00.123456789Z"));
    assertThat(message.orderingKey()).hasValue("c-1");
    assertThat(message.contentType()).hasValue("application/json");
    assertThat(payload(message)).isEqualTo("{}");
    assertThat(message.transport()).isEqualTo(transport);
    assertThat(message.headers().asMap())
        .containsOnly(
            Map.entry("tenant", "acme"),
            Map.entry("ce-subject", "o-1"),
            Map.entry("ce-dataschema", "https://shop.example/order.json"),
            Map.entry("ce-region", "eu"),
            Map.entry(transport + ".offset", 7L));
  }

  @Test
  void anEventOfStructuredModeIsAMessage() {
    Message message =
        mapper.toMessage(
            structured(
                """
                "time":"2026-11-17T09:30:00Z","partitionkey":"c-1","subject":"o-1","retries":3,
                "urgent":true,"nothing":null,"datacontenttype":"application/json",
                "data":{ "amount" : 1.10 }"""));

    assertThat(message.id()).isEqualTo("e-1");
    assertThat(message.source()).hasValue("/shop");
    assertThat(message.type()).hasValue("order.placed");
    assertThat(message.occurredAt()).hasValue(Instant.parse("2026-11-17T09:30:00Z"));
    assertThat(message.orderingKey()).hasValue("c-1");
    assertThat(message.contentType()).hasValue("application/json");
    assertThat(payload(message)).isEqualTo("{ \"amount\" : 1.10 }");
    assertThat(message.headers().asMap())
        .containsOnly(
            Map.entry("ce-subject", "o-1"),
            Map.entry("ce-retries", 3),
            Map.entry("ce-urgent", true));
  }

  @Test
  void valuesOfAmqpKeepTheirKind() {
    Instant due = Instant.parse("2026-11-18T00:00:00Z");
    Map<String, ?> attributes =
        Map.of("retries", 3L, "urgent", true, "seal", new byte[] {1, 2}, "due", due, "time", due);
    Message message = mapper.toMessage(binary("rabbitmq", "cloudEvents_", attributes).build());

    assertThat(message.headers().get("ce-retries")).isEqualTo(3);
    assertThat(message.headers().get("ce-urgent")).isEqualTo(true);
    assertThat(message.headers().get("ce-seal")).isEqualTo(new byte[] {1, 2});
    assertThat(message.headers().get("ce-due")).isEqualTo(due);
    assertThat(message.occurredAt()).hasValue(due);

    Envelope out = mapper.toEnvelope(message, "rabbitmq", "orders");
    assertThat(out.headers().get("cloudEvents_retries")).isEqualTo(3L);
    assertThat(out.headers().get("cloudEvents_urgent")).isEqualTo(true);
    assertThat(out.headers().get("cloudEvents_seal")).isEqualTo(new byte[] {1, 2});
    assertThat(out.headers().get("cloudEvents_due")).isEqualTo(due);
    assertThat(out.headers().get("cloudEvents_time")).isEqualTo("2026-11-18T00:00:00Z");
  }

  @Test
  void whatIsNoCloudEventIsReadAsBefore() {
    Envelope plain =
        Envelope.of("kafka", "orders")
            .id("m-1")
            .type("order.placed")
            .contentType("application/json")
            .body(new byte[] {1})
            .headers(Headers.none().with("ce_mark", "x").with("customer", "c-1"))
            .build();

    assertThat(Facts.of(mapper.toMessage(plain)))
        .isEqualTo(Facts.of(MessageMapper.plain().toMessage(plain)));
    assertThat(
            mapper
                .otherwise(MessageMapper.plain().orderedByHeader("customer"))
                .toMessage(plain)
                .orderingKey())
        .hasValue("c-1");
  }

  @Test
  void theKeyOfARecordOrdersOnlyOnRequestAndOnlyWithoutPartitionKey() {
    Envelope keyed = binary("kafka", "ce_", Map.of()).key("k").build();
    Envelope both = binary("kafka", "ce_", Map.of("partitionkey", "p")).key("k").build();

    assertThat(mapper.toMessage(keyed).orderingKey()).isEmpty();
    assertThat(mapper.orderedByKey().toMessage(keyed).orderingKey()).hasValue("k");
    assertThat(mapper.orderedByKey().toMessage(both).orderingKey()).hasValue("p");
  }

  @Test
  void aKeyThatIsNoTextOrdersWhereThatIsWanted() {
    byte[] number = {0, 0, 0, 7};
    Envelope keyed = binary("kafka", "ce_", Map.of()).property("key", number).build();
    Envelope both =
        binary("kafka", "ce_", Map.of("partitionkey", "p")).property("key", number).build();

    assertThat(mapper.toMessage(keyed).orderingKey()).isEmpty();
    assertThat(mapper.orderedByKey().toMessage(keyed).orderingKey()).hasValue("00000007");
    assertThat(mapper.toMessage(both).orderingKey()).hasValue("p");
    assertThat(mapper.orderedByKey().toMessage(both).orderingKey()).hasValue("p");
    assertThat(mapper.toMessage(keyed).headers().get("kafka.key")).isEqualTo(number);
  }

  @Test
  void aKeyThatIsTooLongToOrderByOrdersByItsDigestAndABlankOneIsNone() {
    CloudEventMapper ordered = mapper.orderedByKey();
    Envelope text = binary("kafka", "ce_", Map.of()).key("k".repeat(201)).build();
    Envelope bytes = binary("kafka", "ce_", Map.of()).property("key", new byte[101]).build();
    Envelope partition =
        binary("kafka", "ce_", Map.of("partitionkey", "k".repeat(201))).key("short").build();

    for (Envelope each : List.of(text, bytes, partition)) {
      assertThat(ordered.toMessage(each).orderingKey().orElse("")).startsWith("sha-256:");
    }
    assertThat(ordered.toMessage(partition).orderingKey())
        .isEqualTo(ordered.toMessage(text).orderingKey());
    assertThat(ordered.toMessage(binary("kafka", "ce_", Map.of()).key(" ").build()).orderingKey())
        .isEmpty();
  }

  @Test
  void aPartitionKeyIsTextOrWhatHasOneTextOnly() {
    assertThat(mapper.toMessage(structured("\"partitionkey\":7")).orderingKey()).hasValue("7");
    refused(
        binary("rabbitmq", "cloudEvents_", Map.of("partitionkey", new byte[] {7})).build(),
        ErrorCode.EVENT_ATTRIBUTE_INVALID);
  }

  @Test
  void anEventWithoutTimeOccurredWhenItWasSent() {
    Instant sent = Instant.parse("2026-11-17T09:30:00Z");
    assertThat(mapper.toMessage(binary("kafka", "ce_", Map.of()).sentAt(sent).build()).occurredAt())
        .hasValue(sent);
  }

  @Test
  void kafkaHeadersMayBeBytes() {
    Map<String, ?> utf8 = Map.of("id", "ä".getBytes(UTF_8));
    Map<String, ?> latin = Map.of("id", "ä".getBytes(ISO_8859_1));
    assertThat(mapper.toMessage(binary("kafka", "ce_", utf8).build()).id()).isEqualTo("ä");
    refused(binary("kafka", "ce_", latin).build(), ErrorCode.EVENT_ATTRIBUTE_INVALID)
        .hasMessageContaining("'id'")
        .hasMessageContaining("e4");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "Euro%20%E2%82%AC%20%F0%9F%98%80 | Euro € 😀",
        "%e2%82%ac | €",
        "%41 | A",
        "\"quoted text\" | quoted text",
        "\"a \\\"b\\\" \\\\ c\" | a \"b\" \\ c",
        "100% | 100%",
        "100%2 | 100%2",
        "%zz | %zz",
        "%25%32%30 | %20"
      })
  void valuesOfHttpAreDecodedOnce(String header, String value) {
    Map<String, ?> attributes = Map.of("subject", header);
    assertThat(
            mapper
                .toMessage(binary("http", "ce-", attributes).build())
                .headers()
                .text("ce-subject"))
        .hasValue(value);
  }

  @Test
  void valuesOfHttpAreWrittenInPrintableAscii() {
    Message message =
        Message.encoded("Euro € 😀 \"%\"\u0000", "t", null, "text/plain").from("/shop");
    assertThat(mapper.toEnvelope(message, "http", "/").headers().text("ce-id"))
        .hasValue("Euro%20%E2%82%AC%20%F0%9F%98%80%20%22%25%22%00");
  }

  @ParameterizedTest
  @ValueSource(strings = {"%C0%A0", "%E2%82", "a%FFb"})
  void whatIsNoUtf8BehindPercentSignsIsRefused(String header) {
    refused(
            binary("http", "ce-", Map.of("subject", header)).build(),
            ErrorCode.EVENT_ATTRIBUTE_INVALID)
        .hasMessageContaining("http:orders")
        .hasMessageContaining(header);
  }

  @Test
  void onAmqpPercentSignsAreJustThat() {
    Map<String, ?> attributes = Map.of("id", "%41");
    assertThat(mapper.toMessage(binary("rabbitmq", "ce-", attributes).build()).id())
        .isEqualTo("%41");
  }

  @ParameterizedTest
  @ValueSource(strings = {"specversion", "id", "source", "type"})
  void aMissingOrEmptyAttributeIsNamed(String name) {
    Map<String, @Nullable Object> headers =
        new LinkedHashMap<>(binary("kafka", "ce_", Map.of()).build().headers().asMap());
    headers.remove("ce_" + name);
    refused(
            Envelope.of("kafka", "orders").headers(Headers.of(headers)).build(),
            ErrorCode.EVENT_ATTRIBUTE_MISSING)
        .hasMessageContaining("'" + name + "'")
        .hasMessageContaining("from kafka:orders");
    refused(binary("kafka", "ce_", Map.of(name, "")).build(), ErrorCode.EVENT_ATTRIBUTE_MISSING);
    refused(
        document("{\"specversion\":\"1.0\"}".getBytes(UTF_8), ""),
        ErrorCode.EVENT_ATTRIBUTE_MISSING);
  }

  @ParameterizedTest
  @ValueSource(strings = {"0.3", "1.1", "2.0", "latest"})
  void anotherVersionIsRefused(String version) {
    Map<String, ?> attributes = Map.of("specversion", version);
    refused(binary("rabbitmq", "cloudEvents:", attributes).build(), ErrorCode.EVENT_VERSION_UNKNOWN)
        .hasMessageContaining("'" + version + "'");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "application/cloudevents-batch+json",
        "Application/CloudEvents-Batch+JSON; charset=utf-8"
      })
  void aBatchIsRefused(String contentType) {
    refused(
            Envelope.of("http", "/hooks")
                .contentType(contentType)
                .body("[]".getBytes(UTF_8))
                .build(),
            ErrorCode.EVENT_BATCH)
        .hasMessageContaining("http:/hooks");
  }

  @Test
  void aFormatThatIsNotReadIsRefusedWithItsName() {
    refused(
            Envelope.of("kafka", "orders").contentType("application/cloudevents+avro").build(),
            ErrorCode.EVENT_FORMAT_UNKNOWN)
        .hasMessageContaining("application/cloudevents+avro");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "[]",
        "null",
        "\"text\"",
        "{",
        "{} {}",
        "{\"id\":}",
        "{'id':'e'}",
        "{\"a\":1,\"a\":2}"
      })
  void whatIsNoDocumentIsRefused(String document) {
    refused(document(document.getBytes(UTF_8), ""), ErrorCode.EVENT_UNREADABLE)
        .hasMessageContaining("from http:/hooks");
  }

  @Test
  void anEventOfStructuredModeNeedsABody() {
    refused(document(null, ""), ErrorCode.EVENT_UNREADABLE).hasMessageContaining("no body");
  }

  @Test
  void d41_aDocumentThatIsNestedTooDeeplyIsRefused() {
    assertThat(mapper.toMessage(structured("\"data\":" + nested(199))).id()).isEqualTo("e-1");
    refused(structured("\"data\":" + nested(200)), ErrorCode.PAYLOAD_OVER_LIMITS);
    refused(structured("\"data\":" + nested(10_000)), ErrorCode.PAYLOAD_OVER_LIMITS);
  }

  private static String nested(int levels) {
    return "[".repeat(levels) + "]".repeat(levels);
  }

  @Test
  void d42_aNumberThatIsTooLongIsRefused() {
    assertThat(payload(mapper.toMessage(structured("\"data\":" + "9".repeat(100))))).hasSize(100);
    refused(structured("\"data\":" + "9".repeat(101)), ErrorCode.PAYLOAD_OVER_LIMITS);
  }

  @Test
  void aNameThatIsTooLongIsRefused() {
    String data = "\"data\":{\"%s\":1}";
    assertThat(payload(mapper.toMessage(structured(data.formatted("n".repeat(1_000))))))
        .hasSize(1_006);
    refused(structured(data.formatted("n".repeat(1_001))), ErrorCode.PAYLOAD_OVER_LIMITS);
  }

  @Test
  void aDocumentOfTooManyTokensIsRefused() {
    assertThat(mapper.toMessage(structured(numbers(999_000))).id()).isEqualTo("e-1");
    refused(structured(numbers(1_000_000)), ErrorCode.PAYLOAD_OVER_LIMITS);
  }

  private static String numbers(int count) {
    return "\"data\":[1" + ",1".repeat(count - 1) + "]";
  }

  @Test
  void d45_aNameThatIsThereTwiceIsRefused() {
    refused(structured("\"id\":\"e-2\""), ErrorCode.EVENT_UNREADABLE);
    refused(structured("\"data\":{\"a\":1,\"a\":1}"), ErrorCode.EVENT_UNREADABLE);
  }

  @Test
  void d46_theDocumentIsReadInTheCharsetThatIsDeclared() {
    String document =
        "{\"specversion\":\"1.0\",\"id\":\"ä\",\"source\":\"/\",\"type\":\"t\",\"data\":\"ä\"}";
    for (Envelope each :
        List.of(
            document(document.getBytes(UTF_8), ""),
            document(("\uFEFF" + document).getBytes(UTF_8), ""),
            document(document.getBytes(UTF_8), "; charset=utf-8"),
            document(document.getBytes(UTF_16), ";charset=\"UTF-16\""),
            document(document.getBytes(ISO_8859_1), "; Charset=ISO-8859-1"))) {
      assertThat(mapper.toMessage(each).id()).isEqualTo("ä");
      assertThat(payload(mapper.toMessage(each))).isEqualTo("\"ä\"");
    }
    refused(document(document.getBytes(ISO_8859_1), ""), ErrorCode.PAYLOAD_CHARSET);
    refused(document(document.getBytes(UTF_8), "; charset=nonsense"), ErrorCode.PAYLOAD_CHARSET);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "9007199254740993",
        "1.10",
        "1e2",
        "-0.0",
        "0.1000000000000000055511151231257827021181583404541015625",
        "{\"b\" : 1,\n \"a\":[ ]}",
        "\"\\u0000\\u00e4ä\"",
        "null",
        "true"
      })
  void d47_d48_dataIsKeptAsItStandsInTheDocument(String json) {
    for (String members :
        List.of(
            "\"data\":" + json,
            "\"data\" : " + json + " , \"subject\":\"o-1\"",
            "\"datacontenttype\":\"application/vnd.shop.order-v2+json\",\"data\":" + json)) {
      Message message = mapper.toMessage(structured(members));
      assertThat(payload(message)).isEqualTo(json);
      assertThat(message.contentType().orElseThrow()).endsWith("json");
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 3_999, 4_000, 32_700, 70_000})
  void dataIsKeptWhereverItStands(int before) {
    for (String json :
        List.of(
            "[ " + "\"ä😀\",".repeat(9_000) + "1.10 ]", "\"" + "ä".repeat(40_000) + "\"", "7")) {
      String members = "\"subject\":\"%s\",\"data\":%s,\"region\":\"eu\"";
      assertThat(payload(mapper.toMessage(structured(members.formatted("x".repeat(before), json)))))
          .isEqualTo(json);
    }
  }

  @Test
  void dataThatIsNotJsonIsAStringOrBase64() {
    assertThat(payload(mapper.toMessage(text("text/plain", "\"data\":\"a\\nä\""))))
        .isEqualTo("a\nä");
    assertThat(mapper.toMessage(text("text/plain;charset=iso-8859-1", "\"data\":\"ä\"")).payload())
        .isEqualTo(new byte[] {(byte) 0xE4});
    assertThat(mapper.toMessage(text("image/png", "\"data_base64\":\"AP8=\"")).payload())
        .isEqualTo(new byte[] {0, (byte) 0xFF});
    assertThat(mapper.toMessage(structured("\"data_base64\":\"AP8=\"")).contentType())
        .hasValue("application/octet-stream");
    refused(text("text/plain", "\"data\":{}"), ErrorCode.EVENT_UNREADABLE);
    refused(text("text/plain;charset=us-ascii", "\"data\":\"ä\""), ErrorCode.EVENT_UNREADABLE);
    refused(structured("\"data_base64\":\"?\""), ErrorCode.EVENT_UNREADABLE);
    refused(structured("\"data_base64\":7"), ErrorCode.EVENT_UNREADABLE);
    refused(structured("\"data\":1,\"data_base64\":\"AP8=\""), ErrorCode.EVENT_UNREADABLE);
  }

  private static Envelope text(String contentType, String data) {
    return structured("\"datacontenttype\":\"" + contentType + "\"," + data);
  }

  @Test
  void noDataIsNotEmptyData() {
    assertThat(mapper.toMessage(binary("kafka", "ce_", Map.of()).build()).payload()).isNull();
    assertThat(mapper.toMessage(binary("kafka", "ce_", Map.of()).body(new byte[0]).build()))
        .extracting(Message::payload)
        .isEqualTo(new byte[0]);
    assertThat(mapper.toMessage(structured("")).payload()).isNull();
    assertThat(mapper.toMessage(structured("\"data_base64\":null")).payload()).isNull();
    assertThat(mapper.toMessage(structured("\"data_base64\":\"\"")).payload())
        .isEqualTo(new byte[0]);
  }

  @Test
  void theDocumentStandsAboveCopiesAmongTheHeaders() {
    Envelope envelope =
        binary("kafka", "ce_", Map.of("id", "another"))
            .contentType(JSON)
            .body(structured("").body())
            .build();
    Message message = mapper.toMessage(envelope);
    assertThat(message.id()).isEqualTo("e-1");
    assertThat(message.headers().asMap()).containsOnlyKeys("tenant");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "source | a b",
        "dataschema | %",
        "time | yesterday",
        "time | 2026-11-17",
        "time | 2026-11-17T09:30:00"
      })
  void aValueThatDoesNotFitItsAttributeIsRefused(String name, String value) {
    refused(binary("kafka", "ce_", Map.of(name, value)).build(), ErrorCode.EVENT_ATTRIBUTE_INVALID)
        .hasMessageContaining("'" + name + "'")
        .hasMessageContaining("'" + value + "'");
  }

  @Test
  void aValueOfAKindThatEventsDoNotHaveIsRefused() {
    for (Object value : List.of(1L << 40, new BigDecimal("1.5"), List.of("a", "b"), Map.of())) {
      refused(
          binary("rabbitmq", "cloudEvents_", Map.of("extra", value)).build(),
          ErrorCode.EVENT_ATTRIBUTE_INVALID);
    }
    refused(binary("kafka", "ce_", Map.of("id", 7)).build(), ErrorCode.EVENT_ATTRIBUTE_INVALID);
    for (String value : List.of("1.5", "{}", "[]", "4294967296", "1e400")) {
      refused(structured("\"extra\":" + value), ErrorCode.EVENT_ATTRIBUTE_INVALID);
    }
    refused(structured("\"subject\":true"), ErrorCode.EVENT_ATTRIBUTE_INVALID);
  }

  @ParameterizedTest
  @ValueSource(strings = {"Extra", "my-extra", "my_extra", "exträ", "data"})
  void aNameThatNoAttributeMayHaveIsRefused(String name) {
    refused(binary("kafka", "ce_", Map.of(name, "x")).build(), ErrorCode.EVENT_ATTRIBUTE_NAME)
        .hasMessageContaining("'" + name + "'");
    Message message =
        Message.encoded("m-1", "t", null, "text/plain").from("/shop").header("ce-" + name, "x");
    assertThatThrownBy(() -> mapper.toEnvelope(message, "kafka", "orders"))
        .isInstanceOfSatisfying(
            InboxException.class,
            e -> assertThat(e.code()).isEqualTo(ErrorCode.EVENT_ATTRIBUTE_NAME))
        .hasMessageContaining("for kafka:orders");
  }

  @Test
  void whatIsShownOfAValueIsEscapedAndCut() {
    Map<String, ?> attributes = Map.of("time", "\n" + "x".repeat(1_000));
    refused(binary("kafka", "ce_", attributes).build(), ErrorCode.EVENT_ATTRIBUTE_INVALID)
        .hasMessageContaining("'\\u000A" + "x".repeat(63) + "…'");
  }

  @Test
  void theTraceOfAnEventIsThatOfTheMessage() {
    Map<String, ?> attributes = Map.of("traceparent", PARENT, "tracestate", "a=b");
    Message message = mapper.toMessage(binary("kafka", "ce_", attributes).build());
    assertThat(message.headers().text("traceparent")).hasValue(PARENT);
    assertThat(message.headers().text("tracestate")).hasValue("a=b");
    assertThat(message.headers().asMap()).doesNotContainKey("ce-traceparent");

    Envelope out = mapper.toEnvelope(message, "kafka", "orders");
    assertThat(out.headers().text("ce_traceparent")).hasValue(PARENT);
    assertThat(out.headers().text("ce_tracestate")).hasValue("a=b");
    assertThat(out.headers().text("traceparent")).hasValue(PARENT);
  }

  @Test
  void theTraceOfTheLastHopDoesNotHideThatOfTheEvent() {
    Map<String, ?> attributes = Map.of("traceparent", PARENT, "tracestate", "a=b");
    Envelope event = binary("kafka", "ce_", attributes).build();
    Envelope hop = event.toBuilder().headers(event.headers().with("traceparent", OTHER)).build();
    Message message = mapper.toMessage(hop);
    assertThat(message.headers().text("traceparent")).hasValue(OTHER);
    assertThat(message.headers().text("tracestate")).isEmpty();
    assertThat(message.headers().text("ce-traceparent")).hasValue(PARENT);
    assertThat(message.headers().text("ce-tracestate")).hasValue("a=b");
    assertThat(Facts.of(mapper.toMessage(mapper.toEnvelope(message, "kafka", "orders"))))
        .isEqualTo(Facts.of(message));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "nonsense",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more"
      })
  void d64_aTraceThatIsMalformedIsIgnoredAndKept(String malformed) {
    Map<String, ?> attributes = Map.of("traceparent", malformed, "tracestate", "a=b");
    Message message = mapper.toMessage(binary("kafka", "ce_", attributes).build());
    assertThat(message.headers().asMap()).doesNotContainKeys("traceparent", "tracestate");
    assertThat(message.headers().text("ce-traceparent")).hasValue(malformed);
    assertThat(message.headers().text("ce-tracestate")).hasValue("a=b");
  }

  @Test
  void aTraceOfALaterVersionMayHaveMore() {
    String later = "01" + PARENT.substring(2) + "-more";
    Map<String, ?> attributes = Map.of("traceparent", later);
    assertThat(
            mapper
                .toMessage(binary("kafka", "ce_", attributes).build())
                .headers()
                .text("traceparent"))
        .hasValue(later);
  }

  @Test
  void aMessageGoesOutAsAnEvent() {
    Message message =
        Message.encoded("m-1", "order.placed", "{}".getBytes(UTF_8), "application/json")
            .orderedBy("c-1")
            .occurredAt(Instant.parse("2026-11-17T09:30:00Z"))
            .header("ce-subject", "o-1")
            .header("tenant", "acme")
            .header("kafka.partition", 3);
    Envelope out = mapper.source("/shop").toEnvelope(message, "kafka", "orders");

    assertThat(out.headers().asMap())
        .containsOnly(
            Map.entry("ce_specversion", "1.0"),
            Map.entry("ce_id", "m-1"),
            Map.entry("ce_source", "/shop"),
            Map.entry("ce_type", "order.placed"),
            Map.entry("ce_time", "2026-11-17T09:30:00Z"),
            Map.entry("ce_partitionkey", "c-1"),
            Map.entry("ce_subject", "o-1"),
            Map.entry("tenant", "acme"));
    assertThat(out.contentType()).hasValue("application/json");
    assertThat(out.key()).hasValue("c-1");
    assertThat(out.body()).isEqualTo("{}".getBytes(UTF_8));
    assertThat(out.properties().get("partition")).isEqualTo(3);
  }

  @Test
  void aMessageGoesOutAsOneDocument() {
    Message message =
        Message.encoded("m-1", "order.placed", "{ \"a\":1.10}".getBytes(UTF_8), "application/json")
            .from("/shop")
            .header("ce-retries", 3)
            .header("tenant", "acme");
    Envelope out = mapper.structured().toEnvelope(message, "rabbitmq", "orders");

    assertThat(out.contentType()).hasValue(JSON);
    assertThat(out.headers().asMap()).containsOnlyKeys("tenant");
    assertThat(new String(out.body(), UTF_8))
        .startsWith("{")
        .contains("\"specversion\":\"1.0\"", "\"id\":\"m-1\"", "\"retries\":3")
        .contains("\"data\":{ \"a\":1.10}");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "{",
        "{} {}",
        "{\"a\":1,\"a\":2}",
        "\uFEFF{}",
        "{\"a\":1},\"id\":1",
        "\"a\\qb\"",
        "\"a\nb\"",
        "[\"\\u12\"]",
        "\"open",
        "tru",
        "01"
      })
  void dataThatOnlyClaimsToBeJsonCannotSpoilTheDocument(String data) {
    byte[] payload = data.getBytes(UTF_8);
    Message message = Message.encoded("m-1", "t", payload, "application/json").from("/shop");
    Envelope out = mapper.structured().toEnvelope(message, "http", "/hooks");
    assertThat(new String(out.body(), UTF_8)).contains("\"data_base64\":");
    assertThat(mapper.toMessage(out).payload()).isEqualTo(payload);
    assertThat(mapper.toMessage(out).id()).isEqualTo("m-1");
  }

  /** The document is one level deeper than the data, and has tokens of its own. */
  @Test
  void whatGoesOutAsOneDocumentCanBeReadAgain() {
    String most = "[1" + ",1".repeat(999_997) + "]"; // a million tokens
    for (String data : List.of(nested(199), nested(200), nested(10_000), most)) {
      byte[] payload = data.getBytes(UTF_8);
      Message message = Message.encoded("m-1", "t", payload, "application/json").from("/shop");
      Envelope out = mapper.structured().toEnvelope(message, "http", "/hooks");
      assertThat(mapper.toMessage(out).payload()).isEqualTo(payload);
      assertThat(new String(out.body(), UTF_8).contains("\"data\":"))
          .as("written as JSON")
          .isEqualTo(data.equals(nested(199)));
    }
  }

  @Test
  void aHeaderCannotSayWhatTheMessageSays() {
    Message message = Message.encoded("m-1", "t", null, "text/plain").from("/shop");
    for (String name :
        List.of("specversion", "id", "source", "type", "time", "datacontenttype", "partitionkey")) {
      message = message.header("ce-" + name, "false");
    }
    assertThat(mapper.toEnvelope(message, "kafka", "orders").headers().asMap())
        .doesNotContainValue("false");
  }

  @Test
  void withoutASourceNothingGoesOut() {
    Message message = Message.encoded("m-1", "t", null, "text/plain");
    assertThatThrownBy(() -> mapper.toEnvelope(message, "kafka", "orders"))
        .isInstanceOfSatisfying(
            InboxException.class,
            e -> assertThat(e.code()).isEqualTo(ErrorCode.EVENT_ATTRIBUTE_MISSING))
        .hasMessageContaining("'m-1'")
        .hasMessageContaining(".source(…)");
    assertThat(
            mapper
                .source("/shop")
                .toEnvelope(message.from("/own"), "kafka", "orders")
                .headers()
                .text("ce_source"))
        .hasValue("/own");
  }

  @Test
  void eachStepLeavesTheOneBeforeAsItWas() {
    CloudEventMapper all =
        mapper.structured().orderedByKey().source("/shop").otherwise(MessageMapper.plain());
    Message message = Message.encoded("m-1", "t", null, "text/plain");
    assertThat(all.toEnvelope(message, "kafka", "orders").contentType()).hasValue(JSON);
    assertThat(all.toMessage(binary("kafka", "ce_", Map.of()).key("k").build()).orderingKey())
        .hasValue("k");
    assertThatThrownBy(() -> mapper.toEnvelope(message, "kafka", "orders"))
        .isInstanceOf(InboxException.class);
  }

  @Test
  void whatTheTransportWasToldWinsOverWhatAnEventClaims() {
    Envelope claimed = binary("http", "ce-", Map.of()).build();

    assertThat(mapper.toMessage(claimed).source()).contains("/shop/checkout");
    assertThat(mapper.toMessage(claimed.toBuilder().source("stripe").build()).source())
        .contains("stripe");
  }

  @Test
  void headersThatOnlyLookLikeAttributesAreDropped() {
    Envelope event =
        Envelope.of("kafka", "orders")
            .headers(binary("kafka", "ce_", Map.of()).build().headers().with("ce-vip", "yes"))
            .build();

    assertThat(mapper.toMessage(event).headers().asMap()).isEqualTo(Map.of("tenant", "acme"));
  }
}
