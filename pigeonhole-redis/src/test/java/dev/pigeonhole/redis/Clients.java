package dev.pigeonhole.redis;

import java.time.Duration;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClient;

/** Clients with other limits than the two seconds of Jedis, which a busy machine can exceed. */
final class Clients {
  private Clients() {}

  /** For a server that answers sooner or later. */
  static RedisClient patient(int port) {
    return of(port, Duration.ofMinutes(2));
  }

  /** Waits this long for a connection, and for each answer. */
  static RedisClient of(int port, Duration limit) {
    return RedisClient.builder()
        .hostAndPort(new HostAndPort("127.0.0.1", port))
        .clientConfig(
            DefaultJedisClientConfig.builder().timeoutMillis((int) limit.toMillis()).build())
        .build();
  }
}
