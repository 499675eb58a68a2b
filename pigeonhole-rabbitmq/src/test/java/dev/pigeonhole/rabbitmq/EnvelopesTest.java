package dev.pigeonhole.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Delivery;
import com.rabbitmq.client.impl.LongStringHelper;
import dev.pigeonhole.Headers;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.transport.Envelope;
import java.time.Instant;
import java.util.Date;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class EnvelopesTest {
  private static final Instant TIME = Instant.parse("2026-01-02T03:04:05Z");

  @Test
  void whatHasAPlaceOfItsOwnIsThere() {
    BasicProperties properties =
        new BasicProperties.Builder()
            .messageId("m-1")
            .type("order.placed")
            .contentType("application/json")
            .contentEncoding("gzip")
            .correlationId("c-17")
            .replyTo("answers")
            .appId("checkout")
            .userId("alice")
            .timestamp(Date.from(TIME))
            .headers(
                Map.of(
                    "tenant",
                    "acme",
                    "pigeonhole-key",
                    "c-1",
                    "pigeonhole-retries",
                    2,
                    "x-delivery-count",
                    1L))
            .build();
    Envelope envelope =
        Envelopes.in(
            "orders",
            new Delivery(
                new com.rabbitmq.client.Envelope(7, true, "shop", "order.placed"),
                properties,
                new byte[] {1}));

    assertThat(envelope.transport()).isEqualTo("rabbitmq");
    assertThat(envelope.destination()).isEqualTo("orders");
    assertThat(envelope.id()).contains("m-1");
    assertThat(envelope.type()).contains("order.placed");
    assertThat(envelope.key()).contains("c-1");
    assertThat(envelope.contentType()).contains("application/json");
    assertThat(envelope.body()).containsExactly(1);
    assertThat(envelope.sentAt()).contains(TIME);
    assertThat(envelope.redelivered()).isTrue();
    assertThat(envelope.headers()).isEqualTo(Headers.of(Map.of("tenant", "acme")));
    assertThat(envelope.properties().asMap())
        .containsOnly(
            Map.entry("exchange", "shop"),
            Map.entry("routing-key", "order.placed"),
            Map.entry("correlation-id", "c-17"),
            Map.entry("reply-to", "answers"),
            Map.entry("app-id", "checkout"),
            Map.entry("user-id", "alice"),
            Map.entry("content-encoding", "gzip"),
            Map.entry("x-delivery-count", 1L));
  }

  @Test
  void aBodyThatIsThereIsNotTakenAway() {
    BasicProperties properties =
        new BasicProperties.Builder().headers(Map.of("pigeonhole-no-body", true)).build();
    Envelope envelope =
        Envelopes.in(
            "orders",
            new Delivery(
                new com.rabbitmq.client.Envelope(1, false, "", "orders"),
                properties,
                new byte[] {1}));
    assertThat(envelope.body()).containsExactly(1);
  }

  @Test
  void whatIsTooLongForAPropertyTravelsInAHeader() {
    String id = "i".repeat(300);
    BasicProperties properties =
        Envelopes.out(Envelope.of("rabbitmq", "q").id(id).type("t").key("k").build());
    assertThat(properties.getMessageId()).isNull();
    assertThat(properties.getHeaders()).containsEntry("pigeonhole-id", id);
    assertThat(properties.getType()).isEqualTo("t");
  }

  private static Envelope throughTheBroker(Envelope envelope) {
    return Envelopes.in(
        "q",
        new Delivery(
            new com.rabbitmq.client.Envelope(1, false, "shop", "order.placed"),
            Envelopes.out(envelope),
            Envelopes.bodyOut(envelope)));
  }

  @Test
  void headersOfAnotherMessageDoNotSpeakForThisOne() {
    Map<String, Object> stale =
        Map.of(
            "pigeonhole-id", "old",
            "pigeonhole-type", "old",
            "pigeonhole-key", "old",
            "pigeonhole-no-body", true,
            "pigeonhole-exchange", "old",
            "pigeonhole-routing-key", "old",
            "CC", List.of("audit"),
            "BCC", List.of("audit"),
            "tenant", "acme");
    Envelope envelope =
        Envelope.of("rabbitmq", "q")
            .id("new")
            .type("t")
            .body(new byte[0])
            .headers(Headers.of(stale))
            .build();
    assertThat(Envelopes.out(envelope).getHeaders()).containsOnlyKeys("tenant");
    Envelope received = throughTheBroker(envelope);

    assertThat(received.id()).contains("new");
    assertThat(received.type()).contains("t");
    assertThat(received.key()).isEmpty();
    assertThat(received.body()).isEmpty();
    assertThat(received.properties().get("exchange")).isEqualTo("shop");
    assertThat(received.headers().asMap()).isEqualTo(Map.of("tenant", "acme"));
  }

  private static Envelope received(String header, Object value) {
    return Envelopes.in(
        "q",
        new Delivery(
            new com.rabbitmq.client.Envelope(1, false, "", "q"),
            new BasicProperties.Builder()
                .messageId("m")
                .type("t")
                .headers(Map.of(header, value))
                .build(),
            new byte[0]));
  }

  @Test
  void aWholeNumberIsAnIdATypeAndAKey() {
    for (Object number : List.of(4711, 4711L, (short) 4711)) {
      assertThat(received("pigeonhole-id", number).id()).contains("4711");
      assertThat(received("pigeonhole-type", number).type()).contains("4711");
      assertThat(received("pigeonhole-key", number).key()).contains("4711");
    }
  }

  @Test
  void d10_anIdATypeAndAKeyThatAreNoTextAreRefused() {
    byte[] noText = {(byte) 0xC3, 0x28};
    for (String header : List.of("pigeonhole-id", "pigeonhole-type", "pigeonhole-key")) {
      for (Object value : List.of(noText, LongStringHelper.asLongString(noText))) {
        assertThatThrownBy(() -> received(header, value))
            .isInstanceOf(InboxException.class)
            .hasMessageStartingWith("PH-ID-05: ")
            .hasMessageContaining(header);
      }
      assertThatThrownBy(() -> received(header, true))
          .isInstanceOf(InboxException.class)
          .hasMessageStartingWith("PH-HDR-06: ")
          .hasMessageContaining("Boolean");
    }
  }
}
