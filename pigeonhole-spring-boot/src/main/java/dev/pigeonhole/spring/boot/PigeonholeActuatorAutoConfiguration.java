package dev.pigeonhole.spring.boot;

import dev.pigeonhole.Inbox;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.outbox.Outbox;
import dev.pigeonhole.store.InboxStore;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.actuate.autoconfigure.info.ConditionalOnEnabledInfoContributor;
import org.springframework.boot.actuate.autoconfigure.info.InfoContributorFallback;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.info.InfoContributor;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.AnyNestedCondition;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.annotation.Order;

/**
 * The endpoint {@code pigeonhole}, the health of inboxes and outboxes, and what they run on.
 * Conditions of libraries that may be missing stand on methods: those on a class are all loaded
 * before the first of them is asked.
 */
@AutoConfiguration(
    after = {PigeonholeAutoConfiguration.class, PigeonholeOutboxAutoConfiguration.class})
@ConditionalOnBean(PigeonholeProperties.class)
@Conditional(PigeonholeActuatorAutoConfiguration.OnSomethingToWatch.class)
public final class PigeonholeActuatorAutoConfiguration {

  PigeonholeActuatorAutoConfiguration() {}

  /** A store of any kind, or an inbox or an outbox on one that is no bean. */
  static final class OnSomethingToWatch extends AnyNestedCondition {
    OnSomethingToWatch() {
      super(ConfigurationPhase.REGISTER_BEAN);
    }

    @ConditionalOnBean(InboxStore.class)
    static class Store {}

    @ConditionalOnBean(Inbox.class)
    static class OwnInbox {}

    @ConditionalOnBean(type = "dev.pigeonhole.outbox.Outbox")
    static class OwnOutbox {}
  }

  @Bean
  SmartInitializingSingleton pigeonholeDistinctNames(ObjectProvider<Watched.Supplier> watched) {
    return () -> Watched.refuseEqualNames(Watched.all(watched).get());
  }

  @Order(1)
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnBean(Inbox.class)
  static class InboxConfiguration {

    @Bean
    Watched.Supplier pigeonholeWatchedInboxes(
        ObjectProvider<Inbox> inboxes, ObjectProvider<LatestRun> runs) {
      return () ->
          inboxes
              .orderedStream()
              .map(each -> new Watched("inbox", each, each.name(), each.admin(), each::wake, runs))
              .toList();
    }
  }

  @Order(2)
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(Outbox.class)
  @ConditionalOnBean(Outbox.class)
  static class OutboxConfiguration {

    @Bean
    Watched.Supplier pigeonholeWatchedOutboxes(
        ObjectProvider<Outbox> outboxes, ObjectProvider<LatestRun> runs) {
      return () ->
          outboxes
              .orderedStream()
              .map(each -> new Watched("outbox", each, each.name(), each.admin(), each::wake, runs))
              .toList();
    }
  }

  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass({Endpoint.class, ConditionalOnAvailableEndpoint.class})
  static class EndpointConfiguration {

    @Bean
    @ConditionalOnAvailableEndpoint(PigeonholeEndpoint.class)
    @ConditionalOnMissingBean
    PigeonholeEndpoint pigeonholeEndpoint(ObjectProvider<Watched.Supplier> watched) {
      return new PigeonholeEndpoint(Watched.all(watched));
    }
  }

  /** After those that say what there is to watch. */
  @Order(3)
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass({HealthIndicator.class, ConditionalOnEnabledHealthIndicator.class})
  @ConditionalOnBean(Watched.Supplier.class)
  static class HealthConfiguration {

    @Bean
    @ConditionalOnEnabledHealthIndicator("pigeonhole")
    @ConditionalOnMissingBean(name = {"pigeonholeHealthIndicator", "pigeonholeHealthContributor"})
    PigeonholeHealthIndicator pigeonholeHealthIndicator(ObjectProvider<Watched.Supplier> watched) {
      return new PigeonholeHealthIndicator(Watched.all(watched), System::nanoTime);
    }
  }

  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass({InfoContributor.class, ConditionalOnEnabledInfoContributor.class})
  static class InfoConfiguration {

    @Bean
    @ConditionalOnEnabledInfoContributor(
        value = "pigeonhole",
        fallback = InfoContributorFallback.USE_DEFAULTS_PROPERTY)
    @ConditionalOnMissingBean(name = "pigeonholeInfoContributor")
    PigeonholeInfoContributor pigeonholeInfoContributor(
        ObjectProvider<JdbcStore> databases,
        ObjectProvider<InboxStore> stores,
        ObjectProvider<ChannelSource> sources) {
      return new PigeonholeInfoContributor(databases, stores, sources);
    }
  }
}
