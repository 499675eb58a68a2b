package dev.pigeonhole.webhook;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.time.Duration.ofMinutes;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.http.HttpCall;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Signatures against what their inventors have published, and against what comes near it. */
class SignatureTest {
  private static final Instant THEN = Instant.ofEpochSecond(1614265330);

  // Of the documentation of GitHub.
  private static final String GITHUB_SECRET = "It's a Secret to Everybody";
  private static final String GITHUB_BODY = "Hello, World!";
  private static final String GITHUB_HEX =
      "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

  // Of the tests of Standard Webhooks.
  private static final String STANDARD_SECRET = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  private static final String STANDARD_ID = "msg_p5jXN8AQM9LWM0D4loKWxJek";
  private static final String STANDARD_BODY = "{\"test\": 2432232314}";
  private static final String STANDARD_VALUE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

  // The first key of RFC 8032; the signature of the same message was made with OpenSSL.
  private static final String PUBLIC_KEY = "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
  private static final String PUBLIC_VALUE =
      "v1a,fldxM4gAKugP6nnt1hdz3sgGfZ6d99nzrMFnZOELIxbzEHoVmAb2ADpkJK7zgPePmPsle0zV9jSeGlHFG2NVAw==";

  private static Verdict judge(Signature signature, HttpCall call) {
    return signature.judge(call, call.body(), THEN, ofMinutes(5));
  }

  private static HttpCall github(String value) {
    return Proofs.post(GITHUB_BODY, "X-Hub-Signature-256", value);
  }

  private static HttpCall standard(String value) {
    return Proofs.post(
        STANDARD_BODY,
        "webhook-id",
        STANDARD_ID,
        "webhook-timestamp",
        "1614265330",
        "webhook-signature",
        value);
  }

  @Test
  void whatGithubPublishesIsGenuine() {
    assertThat(judge(Signature.github(GITHUB_SECRET), github("sha256=" + GITHUB_HEX)))
        .isEqualTo(Verdict.GENUINE);
  }

  @Test
  void e17_githubHasIdAndTypeInHeaders() throws Exception {
    HttpCall call =
        Proofs.post(GITHUB_BODY, "x-github-delivery", "72d3162e", "X-GitHub-Event", "push");
    assertThat(Signature.github(GITHUB_SECRET).name(call, call.body()))
        .isEqualTo(new Signature.Named("72d3162e", "push"));
  }

  @Test
  void whatStripeSignsIsGenuine() throws Exception {
    String body = "{\"id\":\"evt_1\",\"type\":\"charge.succeeded\"}";
    // Made with Python's hmac.
    String value = "037d7e4e741e93a7db3db8c8097c356ea974f76a1e7e7669b4d39280b59ed9fb";
    Signature signature = Signature.stripe("whsec_test_0123456789abcdef");
    HttpCall call =
        Proofs.post(body, "Stripe-Signature", "t=1614265330,v1=" + value + ",v0=6ffbb59b2300aae6");
    assertThat(judge(signature, call)).isEqualTo(Verdict.GENUINE);
    assertThat(signature.name(call, call.body()))
        .isEqualTo(new Signature.Named("evt_1", "charge.succeeded"));
  }

  @Test
  void stripeNeedsExactlyOneTime() {
    Signature signature = Signature.stripe(Proofs.SECRET);
    String proof = "v1=" + Proofs.hex(Proofs.SECRET, "1614265330." + GITHUB_BODY);
    assertThat(
            judge(
                signature,
                Proofs.post(GITHUB_BODY, "Stripe-Signature", "t=1614265330,t=1," + proof)))
        .isEqualTo(Verdict.WRONG);
    assertThat(judge(signature, Proofs.post(GITHUB_BODY, "Stripe-Signature", proof)))
        .isEqualTo(Verdict.WRONG);
  }

  @Test
  void whatStandardWebhooksPublishesIsGenuine() {
    assertThat(
            judge(Signature.standardWebhooks("whsec_" + STANDARD_SECRET), standard(STANDARD_VALUE)))
        .isEqualTo(Verdict.GENUINE);
    assertThat(judge(Signature.standardWebhooks(STANDARD_SECRET), standard(STANDARD_VALUE)))
        .isEqualTo(Verdict.GENUINE);
  }

  @Test
  void aPublicKeyIsEnoughToCheckASignature() {
    Signature signature = Signature.standardWebhooks(PUBLIC_KEY);
    assertThat(judge(signature, standard(PUBLIC_VALUE))).isEqualTo(Verdict.GENUINE);
    for (String wrong :
        List.of(
            PUBLIC_VALUE.replace("v1a,", "v1,"),
            PUBLIC_VALUE.replace("fldx", "gldx"),
            PUBLIC_VALUE.substring(0, 60),
            "v1a,",
            "v1a,?")) {
      assertThat(judge(signature, standard(wrong))).as(wrong).isEqualTo(Verdict.WRONG);
    }
  }

  @Test
  void standardWebhooksHasItsIdInAHeaderAndItsTypeInTheBodyIfThere() throws Exception {
    Signature signature = Signature.standardWebhooks(STANDARD_SECRET);
    assertThat(signature.name(standard(STANDARD_VALUE), STANDARD_BODY.getBytes(UTF_8)))
        .isEqualTo(new Signature.Named(STANDARD_ID, null));
    assertThat(signature.name(standard(STANDARD_VALUE), "{\"type\":\"a.b\"}".getBytes(UTF_8)))
        .isEqualTo(new Signature.Named(STANDARD_ID, "a.b"));
    assertThat(signature.name(standard(STANDARD_VALUE), "no JSON".getBytes(UTF_8)))
        .isEqualTo(new Signature.Named(STANDARD_ID, null));
  }

  @Test
  void d127_whatIsNotExactlyTheSignatureIsWrong() {
    Signature signature = Signature.github(GITHUB_SECRET);
    for (String wrong :
        List.of(
            "",
            "sha256=",
            "sha256=" + Proofs.hex("another secret of its own", GITHUB_BODY),
            "sha256=" + GITHUB_HEX.substring(0, 63),
            "sha256=" + GITHUB_HEX + "0",
            "sha256=" + GITHUB_HEX.toUpperCase(Locale.ROOT),
            "SHA256=" + GITHUB_HEX,
            GITHUB_HEX)) {
      assertThat(judge(signature, github(wrong))).as(wrong).isEqualTo(Verdict.WRONG);
    }
    assertThat(judge(signature, Proofs.post(GITHUB_BODY))).isEqualTo(Verdict.WRONG);
  }

  @Test
  void d127_ofSeveralValuesOneHasToBeRight() {
    assertThat(
            judge(
                Signature.github(GITHUB_SECRET),
                github("sha256=" + "0".repeat(64) + ", sha256=" + GITHUB_HEX)))
        .isEqualTo(Verdict.GENUINE);
    assertThat(
            judge(
                Signature.github(GITHUB_SECRET),
                Proofs.post(
                    GITHUB_BODY,
                    "X-Hub-Signature-256",
                    "sha256=" + "0".repeat(64),
                    "X-Hub-Signature-256",
                    "sha256=" + GITHUB_HEX)))
        .isEqualTo(Verdict.GENUINE);
    assertThat(
            judge(
                Signature.standardWebhooks(STANDARD_SECRET),
                standard("v1,AAAA v2,BBBB " + STANDARD_VALUE)))
        .isEqualTo(Verdict.GENUINE);
  }

  @Test
  void aFloodOfValuesIsNotLookedAt() {
    String flood = "v1,AAAA ".repeat(20) + STANDARD_VALUE;
    assertThat(judge(Signature.standardWebhooks(STANDARD_SECRET), standard(flood)))
        .isEqualTo(Verdict.WRONG);
  }

  @Test
  void e17_twoSecretsAreGoodAtTheSameTime() {
    String other = "another secret of its own";
    for (Signature signature :
        List.of(Signature.github(other, GITHUB_SECRET), Signature.github(GITHUB_SECRET, other))) {
      assertThat(judge(signature, github("sha256=" + GITHUB_HEX))).isEqualTo(Verdict.GENUINE);
    }
    Signature keys = Signature.standardWebhooks(PUBLIC_KEY, "whsec_" + STANDARD_SECRET);
    assertThat(judge(keys, standard(STANDARD_VALUE))).isEqualTo(Verdict.GENUINE);
    assertThat(judge(keys, standard(PUBLIC_VALUE))).isEqualTo(Verdict.GENUINE);
  }

  @Test
  void d128_theTimeMayBeFiveMinutesOffToEitherSide() {
    Signature signature = Signature.standardWebhooks(STANDARD_SECRET);
    HttpCall call = standard(STANDARD_VALUE);
    List<Verdict> verdicts = new ArrayList<>();
    for (int seconds : List.of(-301, -300, 300, 301)) {
      verdicts.add(signature.judge(call, call.body(), THEN.plusSeconds(seconds), ofMinutes(5)));
    }
    assertThat(verdicts)
        .containsExactly(
            Verdict.OUT_OF_TIME, Verdict.GENUINE, Verdict.GENUINE, Verdict.OUT_OF_TIME);
  }

  @Test
  void d128_aSignedTimeThatIsNoNumberIsOutOfTime() {
    for (String time : List.of("soon", "-1", "", "1614265330000000", "１６１４２６５３３０")) {
      HttpCall call =
          Proofs.post(
              Proofs.EVENT, "Stripe-Signature", Proofs.stripe(Proofs.SECRET, time, Proofs.EVENT));
      assertThat(judge(Signature.stripe(Proofs.SECRET), call))
          .as(time)
          .isEqualTo(Verdict.OUT_OF_TIME);
    }
  }

  @Test
  void whatWasSignedMustNotBeThereTwice() {
    HttpCall call =
        Proofs.post(
            STANDARD_BODY,
            "webhook-id",
            STANDARD_ID,
            "webhook-id",
            "msg_other",
            "webhook-timestamp",
            "1614265330",
            "webhook-signature",
            STANDARD_VALUE);
    assertThat(judge(Signature.standardWebhooks(STANDARD_SECRET), call)).isEqualTo(Verdict.WRONG);
  }

  @Test
  void aSignatureOfOnesOwnCanBeDescribed() throws Exception {
    String content = "1614265330." + GITHUB_BODY;
    String base64 =
        Base64.getEncoder().encodeToString(Proofs.hmac(Proofs.SECRET.getBytes(UTF_8), content));
    Signature signature =
        Signature.hmac("X-Proof", Proofs.SECRET)
            .base64()
            .prefixed("v9:")
            .timestampFrom("X-Time")
            .idFrom("X-Id")
            .typeFrom("X-Type");
    HttpCall call =
        Proofs.post(
            GITHUB_BODY,
            "X-Proof",
            "v9:" + base64,
            "X-Time",
            "1614265330",
            "X-Id",
            "m-1",
            "X-Type",
            "ping");
    assertThat(judge(signature, call)).isEqualTo(Verdict.GENUINE);
    assertThat(signature.name(call, call.body())).isEqualTo(new Signature.Named("m-1", "ping"));
    assertThat(judge(signature, Proofs.post(GITHUB_BODY, "X-Proof", "v9:" + base64)))
        .isEqualTo(Verdict.WRONG);
    assertThat(signature.judge(call, call.body(), THEN.plusSeconds(3600), ofMinutes(5)))
        .isEqualTo(Verdict.OUT_OF_TIME);
  }

  @Test
  void d83_secretsThatCouldBeGuessedAreRefused() {
    for (String weak : List.of("", "secret", "fifteen letters")) {
      assertThatThrownBy(() -> Signature.github(weak)).hasMessageStartingWith("PH-WEB-01");
      assertThatThrownBy(() -> Signature.stripe(Proofs.SECRET, weak))
          .hasMessageStartingWith("PH-WEB-01");
    }
    for (String bad : List.of("whsec_", "whsec_AAAA", "whsec_not?base64", "whpk_AAAA", "whpk_?")) {
      assertThatThrownBy(() -> Signature.standardWebhooks(bad))
          .hasMessageStartingWith("PH-WEB-01")
          .hasMessageNotContaining("not?base64");
    }
  }

  /** How long a comparison takes must not tell how much of a guess was right. */
  @Test
  void sc29_whatIsSecretIsComparedInOnePlace() throws IOException {
    List<String> comparing = new ArrayList<>();
    try (Stream<Path> files = Files.list(Path.of("src/main/java/dev/pigeonhole/webhook"))) {
      for (Path file : files.toList()) {
        String source = Files.readString(file);
        if (source.contains("expected")) {
          comparing.add(file.getFileName().toString());
          assertThat(source)
              .as(file.toString())
              .containsAnyOf("same(expected", "MessageDigest.isEqual(bytes(expected)")
              .doesNotContain("expected.equals", "equals(expected", "expected ==");
        }
      }
    }
    assertThat(comparing)
        .containsExactlyInAnyOrder(
            "HmacSignature.java", "Signature.java", "StandardKey.java", "StripeSignature.java");
  }

  @Test
  void secretsAreNeverShown() {
    List<Object> shown =
        List.of(
            Signature.github(Proofs.SECRET),
            Signature.stripe(Proofs.SECRET),
            Signature.standardWebhooks(STANDARD_SECRET),
            Secrets.ofText(Proofs.SECRET),
            StandardKey.of(STANDARD_SECRET),
            Webhook.at("/hooks/stripe").verifiedBy(Signature.stripe(Proofs.SECRET)));
    assertThat(shown.toString()).doesNotContain("0123456789", STANDARD_SECRET);
  }
}
