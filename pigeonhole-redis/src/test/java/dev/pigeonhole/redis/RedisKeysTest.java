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
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.RedisClient;

/** What an operator finds in Redis, and what Redis may find there. */
class RedisKeysTest {
  private static RedisClient jedis;

  private final String order = UUID.randomUUID().toString();
  private final GuardKey key = GuardKey.of("charge-card", "order", order);
  private final String redisKey = "pigeonhole:guard:charge-card/key of order/" + order;
  private final LeaseGuard guard =
      LeaseGuard.on(RedisGuardStore.of(jedis)).waitAtMost(Duration.ZERO);

  @BeforeAll
  static void connect() {
    jedis = Clients.patient(RedisServer.shared().port());
  }

  @AfterAll
  static void disconnect() {
    jedis.close();
  }

  @Test
  void aKeyLivesAsLongAsItsLeaseAndThenAsLongAsItsReceipt() {
    guard.run(
        key,
        lease -> {
          assertThat(jedis.hgetAll(redisKey)).containsOnlyKeys("owner");
          assertThat(jedis.hget(redisKey, "owner")).isEqualTo(lease.token());
          assertThat(jedis.pttl(redisKey)).isBetween(1L, Duration.ofSeconds(30).toMillis());
          return null;
        });

    assertThat(jedis.hgetAll(redisKey)).containsOnlyKeys("owner", "at", "request", "type");
    assertThat(jedis.pttl(redisKey))
        .isBetween(Duration.ofDays(6).toMillis(), Duration.ofDays(7).toMillis());
  }

  @Test
  void aReceiptForEverHasNoTimeToLive() {
    guard.keepReceiptsForEver().run(key, lease -> null);

    assertThat(jedis.pttl(redisKey)).isEqualTo(-1);
  }

  @Test
  void nothingIsLeftOfARunThatFailed() {
    assertThatExceptionOfType(IllegalStateException.class)
        .isThrownBy(
            () ->
                guard.run(
                    key,
                    lease -> {
                      throw new IllegalStateException("declined");
                    }));

    assertThat(jedis.exists(redisKey)).isFalse();
  }

  @Test
  void applicationsWithAPrefixOfTheirOwnNeverMeet() {
    LeaseGuard other = LeaseGuard.on(RedisGuardStore.of(jedis).prefix("other:"));

    assertThat(guard.run(key, lease -> "mine")).isEqualTo(new Guarded.Ran<>("mine"));
    assertThat(other.run(key, lease -> "theirs")).isEqualTo(new Guarded.Ran<>("theirs"));
  }

  @Test
  void aServerThatForgotTheScriptsIsToldThemAgain() {
    guard.run(
        key,
        lease -> {
          jedis.scriptFlush();
          return null;
        });
    jedis.scriptFlush();

    assertThat(guard.run(key, lease -> null)).isInstanceOf(Guarded.Repeat.class);
  }

  @Test
  void aKeyOfSomebodyElseIsLeftAlone() {
    jedis.set(redisKey, "not ours");

    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(() -> guard.run(key, lease -> null))
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.DATABASE_ERROR))
        .withMessageContaining("WRONGTYPE");
    assertThat(jedis.get(redisKey)).isEqualTo("not ours");
  }
}
