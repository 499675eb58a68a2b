package dev.pigeonhole.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Headers;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;

/** Envelopes taken at their word, or fetched from where their producer put things. */
class PlainMapperTest {
  private static final Instant NOON = Instant.parse("2026-01-02T12:00:00Z");

  private static Envelope.Builder envelope() {
    return Envelope.of("rabbitmq", "orders").id("m-1").type("order.placed");
  }

  @Test
  void idIsIdAndTypeIsType() {
    byte[] body = {1, 2, 3};
    Message message =
        MessageMapper.plain()
            .toMessage(
                envelope()
                    .key("c-1")
                    .contentType("application/json")
                    .body(body)
                    .headers(Headers.none().with("tenant", "acme"))
                    .sentAt(NOON)
                    .build());

    assertThat(message.id()).isEqualTo("m-1");
    assertThat(message.type()).contains("order.placed");
    assertThat(message.contentType()).contains("application/json");
    assertThat(message.payload()).isEqualTo(body);
    assertThat(message.headers().asMap()).isEqualTo(Map.of("tenant", "acme"));
    assertThat(message.occurredAt()).contains(NOON);
    assertThat(message.transport()).isEqualTo("rabbitmq");
    assertThat(message.source()).isEmpty();
    assertThat(message.orderingKey()).isEmpty();
  }

  @Test
  void noIdIsMadeUp() {
    Envelope without = envelope().id(null).build();

    assertThat(MessageMapper.plain().toMessage(without).id()).isNull();
    assertThat(MessageMapper.plain().idFrom("x-id").toMessage(envelope().build()).id()).isNull();
  }

  @Test
  void aMissingBodyIsNotAnEmptyOne() {
    assertThat(MessageMapper.plain().toMessage(envelope().build()).payload()).isNull();
    assertThat(MessageMapper.plain().toMessage(envelope().body(new byte[0]).build()).payload())
        .isEqualTo(new byte[0]);
  }

  @Test
  void everythingCanBeFetchedFromHeaders() {
    PlainMapper mapper =
        MessageMapper.plain()
            .idFrom("x-id")
            .typeFrom("x-type")
            .sourceFrom("x-source")
            .orderedByHeader("x-customer");
    Headers headers =
        Headers.none()
            .with("x-id", 4711L)
            .with("x-type", "order.cancelled")
            .with("x-source", "shop")
            .with("x-customer", "c-1");
    Message message = mapper.toMessage(envelope().headers(headers).build());

    assertThat(message.id()).isEqualTo("4711");
    assertThat(message.type()).contains("order.cancelled");
    assertThat(message.source()).contains("shop");
    assertThat(message.orderingKey()).contains("c-1");
    assertThat(message.headers()).isEqualTo(headers);
  }

  @Test
  void theSourceIsWhatTheTransportWasToldUnlessAHeaderIsTrusted() {
    Envelope told = envelope().source("stripe").build();
    Envelope claimed =
        told.toBuilder().headers(Headers.none().with("x-source", "somebody")).build();

    assertThat(MessageMapper.plain().toMessage(told).source()).contains("stripe");
    assertThat(MessageMapper.plain().toMessage(claimed).source()).contains("stripe");
    assertThat(MessageMapper.plain().sourceFrom("x-source").toMessage(claimed).source())
        .contains("somebody");
    assertThat(MessageMapper.plain().sourceFrom("x-source").toMessage(told).source())
        .contains("stripe");
  }

  @Test
  void theKeyOrdersWhereThatIsWanted() {
    Envelope keyed = envelope().key("c-1").build();

    assertThat(MessageMapper.plain().orderedByKey().toMessage(keyed).orderingKey()).contains("c-1");
    assertThat(
            MessageMapper.plain()
                .orderedByKey()
                .orderedByHeader("x")
                .toMessage(keyed)
                .orderingKey())
        .isEmpty();
    assertThat(
            MessageMapper.plain()
                .orderedByHeader("x")
                .orderedByKey()
                .toMessage(keyed)
                .orderingKey())
        .contains("c-1");
  }

  @Test
  void aKeyThatIsNoTextOrdersByItsBytes() {
    Envelope keyed = envelope().property("key", new byte[] {0, 0, (byte) 0xC3, 7}).build();

    assertThat(MessageMapper.plain().orderedByKey().toMessage(keyed).orderingKey())
        .contains("0000c307");
    assertThat(MessageMapper.plain().toMessage(keyed).orderingKey()).isEmpty();
    assertThat(MessageMapper.plain().orderedByKey().toMessage(envelope().build()).orderingKey())
        .isEmpty();
  }

  private static Optional<String> order(Envelope.Builder envelope) {
    return MessageMapper.plain().orderedByKey().toMessage(envelope.build()).orderingKey();
  }

  @Test
  void aKeyThatIsTooLongToOrderByOrdersByItsDigest() {
    byte[] fits = new byte[100];
    byte[] longer = new byte[101];
    byte[] other = new byte[101];
    other[100] = 1;

    assertThat(order(envelope().property("key", fits))).contains("00".repeat(100));
    assertThat(order(envelope().property("key", longer)))
        .hasValueSatisfying(it -> assertThat(it).matches("sha-256:[0-9a-f]{64}"))
        .isEqualTo(order(envelope().property("key", longer.clone())))
        .isNotEqualTo(order(envelope().property("key", other)));

    String text = "😀".repeat(200);
    assertThat(order(envelope().key(text))).contains(text);
    assertThat(order(envelope().key(text + "a")))
        .hasValueSatisfying(it -> assertThat(it).matches("sha-256:[0-9a-f]{64}"))
        .isEqualTo(order(envelope().key(text + "a")))
        .isNotEqualTo(order(envelope().key(text + "b")));
    assertThat(order(envelope().key("abc".repeat(100))))
        .contains("sha-256:d9f5aeb06abebb3be3f38adec9a2e3b94228d52193be923eb4e24c9b56ee0930");
  }

  @Test
  void aBlankKeyIsNoOrder() {
    assertThat(order(envelope().key(""))).isEmpty();
    assertThat(order(envelope().key(" \u2003 "))).isEmpty();
    assertThat(order(envelope().key(" ".repeat(201)))).isEmpty();
    assertThat(order(envelope().property("key", new byte[0]))).isEmpty();
  }

  @Test
  void whatNamesNothingIsWhatTheChannelSays() {
    Message message =
        MessageMapper.plain()
            .type("order.placed")
            .contentType("application/json")
            .toMessage(envelope().type(null).build());

    assertThat(message.type()).contains("order.placed");
    assertThat(message.contentType()).contains("application/json");
    assertThat(
            MessageMapper.plain()
                .type("other")
                .contentType("text/plain")
                .toMessage(envelope().contentType("application/json").build()))
        .satisfies(
            named -> {
              assertThat(named.type()).contains("order.placed");
              assertThat(named.contentType()).contains("application/json");
            });
  }

  @Test
  void ph_key_11_aTypeThatNobodyNamesIsRefusedWithTheWayOut() {
    assertThatThrownBy(() -> MessageMapper.plain().toMessage(envelope().type("").build()))
        .isInstanceOf(InboxException.class)
        .hasMessageContaining("PH-KEY-11")
        .hasMessageContaining("rabbitmq:orders")
        .hasMessageContaining(".type(");
  }

  @Test
  void d10_anIdOfBytesThatAreNoTextIsRefusedInHex() {
    Headers headers = Headers.none().with("x-id", new byte[] {(byte) 0xC3, 0x28});

    assertThatThrownBy(
            () ->
                MessageMapper.plain().idFrom("x-id").toMessage(envelope().headers(headers).build()))
        .asInstanceOf(InstanceOfAssertFactories.throwable(InboxException.class))
        .hasMessageContaining("c328")
        .extracting(InboxException::code)
        .isEqualTo(ErrorCode.ID_INVALID_UNICODE);
  }

  @Test
  void propertiesAreHeadersUnderTheNameOfTheTransportAndComeBack() {
    Envelope in =
        envelope()
            .headers(Headers.none().with("tenant", "acme"))
            .property("exchange", "shop")
            .property("delivery-count", 2L)
            .property("reply-to", null)
            .build();
    Message message = MessageMapper.plain().toMessage(in);

    assertThat(message.headers().asMap())
        .isEqualTo(
            Map.of("tenant", "acme", "rabbitmq.exchange", "shop", "rabbitmq.delivery-count", 2L));

    Envelope out = MessageMapper.plain().toEnvelope(message, "rabbitmq", "elsewhere");
    assertThat(out.headers()).isEqualTo(in.headers());
    assertThat(out.properties()).isEqualTo(in.properties());

    Envelope kafka = MessageMapper.plain().toEnvelope(message, "kafka", "elsewhere");
    assertThat(kafka.properties().asMap()).isEmpty();
    assertThat(kafka.headers().asMap()).containsEntry("rabbitmq.exchange", "shop");
  }

  @Test
  void aProducerCannotPassAHeaderForAProperty() {
    Headers sent = Headers.none().with("rabbitmq.expiration", "1").with("kafka.partition", 3L);
    Message message = MessageMapper.plain().toMessage(envelope().headers(sent).build());

    assertThat(message.headers().asMap()).isEqualTo(Map.of("kafka.partition", 3L));
  }

  @Test
  void whatGoesOutComesInAsTheSame() {
    PlainMapper mapper =
        MessageMapper.plain()
            .idFrom("x-id")
            .typeFrom("x-type")
            .sourceFrom("x-source")
            .orderedByHeader("x-key");
    Headers headers =
        Headers.of(Map.of("a", "text", "b", List.of(1L, "two"), "c", NOON, "d", true));
    Message message =
        Message.encoded("m-1", "order.placed", new byte[] {7}, "application/json")
            .from("shop")
            .orderedBy("c-1")
            .occurredAt(NOON)
            .headers(headers);

    Envelope out = mapper.toEnvelope(message, "kafka", "orders");
    assertThat(List.of(out.transport(), out.destination())).containsExactly("kafka", "orders");
    assertThat(out.id()).contains("m-1");
    assertThat(out.type()).contains("order.placed");
    assertThat(out.key()).contains("c-1");
    Message again = mapper.toMessage(out);

    assertThat(again.id()).isEqualTo("m-1");
    assertThat(again.type()).contains("order.placed");
    assertThat(again.source()).contains("shop");
    assertThat(again.orderingKey()).contains("c-1");
    assertThat(again.occurredAt()).contains(NOON);
    assertThat(again.contentType()).contains("application/json");
    assertThat(Arrays.equals((byte[]) again.payload(), new byte[] {7})).isTrue();
    assertThat(again.headers().asMap()).containsAllEntriesOf(headers.asMap());
  }

  @Test
  void anEnvelopeCanBeChangedWithoutTouchingTheFirst() {
    Envelope first =
        envelope()
            .key("k")
            .contentType("t")
            .body(new byte[] {1})
            .sentAt(NOON)
            .redelivered(true)
            .build();
    Envelope second = first.toBuilder().id("m-2").build();

    assertThat(first.id()).contains("m-1");
    assertThat(second.id()).contains("m-2");
    assertThat(second).usingRecursiveComparison().ignoringFields("id").isEqualTo(first);
    assertThat(second.toString()).isEqualTo("Envelope[rabbitmq:orders/m-2]");
  }
}
