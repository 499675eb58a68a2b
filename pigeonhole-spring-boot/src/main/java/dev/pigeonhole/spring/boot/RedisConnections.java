package dev.pigeonhole.spring.boot;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import java.time.Duration;
import java.util.function.IntConsumer;
import javax.net.ssl.SSLParameters;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails.Standalone;
import org.springframework.boot.data.redis.autoconfigure.DataRedisProperties;
import org.springframework.boot.ssl.SslBundle;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.UnifiedJedis;

/** Connects to the Redis that Spring Boot knows. Nothing is opened before it is needed. */
final class RedisConnections {
  private RedisConnections() {}

  /**
   * A pool of connections of its own: what Spring Data has may be of another client.
   *
   * @param details where Redis is, which need not be what the properties say
   */
  static UnifiedJedis to(DataRedisConnectionDetails details, DataRedisProperties properties) {
    Standalone server = details.getStandalone();
    String kind = kind(details);
    if (server == null || !kind.isEmpty()) {
      throw new ConfigurationException(
          ErrorCode.OPTION_NOT_APPLICABLE,
          ("pigeonhole.lease-guard takes one server from spring.data.redis, and there it is a %s."
                  + " Declare a bean of UnifiedJedis for it, such as a RedisClusterClient or a"
                  + " RedisSentinelClient.")
              .formatted(kind.isEmpty() ? "connection without any" : kind));
    }
    DefaultJedisClientConfig.Builder config =
        DefaultJedisClientConfig.builder()
            .user(details.getUsername())
            .password(details.getPassword())
            .database(server.getDatabase())
            .clientName(properties.getClientName());
    millis(properties.getTimeout(), config::socketTimeoutMillis);
    millis(properties.getConnectTimeout(), config::connectionTimeoutMillis);
    secure(details.getSslBundle(), config);
    return RedisClient.builder()
        .hostAndPort(server.getHost(), server.getPort())
        .clientConfig(config.build())
        .build();
  }

  /** What it is besides a single server, which the properties always have. */
  private static String kind(DataRedisConnectionDetails details) {
    if (details.getCluster() != null) {
      return "cluster";
    }
    if (details.getSentinel() != null) {
      return "group of sentinels";
    }
    return details.getMasterReplica() != null ? "primary with replicas" : "";
  }

  private static void millis(@Nullable Duration time, IntConsumer option) {
    if (time != null) {
      option.accept(Math.toIntExact(time.toMillis()));
    }
  }

  /** Jedis by itself would not look whose certificate it is. */
  private static void secure(@Nullable SslBundle bundle, DefaultJedisClientConfig.Builder config) {
    if (bundle == null) {
      return;
    }
    SSLParameters parameters = new SSLParameters();
    parameters.setEndpointIdentificationAlgorithm("HTTPS");
    parameters.setProtocols(bundle.getOptions().getEnabledProtocols());
    parameters.setCipherSuites(bundle.getOptions().getCiphers());
    config
        .ssl(true)
        .sslSocketFactory(bundle.createSslContext().getSocketFactory())
        .sslParameters(parameters);
  }
}
