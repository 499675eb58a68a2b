package dev.pigeonhole.examples.docs;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Headers;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.cloudevents.CloudEventMapper;
import dev.pigeonhole.examples.docs.Shop.Mailer;
import dev.pigeonhole.examples.docs.Shop.OrderPlaced;
import dev.pigeonhole.http.HttpCall;
import dev.pigeonhole.testkit.MemoryStore;
import dev.pigeonhole.transport.Disposition;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.MessageMapper;
import dev.pigeonhole.webhook.Signature;
import dev.pigeonhole.webhook.Webhook;
import dev.pigeonhole.webhook.WebhookEndpoint;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.Test;

/** CloudEvents, as the documentation shows them. */
class DocSnippetsCloudEventsTest {

  @Test
  void aChannelThatReadsThem() {
    Mailer mailer = new Mailer();
    // snippet:cloudevents-in
    Channel orders =
        Channel.named("orders")
            .mappedBy(CloudEventMapper.create())
            .on(OrderPlaced.class)
            .named("com.shop.order.placed") // the event's type
            .handle("send-receipt", mailer::sendReceipt)
            .build();
    // end
    Inbox inbox = Inbox.on(MemoryStore.create()).channel(orders).build();
    Map<String, String> attributes =
        Map.of(
            "ce-specversion", "1.0",
            "ce-id", "e-1",
            "ce-source", "/shop",
            "ce-type", "com.shop.order.placed");
    Envelope event =
        Envelope.of("http", "/hooks")
            .contentType("application/json")
            .body("{\"order\":\"o-1\",\"customer\":\"c-1\"}".getBytes(UTF_8))
            .headers(Headers.of(attributes))
            .build();
    Envelope tooOld =
        event.toBuilder().headers(event.headers().with("ce-specversion", "0.3")).build();

    assertThat(inbox.acceptor("orders").accept(List.of(event, tooOld)))
        .satisfiesExactly(
            taken -> assertThat(taken).isEqualTo(new Disposition.Done()),
            refused ->
                assertThat(refused).extracting("code").isEqualTo(ErrorCode.EVENT_VERSION_UNKNOWN));
    inbox.drain();
    assertThat(mailer.sent).containsExactly("o-1");
    assertThat(inbox.find("/shop", "e-1", "send-receipt")).isPresent();
  }

  @Test
  void whatIsNoEventMayHaveAMapperOfItsOwn() {
    // snippet:cloudevents-otherwise
    MessageMapper both =
        CloudEventMapper.create()
            .orderedByKey() // where an event has no partitionkey
            .otherwise(MessageMapper.plain().idFrom("x-id").typeFrom("x-type"));
    // end
    Headers event =
        Headers.of(
            Map.of("ce_specversion", "1.0", "ce_id", "e-1", "ce_source", "/shop", "ce_type", "t"));
    Headers plain = Headers.of(Map.of("x-id", "m-1", "x-type", "t"));
    Envelope.Builder record = Envelope.of("kafka", "orders").key("c-1");
    Message read = both.toMessage(record.headers(event).build());
    assertThat(read.id()).isEqualTo("e-1");
    assertThat(read.orderingKey()).hasValue("c-1");
    assertThat(both.toMessage(record.headers(plain).build()).id()).isEqualTo("m-1");
  }

  @Test
  void messagesGoOutAsEvents() {
    // snippet:cloudevents-out
    MessageMapper events = CloudEventMapper.create().source("/shop/checkout").structured();
    // end
    Message message = Message.encoded("m-1", "t", "{}".getBytes(UTF_8), "application/json");
    Envelope out = events.toEnvelope(message, "rabbitmq", "orders");
    assertThat(out.contentType()).hasValue("application/cloudevents+json");
    assertThat(events.toMessage(out).source()).hasValue("/shop/checkout");
  }

  @Test
  void aWebhookTakesEventsThatAreSignedAsAWhole() throws Exception {
    Mailer mailer = new Mailer();
    Channel orders =
        Channel.named("orders")
            .mappedBy(CloudEventMapper.create())
            .on(OrderPlaced.class)
            .named("com.shop.order.placed")
            .handle("send-receipt", mailer::sendReceipt)
            .build();
    Inbox inbox = Inbox.on(MemoryStore.create()).channel(orders).build();
    String secret = "a secret that is long enough";
    WebhookEndpoint endpoint =
        Webhook.at("/hooks/shop")
            .verifiedBy(Signature.hmac("X-Proof", secret))
            .contentTypes("application/cloudevents+json")
            .source("shop")
            .into(inbox, "orders");
    byte[] event =
        """
        {"specversion":"1.0","id":"e-1","source":"/claimed","type":"com.shop.order.placed",
         "datacontenttype":"application/json","data":{"order":"o-1","customer":"c-1"}}"""
            .getBytes(UTF_8);
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(secret.getBytes(UTF_8), "HmacSHA256"));
    Map<String, List<String>> headers =
        Map.of(
            "Content-Type", List.of("application/cloudevents+json"),
            "X-Proof", List.of(HexFormat.of().formatHex(mac.doFinal(event))));

    assertThat(endpoint.answer(new HttpCall("POST", "/hooks/shop", headers, event)).status())
        .isEqualTo(202);
    inbox.drain();
    assertThat(mailer.sent).containsExactly("o-1");
    assertThat(inbox.find("shop", "e-1", "send-receipt")).isPresent();
  }
}
