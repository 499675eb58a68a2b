package dev.pigeonhole.examples.docs;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Headers;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.cloudevents.CloudEventMapper;
import dev.pigeonhole.examples.docs.Shop.Mailer;
import dev.pigeonhole.examples.docs.Shop.OrderPlaced;
import dev.pigeonhole.http.HttpCall;
import dev.pigeonhole.testkit.MemoryStore;
import dev.pigeonhole.transport.Disposition;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.MessageMapper;
import dev.pigeonhole.transport.Sent;
import dev.pigeonhole.transport.Transport;
import dev.pigeonhole.webhook.OutgoingHttp;
import dev.pigeonhole.webhook.Signature;
import dev.pigeonhole.webhook.Webhook;
import dev.pigeonhole.webhook.WebhookEndpoint;
import dev.pigeonhole.webhook.WebhookServer;
import java.net.URI;
import java.security.GeneralSecurityException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;
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
    Map<String, List<String>> headers =
        Map.of(
            "Content-Type", List.of("application/cloudevents+json"),
            "X-Proof", List.of(proof(secret, event)));

    assertThat(endpoint.answer(new HttpCall("POST", "/hooks/shop", headers, event)).status())
        .isEqualTo(202);
    inbox.drain();
    assertThat(mailer.sent).containsExactly("o-1");
    assertThat(inbox.find("shop", "e-1", "send-receipt")).isPresent();
  }

  private static String proof(String secret, byte[] body) throws GeneralSecurityException {
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(secret.getBytes(UTF_8), "HmacSHA256"));
    return HexFormat.of().formatHex(mac.doFinal(body));
  }

  /** A channel that keeps how much data its events had; -1 for none. */
  private static Channel measuring(Map<String, Integer> lengths) {
    return Channel.named("orders")
        .mappedBy(CloudEventMapper.create())
        .on(byte[].class)
        .named("t")
        .handleMessage(
            "measure",
            received -> {
              byte @Nullable [] data = received.payload();
              lengths.put(received.message().id(), data == null ? -1 : data.length);
            })
        .build();
  }

  private static Message event(String id, byte @Nullable [] data) {
    return Message.encoded(id, "t", data, "application/json");
  }

  @Test
  void eventsGoFromAnOutboxesTransportToAWebhookWithNoDataOrEmptyData() throws Exception {
    String secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    Map<String, Integer> lengths = new ConcurrentHashMap<>();
    WebhookServer server =
        WebhookServer.onPort(0)
            .serving(
                Webhook.at("/hooks/shop")
                    .verifiedBy(Signature.standardWebhooks(secret))
                    .contentTypes("application/cloudevents+json"));
    Inbox inbox = Inbox.on(MemoryStore.create()).channel(measuring(lengths), server).build();
    MessageMapper events = CloudEventMapper.create().source("/shop").structured();
    try (RunningInbox running = inbox.start()) {
      Transport transport =
          OutgoingHttp.create()
              .allowPorts(server.port())
              .unsafeAllowHttp()
              .unsafeAllowPrivateAddresses()
              .signedWith(secret)
              .to(URI.create("http://127.0.0.1:" + server.port() + "/hooks/shop"))
              .transport();
      List<Envelope> envelopes =
          Stream.of(event("none", null), event("empty", new byte[0]), event("some", new byte[] {1}))
              .map(each -> events.toEnvelope(each, transport.kind(), transport.destination()))
              .toList();
      assertThat(transport.send(envelopes, ofSeconds(30))).containsOnly(new Sent.Confirmed());
      assertThat(running.healthy()).isTrue();
    }
    inbox.drain();
    assertThat(lengths).isEqualTo(Map.of("none", -1, "empty", 0, "some", 1));
    // The webhook has no source of its own, so an event names one.
    assertThat(inbox.find("/shop", "none", "measure")).isPresent();
  }

  @Test
  void eventsOfTwoWebhooksKeepTheSourcesThatTheyName() throws Exception {
    String secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    List<String> handled = new CopyOnWriteArrayList<>();
    Channel orders =
        Channel.named("orders")
            .mappedBy(CloudEventMapper.create())
            .on(byte[].class)
            .named("t")
            .handleMessage("note", received -> handled.add(received.message().source()))
            .build();
    Webhook events =
        Webhook.at("/a")
            .verifiedBy(Signature.standardWebhooks(secret))
            .contentTypes("application/cloudevents+json", "application/json")
            .type("t")
            .sourceFromMessage();
    Webhook others =
        Webhook.at("/b")
            .verifiedBy(Signature.standardWebhooks(secret))
            .contentTypes("application/cloudevents+json")
            .sourceFromMessage();
    WebhookServer server = WebhookServer.onPort(0).serving(events).serving(others);
    Inbox inbox = Inbox.on(MemoryStore.create()).channel(orders, server).build();
    try (RunningInbox running = inbox.start()) {
      OutgoingHttp http =
          OutgoingHttp.create()
              .allowPorts(server.port())
              .unsafeAllowHttp()
              .unsafeAllowPrivateAddresses()
              .signedWith(secret);
      String address = "http://127.0.0.1:" + server.port();
      MessageMapper structured = CloudEventMapper.create().structured();
      Message x = event("1", new byte[] {1}).from("/x");
      assertThat(sent(http, address + "/a", structured, x)).isInstanceOf(Sent.Confirmed.class);
      assertThat(sent(http, address + "/b", structured, x.from("/y")))
          .isInstanceOf(Sent.Confirmed.class);
      assertThat(sent(http, address + "/a", MessageMapper.plain(), x)).asString().contains("422");
      assertThat(running.healthy()).isTrue();
    }
    inbox.drain();
    assertThat(handled).containsExactlyInAnyOrder("/x", "/y");
  }

  private static Sent sent(OutgoingHttp http, String uri, MessageMapper mapper, Message message)
      throws InterruptedException {
    Transport transport = http.to(URI.create(uri)).transport();
    Envelope envelope = mapper.toEnvelope(message, transport.kind(), transport.destination());
    return transport.send(List.of(envelope), ofSeconds(30)).get(0);
  }

  @Test
  void overHttpNoDataIsEmptyDataInBinaryMode() throws Exception {
    String secret = "a secret that is long enough";
    Map<String, Integer> lengths = new ConcurrentHashMap<>();
    Inbox inbox = Inbox.on(MemoryStore.create()).channel(measuring(lengths)).build();
    WebhookEndpoint endpoint =
        Webhook.at("/hooks/shop")
            .verifiedBy(Signature.hmac("X-Proof", secret))
            .into(inbox, "orders");
    Map<String, List<String>> headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    CloudEventMapper.create()
        .source("/shop")
        .toEnvelope(event("none", null), "http", "/hooks/shop")
        .headers()
        .asMap()
        .forEach((name, value) -> headers.put(name, List.of(String.valueOf(value))));
    byte[] body = new byte[0]; // HTTP has nothing else to say it with
    headers.put("Content-Type", List.of("application/json"));
    headers.put("X-Proof", List.of(proof(secret, body)));

    assertThat(endpoint.answer(new HttpCall("POST", "/hooks/shop", headers, body)).status())
        .isEqualTo(202);
    inbox.drain();
    assertThat(lengths).isEqualTo(Map.of("none", 0));
  }
}
