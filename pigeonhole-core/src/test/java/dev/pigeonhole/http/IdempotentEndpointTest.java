package dev.pigeonhole.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Guard;
import dev.pigeonhole.GuardBody;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.GuardTransaction;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.HandlerKey;
import dev.pigeonhole.Message;
import dev.pigeonhole.MissingKeyException;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.codec.PayloadCodec;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What a client is told, for everything that a guard can say. */
class IdempotentEndpointTest {
  private static final HttpAnswer CREATED = HttpAnswer.of(201, "text/plain", "paid");
  private static final Instant AT = Instant.parse("2026-03-04T05:06:07Z");

  private final Says guard = new Says();
  private final IdempotentEndpoint endpoint = IdempotentEndpoint.named("post-payment", guard);

  /** A guard that runs everything, or says what it is told to say. */
  private static final class Says implements Guard {
    Function<GuardKey, Guarded<byte[]>> verdict;
    boolean secondTime;
    GuardKey key;
    RuntimeException rolledBack;

    void says(Guarded<byte[]> result) {
      verdict = key -> result;
    }

    @Override
    public Guard waitingAtMost(Duration time) {
      throw new AssertionError("its patience is its own");
    }

    @Override
    @SuppressWarnings("unchecked")
    public <R, X extends Exception> Guarded<R> answer(
        GuardKey key, Class<R> type, GuardBody<R, X> body) throws X {
      this.key = key;
      if (verdict != null) {
        return (Guarded<R>) verdict.apply(key);
      }
      R kept;
      try {
        kept = body.run(new NoTransaction());
      } catch (RuntimeException e) {
        rolledBack = e;
        throw e;
      }
      return secondTime
          ? new Guarded.Repeat<>(Optional.of(kept), AT, DeliveryState.COMPLETED)
          : new Guarded.Ran<>(kept);
    }

    @Override
    public PayloadCodec codec() {
      throw new AssertionError("answers are bytes");
    }

    @Override
    public <R, X extends Exception> Guarded<R> run(GuardKey key, GuardBody<R, X> body) {
      throw new AssertionError("answers are kept");
    }

    @Override
    public <R, X extends Exception> Guarded<R> run(
        Connection connection, GuardKey key, GuardBody<R, X> body) {
      throw new AssertionError("it has a transaction of its own");
    }

    @Override
    public <R, X extends Exception> Guarded<R> answer(
        Connection connection, GuardKey key, Class<R> type, GuardBody<R, X> body) {
      throw new AssertionError("it has a transaction of its own");
    }

    @Override
    public void close() {}
  }

  private static final class NoTransaction implements GuardTransaction {
    @Override
    public Connection connection() {
      throw new AssertionError("there is none");
    }

    @Override
    public String idempotencyKey() {
      return "none";
    }

    @Override
    public Optional<Duration> timeLeft() {
      return Optional.empty();
    }

    @Override
    public String publish(Message message) {
      throw new AssertionError("there is no outbox");
    }
  }

  private static HttpCall call(String key) {
    return new HttpCall(
        "POST", "/payments", Map.of("idempotency-key", List.of(key)), new byte[] {1, 2});
  }

  private static void assertProblem(HttpAnswer answer, int status, ErrorCode code) {
    assertThat(answer.status()).isEqualTo(status);
    assertThat(answer.header("Content-Type")).hasValue("application/problem+json");
    assertThat(new String(answer.body(), StandardCharsets.UTF_8))
        .startsWith("{\"type\":\"urn:pigeonhole:%s\",\"title\":\"".formatted(code.text()))
        .contains("\"status\":%d,\"detail\":\"".formatted(status))
        .endsWith("\"code\":\"%s\"}".formatted(code.text()));
  }

  private HttpAnswer never(HttpCall call) {
    return endpoint.handle(
        call,
        tx -> {
          throw new AssertionError("ran");
        });
  }

  @Test
  void theFirstAnswerIsGivenAsItIs() {
    HttpAnswer answer = CREATED.with("X-Trace", "1");
    assertThat(endpoint.handle(call("k-1"), tx -> answer)).isEqualTo(answer);
  }

  @Test
  void aRepeatGetsTheKeptAnswerAndCanBeRecognised() {
    byte[] stored = AnswerFormat.write(CREATED, Set.of("Content-Type"));
    guard.says(new Guarded.Repeat<>(Optional.of(stored), AT, DeliveryState.COMPLETED));

    assertThat(never(call("k-1"))).isEqualTo(CREATED.with("Idempotent-Replayed", "true"));
  }

  @Test
  void withoutAKeyTheClientIsTold400() {
    guard.verdict =
        key -> {
          assertThat(key.id()).isNull();
          throw new MissingKeyException("none");
        };
    HttpAnswer answer = never(new HttpCall("POST", "/payments", Map.of(), new byte[0]));
    assertProblem(answer, 400, ErrorCode.GUARD_KEY_MISSING);
    assertThat(new String(answer.body(), StandardCharsets.UTF_8))
        .contains("\"title\":\"Idempotency-Key is missing\"");
  }

  @Test
  void aMissingKeyOfAGuardThatTheBodyCallsIsTheBodysOwn() {
    MissingKeyException own = new MissingKeyException("inner");
    for (HttpCall call :
        List.of(call("k-1"), new HttpCall("POST", "/payments", Map.of(), new byte[0]))) {
      assertThatThrownBy(
              () ->
                  endpoint.handle(
                      call,
                      tx -> {
                        throw own;
                      }))
          .isSameAs(own);
    }
  }

  @Test
  void aKeyThatCannotBeUsedIs400AndNothingIsAsked() {
    assertProblem(never(call("a, b")), 400, ErrorCode.KEY_HEADER_INVALID);
    assertProblem(never(call("\"\"")), 400, ErrorCode.ID_MISSING);
    assertProblem(never(call("\" \"")), 400, ErrorCode.ID_BLANK);
    assertProblem(never(call("x".repeat(201))), 400, ErrorCode.ID_TOO_LONG);
    assertThat(guard.key).isNull();
  }

  @Test
  void aRequestThatIsRunningIs409WithATimeToRetry() {
    guard.says(new Guarded.Busy<>(Duration.ofSeconds(5)));
    HttpAnswer answer = never(call("k-1"));
    assertProblem(answer, 409, ErrorCode.REQUEST_RUNNING);
    assertThat(answer.header("Retry-After")).hasValue("1");
  }

  @Test
  void anotherRequestWithTheSameKeyIs422() {
    guard.verdict = Guarded.Conflict::new;
    assertProblem(never(call("k-1")), 422, ErrorCode.REQUEST_DIFFERS);
  }

  @Test
  void anAnswerThatIsNoLongerKeptIs410AndSaysWhen() {
    guard.says(new Guarded.Repeat<>(Optional.empty(), AT, DeliveryState.COMPLETED));
    HttpAnswer answer = never(call("k-1"));
    assertProblem(answer, 410, ErrorCode.ANSWER_GONE);
    assertThat(new String(answer.body(), StandardCharsets.UTF_8)).contains("2026-03-04T05:06:07Z");
  }

  @ParameterizedTest
  @EnumSource(
      value = DeliveryState.class,
      names = {"POISONED", "BLOCKED", "DISCARDED"})
  void aRequestThatAnOperatorHasIs409WithoutATimeToRetry(DeliveryState state) {
    guard.says(new Guarded.Repeat<>(Optional.empty(), AT, state));
    HttpAnswer answer = never(call("k-1"));
    assertProblem(answer, 409, ErrorCode.REQUEST_WITH_OPERATOR);
    assertThat(answer.header("Retry-After")).isEmpty();
  }

  @Test
  void problemsPointToTheDocumentationOfTheServer() {
    IdempotentEndpoint documented =
        endpoint.documentedAt(URI.create("https://example.com/keys")).header("X-Key");
    HttpAnswer answer =
        documented.handle(
            new HttpCall("POST", "/", Map.of("x-key", List.of("a\"b")), new byte[0]),
            tx -> CREATED);
    assertThat(new String(answer.body(), StandardCharsets.UTF_8))
        .isEqualTo(
            "{\"type\":\"https://example.com/keys\",\"title\":\"X-Key cannot be used\","
                + "\"status\":400,\"detail\":\"The header X-Key must hold one key, such as"
                + " \\\"8e03978e-40d5-43e8\\\"; put one with commas into quotes.\","
                + "\"code\":\"PH-HTP-01\"}");
  }

  @Test
  void aFailureRollsBackAndIsSentUnlessItIsToBeKept() {
    HttpAnswer failure = HttpAnswer.of(503);

    assertThat(endpoint.handle(call("k-1"), tx -> failure)).isEqualTo(failure);
    assertThat(guard.rolledBack).hasMessageContaining("'post-payment' has answered 503");

    guard.rolledBack = null;
    assertThat(endpoint.handle(call("k-1"), tx -> HttpAnswer.of(499)).status()).isEqualTo(499);
    assertThat(endpoint.keepingFailures().handle(call("k-1"), tx -> failure)).isEqualTo(failure);
    assertThat(guard.rolledBack).isNull();
  }

  @Test
  void anExceptionReachesTheCallerAsItIs() {
    IOException own = new IOException("no reader");
    assertThatThrownBy(
            () ->
                endpoint
                    .keepingFailures()
                    .handle(
                        call("k-1"),
                        tx -> {
                          throw own;
                        }))
        .isSameAs(own);
    assertThatIllegalStateException().isThrownBy(() -> endpoint.handle(call("k-1"), tx -> null));
  }

  @Test
  void keysOfEndpointsAndScopesDoNotMeet() {
    endpoint.handle(call("k-1"), tx -> CREATED);
    assertThat(guard.key.handler()).isEqualTo(HandlerKey.of("post-payment"));
    assertThat(guard.key.source()).as("stored, so it never changes").isEqualTo("http keys");
    assertThat(guard.key.id()).isEqualTo("k-1");

    endpoint.scopedBy(call -> "tenant 7").handle(call("k-1"), tx -> CREATED);
    assertThat(guard.key.source()).isEqualTo("http keys of tenant 7");

    for (String none : new String[] {null, "", " "}) {
      assertThatIllegalStateException()
          .isThrownBy(() -> endpoint.scopedBy(call -> none).handle(call("k-1"), tx -> CREATED));
    }
  }

  @Test
  void anEndpointThatWasRenamedKnowsItsOldKeys() {
    IdempotentEndpoint.named(HandlerKey.of("pay").formerly("payments", "post-payment"), guard)
        .handle(call("k-1"), tx -> CREATED);
    assertThat(guard.key.handler())
        .isEqualTo(HandlerKey.of("pay").formerly("payments", "post-payment"));
    assertThat(guard.key.source()).isEqualTo("http keys");
  }

  @Test
  void aRequestIsKnownByMethodPathAndBody() {
    endpoint.handle(call("k-1"), tx -> CREATED);
    assertThat(HexFormat.of().formatHex((byte[]) guard.key.request()))
        .as("stored as a hash, so it never changes")
        .isEqualTo("00000004" + "504f5354" + "00000009" + "2f7061796d656e7473" + "0102");
  }

  @Test
  void chosenHeadersAreKeptBesidesThoseThatAlwaysAre() {
    HttpAnswer given = CREATED.with("Location", "/payments/7").with("ETag", "7").with("Date", "x");
    guard.secondTime = true;

    assertThat(endpoint.handle(call("k-1"), tx -> given).headers())
        .containsOnlyKeys("Content-Type", "Location", "Idempotent-Replayed");
    assertThat(endpoint.keepingHeaders("etag").handle(call("k-1"), tx -> given).headers())
        .containsOnlyKeys("Content-Type", "Location", "ETag", "Idempotent-Replayed");
  }

  @Test
  void headersThatNobodyCanSendAreRefused() {
    assertThatIllegalArgumentException().isThrownBy(() -> endpoint.header("Idempotency Key"));
    assertThatIllegalArgumentException().isThrownBy(() -> endpoint.keepingHeaders("ETag:"));
  }
}
