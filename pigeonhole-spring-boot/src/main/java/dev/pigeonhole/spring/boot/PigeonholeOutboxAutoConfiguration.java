package dev.pigeonhole.spring.boot;

import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.outbox.Outbox;
import dev.pigeonhole.outbox.OutboxBuilder;
import dev.pigeonhole.spring.OutboxTemplate;
import dev.pigeonhole.spring.PigeonholeLifecycle;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.LazyInitializationExcludeFilter;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;

/** The outbox, with routes from beans of {@link OutboxCustomizer}, and its relay. */
@AutoConfiguration(after = PigeonholeAutoConfiguration.class)
@ConditionalOnClass(Outbox.class)
@ConditionalOnBean({JdbcStore.class, PigeonholeProperties.class})
@ConditionalOnProperty("pigeonhole.outbox.enabled")
public final class PigeonholeOutboxAutoConfiguration {

  PigeonholeOutboxAutoConfiguration() {}

  @Bean
  @ConditionalOnMissingBean
  Outbox pigeonholeOutbox(
      JdbcStore store,
      PigeonholeProperties properties,
      ObjectProvider<PayloadCodec> codec,
      ObjectProvider<OutboxCustomizer> customizers) {
    PigeonholeProperties.Outbox said = properties.outbox();
    OutboxBuilder outbox =
        Outbox.on(store)
            .named(said.name())
            .sendTimeout(said.sendTimeout())
            .maxPayload((int) said.maxMessageSize().toBytes())
            .retry(said.retry().asOthers().policy())
            .keepReceipts(said.keep());
    codec.ifUnique(outbox::codec);
    customizers.orderedStream().forEach(each -> each.customize(outbox));
    return outbox.build();
  }

  @Bean
  @ConditionalOnBean(name = "pigeonholeOutbox")
  @ConditionalOnMissingBean(name = "pigeonholeOutboxRun")
  LatestRun pigeonholeOutboxRun(@Qualifier("pigeonholeOutbox") Outbox outbox) {
    return new LatestRun("outbox", outbox.name(), LatestRun.RESTART_DELAY, outbox::start);
  }

  @Bean
  @ConditionalOnBean(name = "pigeonholeOutboxRun")
  @ConditionalOnMissingBean(name = "pigeonholeOutboxRelay")
  PigeonholeLifecycle pigeonholeOutboxRelay(
      @Qualifier("pigeonholeOutboxRun") LatestRun run, PigeonholeProperties properties) {
    return run.lifecycle(properties.outbox().backgroundProcessing());
  }

  /** Where handlers publish, so that it commits with their receipts. */
  @Bean
  @ConditionalOnMissingBean(name = "pigeonholeOutboxOfInbox")
  InboxCustomizer pigeonholeOutboxOfInbox(ObjectProvider<Outbox> outbox, JdbcStore store) {
    return inbox -> inbox.outbox(new LateOutbox(outbox, store));
  }

  /** What the inbox could not ask yet when it was built. */
  @Bean
  @ConditionalOnMissingBean(name = "pigeonholeOutboxCheck")
  SmartInitializingSingleton pigeonholeOutboxCheck(ObjectProvider<Outbox> outbox, JdbcStore store) {
    return () -> LateOutbox.check(outbox.getObject(), store);
  }

  /** Where guarded methods publish. */
  @Bean
  @ConditionalOnMissingBean(name = "pigeonholeOutboxOfGuard")
  GuardCustomizer pigeonholeOutboxOfGuard(Outbox outbox) {
    return guard -> guard.outbox(outbox);
  }

  @Bean
  @ConditionalOnMissingBean
  OutboxTemplate pigeonholeOutboxTemplate(Outbox outbox, JdbcStore store) {
    return OutboxTemplate.of(outbox, store);
  }

  /** A relay that nobody injects sends messages all the same. */
  @Bean
  static LazyInitializationExcludeFilter pigeonholeEagerOutbox() {
    return LazyInitializationExcludeFilter.forBeanTypes(PigeonholeLifecycle.class);
  }
}
