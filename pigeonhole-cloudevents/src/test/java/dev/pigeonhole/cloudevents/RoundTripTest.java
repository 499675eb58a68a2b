package dev.pigeonhole.cloudevents;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.time.format.DateTimeFormatter.ISO_OFFSET_DATE_TIME;
import static java.time.temporal.ChronoUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Headers;
import dev.pigeonhole.Message;
import dev.pigeonhole.transport.Envelope;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What goes out as an event comes in as the same message, and stays the same ever after. */
class RoundTripTest {
  private static final int EVENTS = 500;
  private static final List<String> TEXTS =
      List.of(
          "plain",
          "two words",
          " edges ",
          "100%",
          "%41",
          "%25",
          "a\"b\"c",
          "\"quoted\"",
          "back\\slash",
          "ä€😀",
          "a,b;c=d",
          "true",
          "7",
          "null",
          "2026-11-17T09:30:00Z");
  private static final List<String> SOURCES =
      List.of("/shop", "urn:shop:checkout", "https://shop.example/a%20b?c=d#e", "shop", "/ä");
  private static final List<String> JSON =
      List.of(
          "{}", "{ \"a\" : 1.10,\n\"b\":[ ] }", "9007199254740993", "null", "\"ä\\u0000\"", "1e2");

  private final Random random = new Random(20261117);

  @ParameterizedTest
  @CsvSource({
    "rabbitmq, false",
    "rabbitmq, true",
    "kafka, false",
    "kafka, true",
    "http, false",
    "http, true",
    "carrier-pigeon, false",
    "carrier-pigeon, true"
  })
  void outAndInIsTheSameMessage(String transport, boolean structured) {
    CloudEventMapper mapper =
        structured ? CloudEventMapper.create().structured() : CloudEventMapper.create();
    for (int i = 0; i < EVENTS; i++) {
      Message sent = message(transport);
      Envelope envelope = mapper.toEnvelope(sent, transport, "orders");
      Message received = mapper.toMessage(envelope);
      assertThat(Facts.of(received))
          .as("event %d", i)
          .isEqualTo(Facts.of(asCarried(sent, transport, structured)));

      Message again = mapper.toMessage(mapper.toEnvelope(received, transport, "orders"));
      assertThat(Facts.of(again)).as("event %d", i).isEqualTo(Facts.of(received));
      if (transport.equals("http")) {
        assertThat(envelope.headers().asMap())
            .allSatisfy((name, value) -> assertThat((String) value).matches("[\\x21-\\x7E]*"));
      }
    }
  }

  private Message message(String transport) {
    Message message =
        Message.encoded(one(TEXTS) + random.nextInt(), one(TEXTS), null, "text/plain");
    message =
        switch (random.nextInt(4)) {
          case 0 -> message;
          case 1 -> Message.encoded(message.id(), one(TEXTS), new byte[0], contentType());
          case 2 -> Message.encoded(message.id(), one(TEXTS), bytes(), contentType());
          default ->
              Message.encoded(
                  message.id(), one(TEXTS), one(JSON).getBytes(UTF_8), "application/a.b-1+json");
        };
    message = message.from(one(SOURCES)).transport(transport).header("tenant", "acme");
    if (random.nextBoolean()) {
      message = message.orderedBy(one(TEXTS));
    }
    if (random.nextBoolean()) {
      message = message.occurredAt(instant());
    }
    if (random.nextBoolean()) {
      message = message.header("ce-subject", one(TEXTS)).header("ce-dataschema", one(SOURCES));
    }
    if (random.nextBoolean()) {
      message =
          message
              .header("traceparent", "00-%032x-%016x-01".formatted(i(), i()))
              .header("tracestate", "a=b");
    }
    for (int i = random.nextInt(6); i > 0; i--) {
      message = message.header("ce-extra" + i, extension());
    }
    return message;
  }

  private Object extension() {
    return switch (random.nextInt(6)) {
      case 0 -> random.nextInt();
      case 1 -> random.nextBoolean();
      case 2 -> bytes();
      case 3 -> instant();
      default -> one(TEXTS);
    };
  }

  private int i() {
    return 1 + random.nextInt(1_000_000);
  }

  private String one(List<String> from) {
    return from.get(random.nextInt(from.size()));
  }

  private String contentType() {
    return one(List.of("text/plain", "image/png", "application/json", "text/xml; charset=x-none"));
  }

  private byte[] bytes() {
    byte[] bytes = new byte[random.nextInt(20)];
    random.nextBytes(bytes);
    return bytes;
  }

  private Instant instant() {
    return Instant.ofEpochSecond(
        random.nextInt(), random.nextBoolean() ? 0 : random.nextInt(1_000_000_000));
  }

  /** Kinds that a transport or JSON does not have are carried as the text that stands for them. */
  private static Message asCarried(Message sent, String transport, boolean structured) {
    boolean text = !structured && (transport.equals("kafka") || transport.equals("http"));
    Map<String, @Nullable Object> headers = new LinkedHashMap<>(sent.headers().asMap());
    headers.replaceAll(
        (name, value) -> {
          if (value instanceof Instant instant
              && (text || structured || !instant.equals(instant.truncatedTo(SECONDS)))) {
            return ISO_OFFSET_DATE_TIME.format(instant.atOffset(ZoneOffset.UTC));
          }
          if (value instanceof byte[] bytes) {
            return text || structured ? Base64.getEncoder().encodeToString(bytes) : value;
          }
          return text ? String.valueOf(value) : value;
        });
    return sent.headers(Headers.of(headers));
  }
}
