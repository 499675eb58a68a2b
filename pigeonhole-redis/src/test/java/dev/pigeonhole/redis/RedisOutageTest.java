package dev.pigeonhole.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.lease.LeaseGuard;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.support.RedisServer;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.RedisClient;

/** A server that dies or hangs: before the body, during the body, after it. */
class RedisOutageTest {
  private static final GuardKey KEY = GuardKey.of("charge-card", "order", "o-1");
  private static final Duration SHORT_LEASE = Duration.ofSeconds(5);

  /** For a server that will not answer; one that does may be slow on a busy machine. */
  private static final Duration UNTIL_IT_HANGS = Duration.ofSeconds(10);

  private final AtomicInteger runs = new AtomicInteger();
  private RedisServer server;
  private RedisClient jedis;

  @BeforeEach
  void start() {
    server = RedisServer.start();
    jedis = Clients.patient(server.port());
  }

  @AfterEach
  void stop() {
    jedis.close();
    server.close();
  }

  @Test
  void aBodyDoesNotRunWithoutAServer() {
    server.crash();

    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(() -> guard().run(KEY, lease -> runs.incrementAndGet()))
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.DATABASE_UNREACHABLE));
    assertThat(runs).hasValue(0);
  }

  @Test
  void aServerThatDiesDuringTheBodyIsNoSecretAndBlocksTheKeyForTheLeaseAlone() {
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(
            () ->
                shortGuard()
                    .run(
                        KEY,
                        lease -> {
                          server.crash();
                          return runs.incrementAndGet();
                        }))
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.GUARD_RECEIPT_UNKNOWN));
    assertThat(runs).hasValue(1);

    server.restart();
    reconnect();
    assertThat(waitingGuard().run(KEY, lease -> runs.incrementAndGet()))
        .isEqualTo(new Guarded.Ran<>(2));
  }

  /** What it was asked meanwhile it does when it goes on, though nobody waits for the answer. */
  @Test
  void aBodyDoesNotRunWhileTheServerHangsAndTheKeyIsBlockedForTheLeaseAlone() {
    reconnectImpatiently();
    server.pause();
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(() -> shortGuard().run(KEY, lease -> runs.incrementAndGet()))
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.DATABASE_UNREACHABLE));
    assertThat(runs).hasValue(0);

    server.resume();
    reconnect();
    assertThat(waitingGuard().run(KEY, lease -> runs.incrementAndGet()))
        .isEqualTo(new Guarded.Ran<>(1));
  }

  @Test
  void aServerThatHangsAfterTheBodyIsNoSecret() {
    reconnectImpatiently();
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(
            () ->
                guard()
                    .run(
                        KEY,
                        lease -> {
                          server.pause();
                          return runs.incrementAndGet();
                        }))
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.GUARD_RECEIPT_UNKNOWN));
    assertThat(runs).hasValue(1);
  }

  @Test
  void aServerThatComesBackDuringTheBodyCostsNothing() {
    assertThat(
            guard()
                .run(
                    KEY,
                    lease -> {
                      server.crash();
                      server.restart();
                      return runs.incrementAndGet();
                    }))
        .isEqualTo(new Guarded.Ran<>(1));
    assertThat(guard().run(KEY, lease -> runs.incrementAndGet()))
        .isInstanceOf(Guarded.Repeat.class);
  }

  @Test
  void aReceiptThatIsOnDiskSurvivesTheServer() {
    guard().answer(KEY, String.class, lease -> "receipt 17");
    server.crash();
    server.restart();
    reconnect();

    assertThat(guard().answer(KEY, String.class, lease -> "receipt 18"))
        .isInstanceOfSatisfying(
            Guarded.Repeat.class,
            known -> assertThat(known.answer().toString()).isEqualTo("Optional[receipt 17]"));
  }

  /** Connections of the former life break one after the other; a new client has none. */
  private void reconnect() {
    jedis.close();
    jedis = Clients.patient(server.port());
  }

  /** A client that fails a call to a server that hangs. */
  private void reconnectImpatiently() {
    jedis.close();
    jedis = Clients.of(server.port(), UNTIL_IT_HANGS);
  }

  private LeaseGuard guard() {
    return LeaseGuard.on(RedisGuardStore.of(jedis))
        .lease(Duration.ofMinutes(10))
        .waitAtMost(Duration.ZERO);
  }

  /** Its keys are free again soon after nobody renews their leases. */
  private LeaseGuard shortGuard() {
    return guard().lease(SHORT_LEASE);
  }

  private LeaseGuard waitingGuard() {
    return guard().waitAtMost(Duration.ofMinutes(5));
  }
}
