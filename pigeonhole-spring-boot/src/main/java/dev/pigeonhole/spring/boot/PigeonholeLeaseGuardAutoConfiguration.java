package dev.pigeonhole.spring.boot;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.lease.GuardStore;
import dev.pigeonhole.lease.LeaseGuard;
import dev.pigeonhole.redis.RedisGuardStore;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails;
import org.springframework.boot.data.redis.autoconfigure.DataRedisProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.annotation.Order;
import redis.clients.jedis.UnifiedJedis;

/**
 * A guard that keeps its leases in Redis. Only for those who ask for it, because it promises less
 * than the one on the database; it needs no DataSource.
 */
@AutoConfiguration(
    after = PigeonholeCodecAutoConfiguration.class,
    before = PigeonholeMetricsAutoConfiguration.class,
    afterName = "org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration")
@ConditionalOnProperty("pigeonhole.lease-guard.enabled")
@EnableConfigurationProperties(PigeonholeProperties.class)
public final class PigeonholeLeaseGuardAutoConfiguration {

  PigeonholeLeaseGuardAutoConfiguration() {}

  @Order(1)
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass({RedisGuardStore.class, UnifiedJedis.class, DataRedisConnectionDetails.class})
  @ConditionalOnBean(DataRedisConnectionDetails.class)
  @ConditionalOnMissingBean({GuardStore.class, UnifiedJedis.class})
  static class ClientConfiguration {

    @Bean
    UnifiedJedis pigeonholeRedisClient(
        DataRedisConnectionDetails details, DataRedisProperties properties) {
      return RedisConnections.to(details, properties);
    }
  }

  @Order(2)
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass({RedisGuardStore.class, UnifiedJedis.class})
  @ConditionalOnBean(UnifiedJedis.class)
  static class StoreConfiguration {

    @Bean
    @ConditionalOnMissingBean(GuardStore.class)
    RedisGuardStore pigeonholeRedisGuardStore(UnifiedJedis redis, PigeonholeProperties properties) {
      return RedisGuardStore.of(redis).prefix(properties.leaseGuard().keyPrefix());
    }
  }

  @Bean
  @ConditionalOnMissingBean
  LeaseGuard pigeonholeLeaseGuard(
      ObjectProvider<GuardStore> stores,
      PigeonholeProperties properties,
      ObjectProvider<PayloadCodec> codecs,
      ObjectProvider<LeaseGuardCustomizer> customizers) {
    GuardStore store = stores.getIfUnique();
    if (store == null) {
      throw new ConfigurationException(
          ErrorCode.TRANSPORT_MISSING,
          "pigeonhole.lease-guard.enabled is true, and there is no single store for its leases."
              + " Add pigeonhole-redis and spring-boot-starter-data-redis, or declare a bean of"
              + " UnifiedJedis or of GuardStore.");
    }
    LeaseGuard guard = Builders.apply(properties.leaseGuard(), store);
    PayloadCodec codec = codecs.getIfUnique();
    if (codec != null) {
      guard = guard.codec(codec);
    }
    for (LeaseGuardCustomizer each : customizers.orderedStream().toList()) {
      guard = each.customize(guard);
    }
    return guard;
  }
}
