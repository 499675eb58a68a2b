package dev.pigeonhole.examples.docs;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.examples.docs.Shop.OrderPlaced;
import dev.pigeonhole.http.HttpAnswer;
import dev.pigeonhole.http.HttpCall;
import dev.pigeonhole.testkit.MemoryStore;
import dev.pigeonhole.webhook.OutgoingHttp;
import dev.pigeonhole.webhook.Signature;
import dev.pigeonhole.webhook.Webhook;
import dev.pigeonhole.webhook.WebhookEndpoint;
import dev.pigeonhole.webhook.WebhookServer;
import java.net.URI;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.Test;

/** Webhooks, as the documentation shows them. */
class DocSnippetsWebhookTest {
  private final String currentSecret = "whsec_c2VjcmV0IG51bWJlciBvbmU=";
  private final String nextSecret = "whsec_c2VjcmV0IG51bWJlciB0d28=";
  private final MemoryStore store = MemoryStore.create();
  private final Ledger ledger = new Ledger();

  record Charge(String id, String type) {}

  static final class Ledger {
    final List<String> booked = new ArrayList<>();

    void book(Charge charge) {
      booked.add(charge.id());
    }
  }

  private Webhook stripe() {
    // snippet:webhook
    Webhook stripe =
        Webhook.at("/hooks/stripe")
            .verifiedBy(Signature.stripe(currentSecret, nextSecret))
            .source("stripe")
            .maxBody(256_000);
    // end
    return stripe;
  }

  private Channel payments() {
    // snippet:webhook-channel
    Channel payments =
        Channel.named("payments")
            .on(Charge.class)
            .named("charge.succeeded")
            .handle("book-charge", ledger::book)
            .build();
    // end
    return payments;
  }

  private HttpCall signed(String body) throws Exception {
    String time = Long.toString(Instant.now().getEpochSecond());
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(nextSecret.getBytes(UTF_8), "HmacSHA256"));
    String proof = HexFormat.of().formatHex(mac.doFinal((time + "." + body).getBytes(UTF_8)));
    Map<String, List<String>> headers =
        Map.of(
            "Content-Type",
            List.of("application/json"),
            "Stripe-Signature",
            List.of("t=" + time + ",v1=" + proof));
    return new HttpCall("POST", "/hooks/stripe", headers, body.getBytes(UTF_8));
  }

  @Test
  void anEndpointInAnyFramework() throws Exception {
    Webhook stripe = stripe();
    Inbox inbox = Inbox.on(store).channel(payments()).build();
    HttpCall call = signed("{\"id\":\"evt_1\",\"type\":\"charge.succeeded\"}");
    // snippet:webhook-endpoint
    WebhookEndpoint endpoint = stripe.into(inbox, "payments");

    HttpAnswer answer = endpoint.answer(call);
    // end
    assertThat(answer.status()).isEqualTo(202);
    assertThat(endpoint.answer(call).status()).isEqualTo(202);
    inbox.drain();
    assertThat(ledger.booked).containsExactly("evt_1");
  }

  @Test
  void theServerOfTheJdk() {
    Webhook stripe = stripe();
    Webhook github = Webhook.at("/hooks/github").verifiedBy(Signature.github(currentSecret));
    Channel payments = payments();
    // snippet:webhook-server
    Inbox inbox =
        Inbox.on(store)
            .channel(payments, WebhookServer.onPort(8080).serving(stripe).serving(github))
            .build();
    // end
    assertThat(inbox.drain()).isZero(); // the port may be taken here, so it is not started
  }

  private static byte[] json(OrderPlaced order) {
    return "{\"order\":\"%s\"}".formatted(order.order()).getBytes(UTF_8);
  }

  @Test
  void sendingToOthers() {
    // snippet:outgoing-http
    OutgoingHttp partner =
        OutgoingHttp.post(URI.create("https://partner.example/hooks"))
            .signedWith(currentSecret, nextSecret)
            .timeout(ofSeconds(5));

    Channel orders =
        Channel.named("orders")
            .on(OrderPlaced.class)
            .handleMessage("notify-partner", order -> partner.send(order, json(order.payload())))
            .build();
    // end
    assertThat(orders.name()).isEqualTo("orders");
    assertThat(partner).hasToString("POST to https://partner.example:443");
  }
}
