package dev.pigeonhole.redis;

import dev.pigeonhole.lease.GuardStore;
import dev.pigeonhole.support.RedisServer;
import dev.pigeonhole.tck.GuardStoreContract;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import redis.clients.jedis.RedisClient;

/** The contract, against a real server. */
class RedisGuardStoreTest extends GuardStoreContract {
  private static RedisClient jedis;

  @BeforeAll
  static void connect() {
    jedis = Clients.patient(RedisServer.shared().port());
  }

  @AfterAll
  static void disconnect() {
    jedis.close();
  }

  @Override
  protected GuardStore store() {
    return RedisGuardStore.of(jedis).prefix(UUID.randomUUID() + ":");
  }
}
