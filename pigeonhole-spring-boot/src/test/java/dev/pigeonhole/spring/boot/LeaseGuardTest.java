package dev.pigeonhole.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.lease.GuardStore;
import dev.pigeonhole.lease.LeaseGuard;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.support.RedisServer;
import dev.pigeonhole.testkit.MemoryGuardStore;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.ssl.SslAutoConfiguration;
import org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails;
import org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.UnifiedJedis;

/** The guard that keeps its leases in the Redis that Spring Boot knows. */
class LeaseGuardTest {
  private static final RedisServer REDIS = RedisServer.shared();

  private final String order = UUID.randomUUID().toString();
  private final GuardKey key = GuardKey.of("send-receipt", "order", order);

  record Receipt(String order) {}

  @Test
  void repeatsAreKeptAwayByTheRedisOfTheApplicationWithoutADataSource() {
    asked()
        .withPropertyValues(
            "spring.data.redis.port=" + REDIS.port(),
            "spring.data.redis.database=3",
            "pigeonhole.lease-guard.key-prefix=shop:",
            "pigeonhole.lease-guard.keep-receipts=1h")
        .run(
            context -> {
              LeaseGuard guard = context.getBean(LeaseGuard.class);
              Receipt first = new Receipt(order);
              assertThat(guard.answer(key, Receipt.class, lease -> first))
                  .isInstanceOf(Guarded.Ran.class);
              Guarded<Receipt> again =
                  guard.answer(key, Receipt.class, lease -> new Receipt("other"));
              assertThat(((Guarded.Repeat<Receipt>) again).answer()).contains(first);

              String name = "shop:send-receipt/key of order/" + order;
              try (RedisClient third = database(3);
                  RedisClient none = database(0)) {
                assertThat(third.pttl(name)).isBetween(1L, 3_600_000L);
                assertThat(none.exists(name)).isFalse();
              }
            });
  }

  @Test
  void whoeverTellsWhereRedisIsIsBelieved() {
    asked()
        .withPropertyValues("spring.data.redis.port=1")
        .withBean(
            DataRedisConnectionDetails.class,
            () ->
                new DataRedisConnectionDetails() {
                  @Override
                  public Standalone getStandalone() {
                    return Standalone.of("127.0.0.1", REDIS.port());
                  }
                })
        .run(context -> assertThat(runs(context.getBean(LeaseGuard.class))).isTrue());
  }

  @Test
  void userAndPasswordAreThoseOfTheApplication() {
    try (RedisClient admin = database(0)) {
      admin.executeCommand(
          new CommandArguments(Protocol.Command.ACL)
              .add("SETUSER")
              .add("shop-" + order)
              .add("on")
              .add(">s3cret")
              .add("~*")
              .add("+@all"));
      ApplicationContextRunner named =
          asked()
              .withPropertyValues(
                  "spring.data.redis.port=" + REDIS.port(),
                  "spring.data.redis.username=shop-" + order);
      named
          .withPropertyValues("spring.data.redis.password=s3cret")
          .run(context -> assertThat(runs(context.getBean(LeaseGuard.class))).isTrue());
      named
          .withPropertyValues("spring.data.redis.password=wrong")
          .run(
              context ->
                  assertThatExceptionOfType(StoreException.class)
                      .isThrownBy(() -> runs(context.getBean(LeaseGuard.class))));
    }
  }

  /** The server knows no TLS, so whoever insists on it gets nowhere. */
  @Test
  void encryptionIsNotLeftOut() {
    asked()
        .withConfiguration(AutoConfigurations.of(SslAutoConfiguration.class))
        .withPropertyValues(
            "spring.data.redis.port=" + REDIS.port(),
            "spring.data.redis.ssl.enabled=true",
            "spring.data.redis.timeout=3s")
        .run(
            context -> {
              assertThat(context).hasSingleBean(SslBundles.class);
              assertThatExceptionOfType(StoreException.class)
                  .isThrownBy(() -> runs(context.getBean(LeaseGuard.class)));
            });
  }

  @Test
  void whoeverShowsTheCertificateOfAnotherIsNotTalkedTo() {
    try (TlsProxy ours = TlsProxy.before(REDIS.port(), "ip:127.0.0.1");
        TlsProxy another = TlsProxy.before(REDIS.port(), "dns:another.test")) {
      overTls(ours).run(context -> assertThat(runs(context.getBean(LeaseGuard.class))).isTrue());
      overTls(another)
          .run(
              context ->
                  assertThatExceptionOfType(StoreException.class)
                      .isThrownBy(() -> runs(context.getBean(LeaseGuard.class))));
    }
  }

  private static ApplicationContextRunner overTls(TlsProxy server) {
    return asked()
        .withConfiguration(AutoConfigurations.of(SslAutoConfiguration.class))
        .withPropertyValues(
            "spring.data.redis.host=127.0.0.1",
            "spring.data.redis.port=" + server.port(),
            "spring.data.redis.ssl.bundle=shop",
            "spring.ssl.bundle.jks.shop.truststore.location=file:" + server.trust(),
            "spring.ssl.bundle.jks.shop.truststore.password=" + TlsProxy.PASSWORD,
            "spring.ssl.bundle.jks.shop.truststore.type=PKCS12");
  }

  /** Who may take ten minutes began earlier, so any other limit of both would strike it. */
  @Test
  void aRedisThatHangsHasTheTimeThatTheApplicationSays() {
    try (RedisServer redis = RedisServer.start()) {
      ApplicationContextRunner there =
          asked().withPropertyValues("spring.data.redis.port=" + redis.port());
      there
          .withPropertyValues("spring.data.redis.timeout=10m")
          .run(
              context -> {
                LeaseGuard patient = context.getBean(LeaseGuard.class);
                assertThat(runs(patient)).isTrue();
                redis.pause();
                CompletableFuture<Boolean> repeat =
                    CompletableFuture.supplyAsync(() -> runs(patient));
                there
                    .withPropertyValues("spring.data.redis.timeout=50ms")
                    .run(
                        hasty ->
                            assertThatExceptionOfType(StoreException.class)
                                .isThrownBy(() -> runs(hasty.getBean(LeaseGuard.class))));
                assertThat(repeat).isNotDone();
                redis.resume();
                assertThat(repeat.get()).isFalse();
              });
    }
  }

  @Test
  void nobodyGetsItUnasked() {
    runner()
        .run(
            context ->
                assertThat(context)
                    .hasNotFailed()
                    .doesNotHaveBean(LeaseGuard.class)
                    .doesNotHaveBean(UnifiedJedis.class));
  }

  @Test
  void beansOfOnesOwnAreTaken() {
    try (UnifiedJedis mine = database(0)) {
      asked()
          .withBean(UnifiedJedis.class, () -> mine)
          .withPropertyValues("spring.data.redis.port=1")
          .run(
              context -> {
                assertThat(context).hasSingleBean(UnifiedJedis.class);
                assertThat(runs(context.getBean(LeaseGuard.class))).isTrue();
              });
    }
    asked()
        .withBean(GuardStore.class, MemoryGuardStore::create)
        .run(
            context -> {
              assertThat(context).hasSingleBean(GuardStore.class);
              assertThat(context).doesNotHaveBean(UnifiedJedis.class);
            });
  }

  @Test
  void customizersHaveTheLastWordAndMetersAreCounted() {
    asked()
        .withConfiguration(AutoConfigurations.of(PigeonholeMetricsAutoConfiguration.class))
        .withBean(MeterRegistry.class, SimpleMeterRegistry::new)
        .withBean(LeaseGuardCustomizer.class, () -> guard -> guard.keepReceiptsForEver())
        .withPropertyValues("spring.data.redis.port=" + REDIS.port())
        .run(
            context -> {
              assertThat(runs(context.getBean(LeaseGuard.class))).isTrue();
              try (RedisClient redis = database(0)) {
                assertThat(redis.pttl("pigeonhole:guard:send-receipt/key of order/" + order))
                    .isEqualTo(-1);
              }
              assertThat(
                      context
                          .getBean(MeterRegistry.class)
                          .get("pigeonhole.guard")
                          .tag("outcome", "ran")
                          .timer()
                          .count())
                  .isEqualTo(1);
            });
  }

  @Test
  void withoutItsLibrariesItSaysWhatIsMissing() {
    ApplicationContextRunner withoutRedis =
        new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(PigeonholeLeaseGuardAutoConfiguration.class))
            .withPropertyValues("pigeonhole.lease-guard.enabled=true");
    for (ApplicationContextRunner each :
        List.of(
            asked().withClassLoader(new FilteredClassLoader("dev.pigeonhole.redis")),
            withoutRedis,
            withoutRedis.withClassLoader(
                new FilteredClassLoader("org.springframework.boot.data.redis", "redis.clients")))) {
      each.run(
          context ->
              assertThat(context)
                  .getFailure()
                  .rootCause()
                  .hasMessageStartingWith("PH-SPR-05: pigeonhole.lease-guard.enabled is true")
                  .hasMessageContaining("Add pigeonhole-redis and"));
    }
  }

  @Test
  void severalServersAskForAClientOfOnesOwn() {
    Map.of(
            "cluster", List.of("spring.data.redis.cluster.nodes=one:7000,two:7000"),
            "group of sentinels",
                List.of(
                    "spring.data.redis.sentinel.master=shop",
                    "spring.data.redis.sentinel.nodes=one:7000,two:7000"),
            "primary with replicas",
                List.of("spring.data.redis.masterreplica.nodes=one:7000,two:7000"))
        .forEach(
            (kind, said) ->
                asked()
                    .withPropertyValues(said.toArray(String[]::new))
                    .run(
                        context ->
                            assertThat(context)
                                .getFailure()
                                .rootCause()
                                .hasMessageStartingWith(
                                    "PH-CFG-16: pigeonhole.lease-guard takes one server")
                                .hasMessageContaining("there it is a " + kind + ". Declare a")));
  }

  private boolean runs(LeaseGuard guard) {
    return guard.run(key, lease -> null) instanceof Guarded.Ran;
  }

  private static RedisClient database(int number) {
    return RedisClient.builder()
        .hostAndPort(new HostAndPort("127.0.0.1", REDIS.port()))
        .clientConfig(
            DefaultJedisClientConfig.builder().database(number).timeoutMillis(60_000).build())
        .build();
  }

  /** Without a limit of its own it would be that of Jedis, two seconds. */
  private static ApplicationContextRunner asked() {
    return runner()
        .withPropertyValues("pigeonhole.lease-guard.enabled=true", "spring.data.redis.timeout=60s");
  }

  private static ApplicationContextRunner runner() {
    return new ApplicationContextRunner()
        .withConfiguration(
            AutoConfigurations.of(
                DataRedisAutoConfiguration.class,
                JacksonAutoConfiguration.class,
                PigeonholeCodecAutoConfiguration.class,
                PigeonholeLeaseGuardAutoConfiguration.class));
  }
}
