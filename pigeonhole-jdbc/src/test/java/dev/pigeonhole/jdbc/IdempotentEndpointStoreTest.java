package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.GuardBody;
import dev.pigeonhole.GuardBuilder;
import dev.pigeonhole.HandlerKey;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.OnMissingKey;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.http.HttpAnswer;
import dev.pigeonhole.http.HttpCall;
import dev.pigeonhole.http.IdempotentEndpoint;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Requests and their answers on every database. */
class IdempotentEndpointStoreTest {
  private static final String ALL = "dev.pigeonhole.support.TestDatabases#all";
  private static final int CLIENTS = 8;

  private final AtomicInteger runs = new AtomicInteger();
  private GuardRig rig;
  private IdempotentEndpoint endpoint;

  private void open(TestDatabase database) {
    open(database, options -> options);
  }

  private void open(TestDatabase database, UnaryOperator<GuardBuilder> options) {
    rig = GuardRig.on(database, options);
    endpoint = IdempotentEndpoint.named("post-payment", rig.guard);
  }

  @AfterEach
  void close() {
    rig.close();
  }

  private static HttpCall post(String key, String body) {
    return new HttpCall(
        "POST",
        "/payments",
        Map.of("Idempotency-Key", List.of(key)),
        body.getBytes(StandardCharsets.UTF_8));
  }

  /** Writes, and answers with bytes of every kind and the number of the run. */
  private GuardBody<HttpAnswer, SQLException> paying(int status) {
    return tx -> {
      GuardRig.write(tx, "paid");
      byte[] body = new byte[256];
      for (int i = 0; i < body.length; i++) {
        body[i] = (byte) i;
      }
      body[0] = (byte) runs.incrementAndGet();
      return HttpAnswer.of(status, "application/octet-stream", body)
          .with("Location", "/payments/7")
          .with("X-Trace", "not kept");
    };
  }

  private void assertUntouched() {
    assertThat(rig.effects("paid")).isZero();
    assertThat(rig.count("message")).isZero();
    assertThat(rig.count("receipt")).isZero();
    assertThat(rig.count("answer")).isZero();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aRepeatGetsTheFirstAnswerByteForByte(TestDatabase database) throws SQLException {
    open(database);
    HttpAnswer first = endpoint.handle(post("k-1", "100 EUR"), paying(201));
    HttpAnswer again = endpoint.handle(post("\"k-1\"", "100 EUR"), paying(201));

    assertThat(first.header(IdempotentEndpoint.REPLAYED)).isEmpty();
    assertThat(first.header("X-Trace")).isPresent();
    assertThat(again)
        .isEqualTo(
            HttpAnswer.of(201, "application/octet-stream", first.body())
                .with("Location", "/payments/7")
                .with("Idempotent-Replayed", "true"));
    assertThat(runs).hasValue(1);
    assertThat(rig.effects("paid")).isOne();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void anotherRequestWithTheSameKeyIs422(TestDatabase database) throws SQLException {
    open(database);
    endpoint.handle(post("k-1", "100 EUR"), paying(201));

    assertThat(endpoint.handle(post("k-1", "900 EUR"), paying(201)).status()).isEqualTo(422);
    HttpCall elsewhere =
        new HttpCall(
            "POST",
            "/refunds",
            Map.of("Idempotency-Key", List.of("k-1")),
            "100 EUR".getBytes(StandardCharsets.UTF_8));
    assertThat(endpoint.handle(elsewhere, paying(201)).status()).isEqualTo(422);
    assertThat(runs).hasValue(1);
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void endpointsAndScopesAreApartAndARenamedEndpointIsTheSame(TestDatabase database)
      throws SQLException {
    open(database);
    List<IdempotentEndpoint> apart =
        List.of(
            endpoint,
            IdempotentEndpoint.named("post-refund", rig.guard),
            endpoint.scopedBy(call -> "tenant-1"),
            endpoint.scopedBy(call -> "tenant-2"));
    for (int i = 0; i < apart.size(); i++) {
      HttpCall call = post("k-1", "another body " + i);
      assertThat(apart.get(i).handle(call, paying(201)).status()).isEqualTo(201);
    }
    assertThat(runs).hasValue(4);

    IdempotentEndpoint renamed =
        IdempotentEndpoint.named(HandlerKey.of("pay").formerly("post-payment"), rig.guard);
    assertThat(renamed.handle(post("k-1", "another body 0"), paying(201)).header("Location"))
        .hasValue("/payments/7");
    assertThat(runs).hasValue(4);
  }

  /** As it is described: with the former name first, and without it later. */
  @ParameterizedTest
  @MethodSource(ALL)
  void everyStepOfARenameKnowsTheKeysOfTheOthers(TestDatabase database) throws SQLException {
    open(database);
    List<HandlerKey> names =
        List.of(
            HandlerKey.of("v1"),
            HandlerKey.of("v2").formerly("v1"),
            HandlerKey.of("v2"),
            HandlerKey.of("v3").formerly("v1", "v2"),
            HandlerKey.of("v3"));
    for (int first = 0; first < names.size(); first++) {
      for (HandlerKey name : names.subList(first, names.size())) {
        IdempotentEndpoint.named(name, rig.guard).handle(post("k-" + first, "body"), paying(201));
      }
      assertThat(runs).as("%s", names.get(first)).hasValue(first + 1);
    }
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aFailureIsSentAndRolledBackAndRunsAgain(TestDatabase database) throws SQLException {
    open(database);
    HttpAnswer failure = endpoint.handle(post("k-1", "100 EUR"), paying(503));

    assertThat(failure.status()).isEqualTo(503);
    assertThat(failure.header("Location")).hasValue("/payments/7");
    assertUntouched();
    assertThat(rig.counts.of(InboxEvent.GuardFailed.class, "post-payment")).isOne();

    assertThat(endpoint.handle(post("k-1", "100 EUR"), paying(201)).status()).isEqualTo(201);
    assertThat(rig.effects("paid")).isOne();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aFailureThatIsToBeKeptIsCommitted(TestDatabase database) throws SQLException {
    open(database);
    IdempotentEndpoint keeping = endpoint.keepingFailures();
    keeping.handle(post("k-1", "100 EUR"), paying(503));

    HttpAnswer again = keeping.handle(post("k-1", "100 EUR"), paying(201));
    assertThat(again.status()).isEqualTo(503);
    assertThat(again.header(IdempotentEndpoint.REPLAYED)).hasValue("true");
    assertThat(rig.effects("paid")).isOne();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aRefusalOfTheEndpointIsKept(TestDatabase database) throws SQLException {
    open(database);
    endpoint.handle(post("k-1", "100 EUR"), paying(402));
    assertThat(endpoint.handle(post("k-1", "100 EUR"), paying(201)).status()).isEqualTo(402);
    assertThat(runs).hasValue(1);
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aRefusalThatComesFromAnErrorOfTheDatabaseIsRolledBack(TestDatabase database) {
    open(database);
    assertThatThrownBy(
            () ->
                endpoint.handle(
                    post("k-1", "100 EUR"),
                    tx -> {
                      try {
                        GuardRig.write(tx, "paid");
                        tx.connection().prepareStatement("SELECT 1 FROM nowhere").executeQuery();
                      } catch (SQLException e) {
                        return HttpAnswer.of(409);
                      }
                      return HttpAnswer.of(201);
                    }))
        .isInstanceOfSatisfying(
            InboxException.class,
            e -> assertThat(e.code()).isEqualTo(ErrorCode.TX_SQL_ERROR_SWALLOWED));
    assertUntouched();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void anExceptionRollsBackAndReachesTheCaller(TestDatabase database) {
    open(database);
    IOException own = new IOException("the bank is closed");
    assertThatThrownBy(
            () ->
                endpoint
                    .keepingFailures()
                    .handle(
                        post("k-1", "100 EUR"),
                        tx -> {
                          GuardRig.write(tx, "paid");
                          throw own;
                        }))
        .isSameAs(own);
    assertUntouched();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void ph_grd_02_anAnswerOfMoreThan64KilobytesRollsBack(TestDatabase database) throws SQLException {
    open(database);
    byte[] tooLarge = new byte[64 * 1024];
    assertThatExceptionOfType(InboxException.class)
        .isThrownBy(
            () ->
                endpoint.handle(
                    post("k-1", "100 EUR"),
                    tx -> {
                      GuardRig.write(tx, "paid");
                      return HttpAnswer.of(201, "image/png", tooLarge);
                    }))
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.ANSWER_TOO_LARGE));
    assertUntouched();

    byte[] large = new byte[64 * 1024 - 100];
    large[large.length - 1] = 7;
    HttpAnswer fits = HttpAnswer.of(201, "image/png", large);
    endpoint.handle(post("k-1", "100 EUR"), tx -> fits);
    assertThat(endpoint.handle(post("k-1", "100 EUR"), paying(201)).body()).isEqualTo(large);
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void anAnswerThatIsNoLongerKeptIs410AndNothingRunsAgain(TestDatabase database)
      throws SQLException {
    open(database, options -> options.keepAnswers(Duration.ofSeconds(1)));
    endpoint.handle(post("k-1", "100 EUR"), paying(201));
    database.execute(
        "UPDATE %s SET keep_until = (SELECT received_at FROM %s)"
            .formatted(GuardRig.table(database, "answer"), GuardRig.table(database, "message")));

    HttpAnswer again = endpoint.handle(post("k-1", "100 EUR"), paying(201));
    assertThat(again.status()).isEqualTo(410);
    assertThat(new String(again.body(), StandardCharsets.UTF_8))
        .contains(ErrorCode.ANSWER_GONE.text());
    assertThat(runs).hasValue(1);
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void theGuardSaysWhatHappensWithoutAKey(TestDatabase database) throws SQLException {
    open(database);
    HttpCall without = new HttpCall("POST", "/payments", Map.of(), new byte[0]);
    assertThat(endpoint.handle(without, paying(201)).status()).isEqualTo(400);
    assertThat(rig.counts.of(InboxEvent.GuardKeyMissing.class, "post-payment")).isOne();
    assertUntouched();

    GuardRig lenient =
        rig.through(rig.dataSource, options -> options.missingKey(OnMissingKey.ACCEPT_EVERY_COPY));
    IdempotentEndpoint optional = IdempotentEndpoint.named("post-payment", lenient.guard);
    for (int i = 1; i <= 2; i++) {
      assertThat(optional.handle(without, paying(201)).status()).isEqualTo(201);
      assertThat(rig.effects("paid")).isEqualTo(i);
    }
    assertThat(lenient.counts.of(InboxEvent.GuardUnguarded.class, "post-payment")).isEqualTo(2);
    lenient.guard.close();

    GuardRig hashing =
        rig.through(rig.dataSource, options -> options.missingKey(OnMissingKey.HASH_CONTENT));
    IdempotentEndpoint byContent = IdempotentEndpoint.named("by-content", hashing.guard);
    HttpCall other = new HttpCall("POST", "/refunds", Map.of(), new byte[0]);
    for (HttpCall call : List.of(without, other, without)) {
      assertThat(byContent.handle(call, paying(201)).status()).isEqualTo(201);
    }
    assertThat(rig.effects("paid")).isEqualTo(2 + 2);
    hashing.guard.close();
  }

  // ---- at the same time

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void eightClientsAtOnceGetTheAnswerOfOneRun(DatabaseKind kind) throws Exception {
    open(TestDatabases.open(kind), options -> options.waitAtMost(Duration.ofSeconds(20)));
    int keys = Size.of(50, 500);
    ExecutorService clients = Executors.newFixedThreadPool(CLIENTS);
    try {
      CyclicBarrier together = new CyclicBarrier(CLIENTS);
      List<Future<List<HttpAnswer>>> all = new ArrayList<>();
      for (int client = 0; client < CLIENTS; client++) {
        all.add(clients.submit(() -> send(keys, together)));
      }
      List<List<HttpAnswer>> answers = new ArrayList<>();
      for (Future<List<HttpAnswer>> each : all) {
        answers.add(each.get());
      }
      for (int key = 0; key < keys; key++) {
        int number = key;
        List<HttpAnswer> ofKey = answers.stream().map(each -> each.get(number)).toList();
        assertThat(ofKey).extracting(HttpAnswer::status).containsOnly(201);
        assertThat(ofKey.stream().map(each -> ByteBuffer.wrap(each.body())).distinct()).hasSize(1);
        assertThat(ofKey.stream().filter(each -> each.header("Idempotent-Replayed").isEmpty()))
            .as("one of them ran")
            .hasSize(1);
      }
    } finally {
      clients.shutdownNow();
    }
    assertThat(runs).hasValue(keys);
    assertThat(rig.effects("paid")).isEqualTo(keys);
  }

  private List<HttpAnswer> send(int keys, CyclicBarrier together) throws Exception {
    List<HttpAnswer> answers = new ArrayList<>();
    for (int i = 0; i < keys; i++) {
      together.await();
      answers.add(endpoint.handle(post("k-" + i, "100 EUR"), paying(201)));
    }
    return answers;
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aCopyWhoseWaitIsOverIs409AndGetsTheAnswerLater(TestDatabase database) throws Exception {
    open(database, options -> options.waitAtMost(Duration.ofSeconds(1)));
    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch mayEnd = new CountDownLatch(1);
    CompletableFuture<HttpAnswer> first =
        CompletableFuture.supplyAsync(
            () ->
                endpoint.handle(
                    post("k-1", "100 EUR"),
                    tx -> {
                      inside.countDown();
                      awaitQuietly(mayEnd);
                      return HttpAnswer.of(201, "text/plain", "paid");
                    }));
    inside.await();

    HttpAnswer busy = endpoint.handle(post("k-1", "100 EUR"), paying(201));
    assertThat(busy.status()).isEqualTo(409);
    assertThat(busy.header("Retry-After")).hasValue("1");
    mayEnd.countDown();
    HttpAnswer answer = first.get();
    assertThat(endpoint.handle(post("k-1", "100 EUR"), paying(201)))
        .isEqualTo(answer.with("Idempotent-Replayed", "true"));
    assertThat(runs).hasValue(0);
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
