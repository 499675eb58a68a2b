package dev.pigeonhole.webhook;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.Received;
import dev.pigeonhole.Unhandled;
import dev.pigeonhole.http.HttpAnswer;
import dev.pigeonhole.http.HttpCall;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.testkit.TestInbox;
import dev.pigeonhole.transport.Acceptor;
import dev.pigeonhole.transport.Disposition;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.MessageMapper;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;

/** What a webhook answers, and what reaches the inbox. */
class WebhookEndpointTest {
  private static final String SIGNATURE = "Stripe-Signature";

  private final List<Received<byte[]>> handled = new ArrayList<>();
  private final TestInbox inbox =
      TestInbox.of(
          Channel.named("payments")
              .unhandled(Unhandled.REJECT)
              .on(byte[].class)
              .named("charge.succeeded")
              .handleMessage("book", handled::add)
              .build());
  private final Webhook webhook =
      Webhook.at("/hooks/stripe")
          .verifiedBy(Signature.stripe(Proofs.SECRET, Proofs.NEXT_SECRET))
          .source("stripe")
          .maxBody(2_000_000)
          .clock(inbox.clock());
  private final WebhookEndpoint endpoint = webhook.into(inbox.inbox(), "payments");

  private String proof(String body) {
    return Proofs.stripe(Proofs.SECRET, inbox.clock().now(), body);
  }

  private HttpCall signed(String body, String... more) {
    return signed(body.getBytes(UTF_8), more);
  }

  private HttpCall signed(byte[] body, String... more) {
    String time = Long.toString(inbox.clock().now().getEpochSecond());
    ByteArrayOutputStream content = new ByteArrayOutputStream();
    content.writeBytes((time + ".").getBytes(UTF_8));
    content.writeBytes(body);
    String[] headers = Arrays.copyOf(more, more.length + 2);
    headers[more.length] = SIGNATURE;
    headers[more.length + 1] =
        "t="
            + time
            + ",v1="
            + HexFormat.of()
                .formatHex(Proofs.hmac(Proofs.SECRET.getBytes(UTF_8), content.toByteArray()));
    return Proofs.post(body, headers);
  }

  private static byte[] gzip(byte[] content) {
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    try (GZIPOutputStream out = new GZIPOutputStream(packed)) {
      out.write(content);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
    return packed.toByteArray();
  }

  private void assertProblem(HttpAnswer answer, int status, String code) {
    assertThat(answer.status()).isEqualTo(status);
    assertThat(answer.header("Content-Type")).contains("application/problem+json");
    assertThat(new String(answer.body(), UTF_8))
        .startsWith("{\"type\":\"urn:pigeonhole:" + code + "\",")
        .endsWith(",\"status\":" + status + ",\"code\":\"" + code + "\"}");
    assertThat(inbox.drain()).isZero();
  }

  private void assertUnverified(HttpAnswer answer) {
    assertThat(answer).isEqualTo(HttpAnswer.of(401));
    assertThat(inbox.drain()).isZero();
  }

  @Test
  void aGenuineRequestIsAMessageWithIdTypeContentAndHeaders() {
    HttpAnswer answer =
        endpoint.answer(
            signed(
                Proofs.EVENT,
                "User-Agent",
                "Stripe/1.0",
                "X-Two",
                "a",
                "X-Two",
                "b",
                "Authorization",
                "Basic c2VjcmV0",
                "Cookie",
                "secret",
                "Content-Length",
                "59"));
    assertThat(answer).isEqualTo(HttpAnswer.of(202));
    assertThat(inbox.drain()).isEqualTo(1);
    Received<byte[]> received = handled.get(0);
    assertThat(received.message()).isEqualTo(new MessageRef("stripe", "evt_1"));
    assertThat(received.type()).isEqualTo("charge.succeeded");
    assertThat(received.payload()).isEqualTo(Proofs.EVENT.getBytes(UTF_8));
    assertThat(received.headers().asMap())
        .isEqualTo(
            Map.of(
                "user-agent",
                "Stripe/1.0",
                "x-two",
                List.of("a", "b"),
                "content-type",
                "application/json"));
  }

  @Test
  void e21_theSourceIsConfiguredAndNeverRead() {
    String body = "{\"id\":\"evt_1\",\"type\":\"charge.succeeded\",\"source\":\"bank\"}";
    endpoint.answer(signed(body, "source", "bank", "ce-source", "bank"));
    inbox.drain();
    assertThat(handled.get(0).message().source()).isEqualTo("stripe");
  }

  @Test
  void e21_headersThatNobodySignedCannotStandForASignedId() {
    List<Envelope> seen = new ArrayList<>();
    webhook
        .into(
            envelopes -> {
              seen.addAll(envelopes);
              return List.of(new Disposition.Done());
            })
        .answer(signed(Proofs.EVENT, "CE-Id", "other", "ce-specversion", "1.0", "x-ce-id", "kept"));

    assertThat(seen.get(0).id()).contains("evt_1");
    assertThat(seen.get(0).headers().asMap())
        .doesNotContainKeys("ce-id", "ce-specversion")
        .containsEntry("x-ce-id", "kept");
  }

  @Test
  void withoutASourceItIsTheChannel() {
    Webhook.at("/hooks/stripe")
        .verifiedBy(Signature.stripe(Proofs.SECRET))
        .clock(inbox.clock())
        .into(inbox.inbox(), "payments")
        .answer(signed(Proofs.EVENT));
    inbox.drain();
    assertThat(handled.get(0).message().source()).isEqualTo("payments");
  }

  @Test
  void aMessageThatHasToNameItsSourceAndDoesNotIsRefused() {
    WebhookEndpoint naming = webhook.sourceFromMessage().into(inbox.inbox(), "payments");
    assertProblem(naming.answer(signed(Proofs.EVENT)), 422, "PH-ID-06");
    assertProblem(naming.answer(signed(Proofs.EVENT, "x-from", "bank")), 422, "PH-ID-06");

    assertThat(webhook.sourceFromMessage().source("own").into(inbox.inbox(), "payments"))
        .extracting(it -> it.answer(signed(Proofs.EVENT)).status())
        .isEqualTo(202);
    inbox.drain();
    assertThat(handled.get(0).message().source()).isEqualTo("own");
  }

  @Test
  void sendersWhoseMessagesNameTheirSourceMayUseTheSameIds() {
    TestInbox reading =
        TestInbox.of(
            Channel.named("payments")
                .mappedBy(MessageMapper.plain().sourceFrom("x-from"))
                .on(byte[].class)
                .named("charge.succeeded")
                .handleMessage("book", handled::add)
                .build());
    WebhookEndpoint naming = webhook.sourceFromMessage().into(reading.inbox(), "payments");
    for (String source : List.of("bank", "shop", "bank")) {
      assertThat(naming.answer(signed(Proofs.EVENT, "x-from", source)).status()).isEqualTo(202);
    }
    reading.drain();
    assertThat(handled)
        .extracting(Received::message)
        .containsExactlyInAnyOrder(
            new MessageRef("bank", "evt_1"), new MessageRef("shop", "evt_1"));
  }

  @Test
  void d127_sc13_e20_aRequestThatCannotProveItsSenderIsToldNothing() {
    String right = proof(Proofs.EVENT);
    for (String wrong :
        List.of(
            "",
            "t=1,v1=00",
            Proofs.stripe(Proofs.FOREIGN_SECRET, inbox.clock().now(), Proofs.EVENT),
            right.substring(0, right.length() - 1),
            right.replace("v1=", "v1=A"),
            right.replace("v1=", "v0="))) {
      assertUnverified(endpoint.answer(Proofs.post(Proofs.EVENT, SIGNATURE, wrong)));
    }
    assertUnverified(endpoint.answer(Proofs.post(Proofs.EVENT)));
    assertThat(endpoint.unverified()).isEqualTo(7);
  }

  @Test
  void d127_oneOfTwoSignaturesAndOneOfTwoSecretsIsEnough() {
    String time = Long.toString(inbox.clock().now().getEpochSecond());
    String next = Proofs.hex(Proofs.NEXT_SECRET, time + "." + Proofs.EVENT);
    HttpCall call =
        Proofs.post(Proofs.EVENT, SIGNATURE, "t=" + time + ",v1=" + "0".repeat(64) + ",v1=" + next);
    assertThat(endpoint.answer(call).status()).isEqualTo(202);
    assertThat(endpoint.unverified()).isZero();
  }

  @Test
  void d128_aSignatureIsGoodForFiveMinutes() {
    HttpCall call = signed(Proofs.EVENT);
    HttpCall early =
        Proofs.post(
            Proofs.EVENT,
            SIGNATURE,
            Proofs.stripe(Proofs.SECRET, inbox.clock().now().plusSeconds(900), Proofs.EVENT));
    assertUnverified(endpoint.answer(early));
    inbox.advance(ofMinutes(10));
    assertUnverified(endpoint.answer(call));
    assertUnverified(
        endpoint.answer(
            Proofs.post(
                Proofs.EVENT, SIGNATURE, Proofs.stripe(Proofs.SECRET, "now", Proofs.EVENT))));
    assertThat(
            webhook.tolerance(ofMinutes(11)).into(inbox.inbox(), "payments").answer(call).status())
        .isEqualTo(202);
  }

  @Test
  void d129_e19_aRepeatIsAnsweredAsTheFirstAndDeliveredOnce() {
    HttpAnswer first = endpoint.answer(signed(Proofs.EVENT));
    assertThat(endpoint.answer(signed(Proofs.EVENT))).isEqualTo(first);
    inbox.drain();
    assertThat(endpoint.answer(signed(Proofs.EVENT))).isEqualTo(first);
    inbox.drain();
    assertThat(handled).hasSize(1);
  }

  @Test
  void d130_e18_aBodyThatWasWrittenAnewIsNotGenuine() {
    for (String changed :
        List.of(
            Proofs.EVENT.replace("evt_1", "evt_2"),
            Proofs.EVENT.replace(":", ": "),
            Proofs.EVENT + "\n",
            "")) {
      assertUnverified(endpoint.answer(Proofs.post(changed, SIGNATURE, proof(Proofs.EVENT))));
    }
  }

  @Test
  void d131_aBodyAtTheLimitIsTakenAndOneByteMoreIsNot() {
    WebhookEndpoint small = webhook.maxBody(Proofs.EVENT.length()).into(inbox.inbox(), "payments");
    assertThat(small.answer(signed(Proofs.EVENT)).status()).isEqualTo(202);
    inbox.drain();
    assertProblem(small.answer(signed(Proofs.EVENT + " ")), 413, "PH-PAY-02");
  }

  @Test
  void aPackedBodyIsVerifiedAsItCameAndStoredUnpacked() {
    HttpCall call = signed(gzip(Proofs.EVENT.getBytes(UTF_8)), "Content-Encoding", "gzip");
    assertThat(endpoint.answer(call).status()).isEqualTo(202);
    inbox.drain();
    assertThat(handled.get(0).payload()).isEqualTo(Proofs.EVENT.getBytes(UTF_8));
    assertThat(handled.get(0).headers().get("content-encoding")).isNull();
  }

  @Test
  void d54_d132_sc14_aBombIsNotUnpacked() {
    byte[] million = new byte[1_000_000];
    assertProblem(
        endpoint.answer(signed(gzip(million), "Content-Encoding", "gzip")), 400, "PH-PAY-09");
  }

  @Test
  void d54_d132_whatIsTooLargeUnpackedIsRefusedWhateverItsRatio() {
    WebhookEndpoint small = webhook.maxBody(100).into(inbox.inbox(), "payments");
    String body = Proofs.EVENT + " ".repeat(50);
    byte[] packed = gzip(body.getBytes(UTF_8));
    assertThat(packed.length).isLessThan(100);
    assertProblem(small.answer(signed(packed, "Content-Encoding", "gzip")), 400, "PH-PAY-09");
  }

  @Test
  void d55_aPackedBodyThatIsCutIsRefused() {
    byte[] packed = gzip(Proofs.EVENT.getBytes(UTF_8));
    byte[] cut = Arrays.copyOf(packed, packed.length - 9);
    assertProblem(endpoint.answer(signed(cut, "Content-Encoding", "gzip")), 400, "PH-PAY-03");
    assertProblem(
        endpoint.answer(signed(Proofs.EVENT, "Content-Encoding", "gzip")), 400, "PH-PAY-03");
  }

  @Test
  void d56_d132_anUnknownEncodingIsRefused() {
    for (String encoding : List.of("br", "deflate", "gzip, gzip", "zip")) {
      assertProblem(
          endpoint.answer(signed(Proofs.EVENT, "Content-Encoding", encoding)), 415, "PH-PAY-10");
    }
  }

  @Test
  void d132_d133_typesAndEncodingsThatAreThereTwiceAreRefused() {
    assertProblem(
        endpoint.answer(
            signed(Proofs.EVENT, "Content-Encoding", "identity", "Content-Encoding", "gzip")),
        415,
        "PH-PAY-10");
    assertProblem(
        endpoint.answer(
            signed(Proofs.EVENT, "Content-Type", "text/plain", "Content-Type", "application/json")),
        415,
        "PH-WEB-04");
  }

  @Test
  void d133_onlyPostsAreTaken() {
    for (String method : List.of("GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "post")) {
      HttpAnswer answer =
          endpoint.answer(
              Proofs.call(method, Proofs.EVENT.getBytes(UTF_8), SIGNATURE, proof(Proofs.EVENT)));
      assertProblem(answer, 405, "PH-WEB-04");
      assertThat(answer.header("Allow")).contains("POST");
    }
  }

  @Test
  void d133_onlyContentTypesThatWereAskedForAreTaken() {
    for (String type :
        List.of("text/plain", "application/xml", "application/jsonx", "multipart/form-data", "")) {
      assertProblem(endpoint.answer(signed(Proofs.EVENT, "Content-Type", type)), 415, "PH-WEB-04");
    }
    assertThat(
            endpoint
                .answer(signed(Proofs.EVENT, "Content-Type", "Application/JSON; charset=utf-8"))
                .status())
        .isEqualTo(202);
    inbox.drain();
    WebhookEndpoint other =
        webhook.contentTypes("application/vnd.bank+json").into(inbox.inbox(), "payments");
    assertThat(
            other
                .answer(signed(Proofs.EVENT, "Content-Type", "application/vnd.bank+json"))
                .status())
        .isEqualTo(202);
    assertProblem(other.answer(signed(Proofs.EVENT)), 415, "PH-WEB-04");
  }

  @Test
  void d136_e19_whileTheStoreIsDownTheSenderIsAskedToComeAgain() {
    Acceptor down =
        envelopes -> {
          throw new StoreException(
              StoreException.Kind.TRANSIENT, ErrorCode.DATABASE_UNREACHABLE, "down", null);
        };
    HttpAnswer answer = webhook.retryAfter(ofSeconds(90)).into(down).answer(signed(Proofs.EVENT));
    assertProblem(answer, 503, "PH-WEB-09");
    assertThat(answer.header("Retry-After")).contains("90");
    assertThat(new String(answer.body(), UTF_8)).doesNotContain("down", "PH-DB-01");
  }

  @Test
  void whatAHandlerHasNotFinishedComesAgain() {
    HttpAnswer answer =
        webhook
            .into(envelopes -> List.of(new Disposition.Later(ErrorCode.HANDLER_FAILED, "inside")))
            .answer(signed(Proofs.EVENT));
    assertProblem(answer, 503, "PH-WEB-09");
    assertThat(answer.header("Retry-After")).contains("30");
  }

  @Test
  void whatIsRefusedForGoodIsToldByItsCodeAlone() {
    for (Map.Entry<ErrorCode, Integer> each :
        Map.of(
                ErrorCode.ID_MISSING,
                400,
                ErrorCode.ID_BLANK,
                400,
                ErrorCode.ID_TOO_LONG,
                400,
                ErrorCode.ID_CONTROL_CHARACTER,
                400,
                ErrorCode.ID_INVALID_UNICODE,
                400,
                ErrorCode.PAYLOAD_TOO_LARGE,
                413,
                ErrorCode.ID_CONFLICT,
                422,
                ErrorCode.HANDLER_POISONED,
                422)
            .entrySet()) {
      HttpAnswer answer =
          webhook
              .into(envelopes -> List.of(new Disposition.Refused(each.getKey(), "inside")))
              .answer(signed(Proofs.EVENT));
      assertProblem(answer, each.getValue(), each.getKey().text());
      assertThat(new String(answer.body(), UTF_8)).doesNotContain("inside");
    }
  }

  @Test
  void aMessageWithoutIdOrTypeIsRefusedUnlessTheConfigurationHelps() {
    assertProblem(endpoint.answer(signed("{\"type\":\"charge.succeeded\"}")), 400, "PH-ID-01");
    assertProblem(endpoint.answer(signed("{\"id\":\"evt_1\"}")), 422, "PH-KEY-11");
    assertProblem(
        endpoint.answer(signed("{\"id\":\"evt_1\",\"type\":\"other\"}")), 422, "PH-KEY-09");
    assertProblem(endpoint.answer(signed("no JSON")), 400, "PH-PAY-03");
    assertThat(
            webhook
                .type("charge.succeeded")
                .into(inbox.inbox(), "payments")
                .answer(signed("{\"id\":\"evt_1\"}"))
                .status())
        .isEqualTo(202);
  }

  @Test
  void e18_nothingIsReadBeforeTheSignatureIsRight() {
    List<Envelope> seen = new ArrayList<>();
    WebhookEndpoint watched =
        webhook.into(
            envelopes -> {
              seen.addAll(envelopes);
              return List.of(new Disposition.Done());
            });
    assertUnverified(watched.answer(Proofs.post("no JSON", SIGNATURE, proof("other"))));
    assertUnverified(
        watched.answer(
            Proofs.post(
                gzip(new byte[1_000_000]), SIGNATURE, proof(""), "Content-Encoding", "gzip")));
    assertThat(seen).isEmpty();
  }

  @Test
  void d83_aWebhookWithoutSignatureIsRefused() {
    assertThatThrownBy(() -> Webhook.at("/hooks/stripe").into(inbox.inbox(), "payments"))
        .hasMessageStartingWith("PH-WEB-01")
        .hasMessageContaining("verifiedBy");
  }

  @Test
  void optionsThatMakeNoSenseAreRefused() {
    for (String path :
        List.of(
            "",
            "/",
            "hooks",
            "/hooks/",
            "//hooks",
            "/a/../b",
            "/a/..",
            "/a b",
            "/a?b",
            "/%2e",
            "/" + "a".repeat(200))) {
      assertThatThrownBy(() -> Webhook.at(path)).as(path).hasMessageStartingWith("PH-WEB-01");
    }
    for (int size : List.of(0, -1, 100_000_001)) {
      assertThatThrownBy(() -> webhook.maxBody(size)).hasMessageStartingWith("PH-CFG-05");
    }
    assertThatThrownBy(() -> webhook.tolerance(ofSeconds(0))).hasMessageStartingWith("PH-CFG-05");
    assertThatThrownBy(() -> webhook.retryAfter(ofMinutes(1441)))
        .hasMessageStartingWith("PH-CFG-05");
    for (String source : List.of("", " ", "a\nb", "s".repeat(251))) {
      assertThatThrownBy(() -> webhook.source(source)).hasMessageStartingWith("PH-ID-06");
    }
  }
}
