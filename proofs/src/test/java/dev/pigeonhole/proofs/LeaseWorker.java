package dev.pigeonhole.proofs;

import dev.pigeonhole.GuardKey;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.lease.LeaseGuard;
import dev.pigeonhole.redis.RedisGuardStore;
import dev.pigeonhole.support.ParentWatch;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClient;

/**
 * A process that works on one key until it is told to end. Arguments: port of the Redis, id of the
 * key. It says when its body runs, and how the run ended.
 */
public final class LeaseWorker {
  static final Duration LEASE = Duration.ofSeconds(6);

  private LeaseWorker() {}

  public static void main(String[] args) throws InterruptedException {
    ParentWatch.install();
    RedisClient jedis = client(Integer.parseInt(args[0]));
    String id = args[1];
    try {
      guard(jedis)
          .run(
              key(id),
              lease -> {
                jedis.incr(effects(id));
                System.out.println("RUNNING");
                while (!jedis.exists(end(id))) {
                  TimeUnit.MILLISECONDS.sleep(20);
                }
                return null;
              });
      System.out.println("ENDED well");
    } catch (InboxException e) {
      System.out.println("ENDED " + e.code().text());
    }
  }

  /** Waits for a busy server for longer than Jedis does by itself, which is two seconds. */
  static RedisClient client(int port) {
    return RedisClient.builder()
        .hostAndPort(new HostAndPort("127.0.0.1", port))
        .clientConfig(DefaultJedisClientConfig.builder().timeoutMillis(120_000).build())
        .build();
  }

  static LeaseGuard guard(RedisClient jedis) {
    return LeaseGuard.on(RedisGuardStore.of(jedis)).lease(LEASE);
  }

  static GuardKey key(String id) {
    return GuardKey.of("charge-card", "order", id);
  }

  /** Counts how often a body has begun, outside of the library. */
  static String effects(String id) {
    return "effects of " + id;
  }

  /** Lets the body return. */
  static String end(String id) {
    return "end of " + id;
  }
}
