package dev.pigeonhole.spring.boot;

import dev.pigeonhole.Inbox;
import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.spring.GuardTemplate;
import dev.pigeonhole.spring.IdempotentMethods;
import dev.pigeonhole.spring.InboxTemplate;
import dev.pigeonhole.spring.PigeonholeLifecycle;
import dev.pigeonhole.spring.SpringInboxes;
import dev.pigeonhole.store.InboxStore;
import javax.sql.DataSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.LazyInitializationExcludeFilter;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.sql.init.dependency.DatabaseInitializationDependencyConfigurer;
import org.springframework.boot.sql.init.dependency.DependsOnDatabaseInitialization;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.ImportRuntimeHints;
import org.springframework.context.annotation.Lazy;
import org.springframework.core.annotation.Order;
import org.springframework.core.env.Environment;
import org.springframework.transaction.PlatformTransactionManager;

/**
 * The tables, the inbox with all annotated handlers, its life-cycle, and the guard of methods that
 * run once, on the DataSource of the application.
 */
@AutoConfiguration(
    afterName = {
      "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration",
      "org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration",
      "org.springframework.boot.hibernate.autoconfigure.HibernateJpaAutoConfiguration",
      "org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration",
      "org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration",
      "org.springframework.boot.jackson2.autoconfigure.Jackson2AutoConfiguration"
    },
    after = {PigeonholeCodecAutoConfiguration.class, PigeonholeSourcesAutoConfiguration.class})
@ImportRuntimeHints(PigeonholeRuntimeHints.class)
public final class PigeonholeAutoConfiguration {
  private static final Logger LOG = LoggerFactory.getLogger(PigeonholeAutoConfiguration.class);

  PigeonholeAutoConfiguration() {}

  @Bean
  @ConditionalOnMissingBean
  ChosenBeans pigeonholeChosenBeans(
      ListableBeanFactory beans,
      @PigeonholeDataSource ObjectProvider<DataSource> ourSource,
      ObjectProvider<DataSource> sources,
      @PigeonholeTransactionManager ObjectProvider<PlatformTransactionManager> ourManager,
      ObjectProvider<PlatformTransactionManager> managers) {
    return new ChosenBeans(beans, ourSource, sources, ourManager, managers);
  }

  /** What needs a database. */
  @Order(1)
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnBean(DataSource.class)
  @EnableConfigurationProperties(PigeonholeProperties.class)
  @Import(DatabaseInitializationDependencyConfigurer.class)
  static class JdbcConfiguration {

    @Bean
    @ConditionalOnMissingBean
    PigeonholeSchemaInitializer pigeonholeSchemaInitializer(
        ChosenBeans chosen, PigeonholeProperties properties) {
      return new PigeonholeSchemaInitializer(chosen::dataSource, properties);
    }

    @Bean
    @ConditionalOnMissingBean
    @DependsOnDatabaseInitialization
    JdbcStore pigeonholeJdbcStore(ChosenBeans chosen, PigeonholeProperties properties) {
      JdbcStore store = JdbcStore.of(chosen.dataSource()).prefix(properties.jdbc().tablePrefix());
      String schema = properties.jdbc().databaseSchema();
      if (schema != null) {
        store = store.schema(schema);
      }
      return properties.inbox().notifying() ? store.notifying() : store;
    }

    /** Lazy: only who has methods that run once, or asks for it, needs its tables. */
    @Bean
    @Lazy
    @ConditionalOnMissingBean
    GuardTemplate pigeonholeGuard(
        JdbcStore store,
        ChosenBeans chosen,
        PigeonholeProperties properties,
        ObjectProvider<PayloadCodec> codec,
        ObjectProvider<GuardCustomizer> customizers) {
      return GuardTemplate.on(
          store,
          chosen.transactionManager(),
          guard -> {
            Builders.apply(properties, guard);
            codec.ifUnique(guard::codec);
            customizers.orderedStream().forEach(each -> each.customize(guard));
            return guard;
          });
    }

    @Bean
    @ConditionalOnMissingBean
    static IdempotentMethods pigeonholeIdempotentMethods() {
      return new IdempotentMethods();
    }

    /** Nobody knows who reaches it, and nothing there asks what Pigeonhole would ask. */
    @Bean
    @ConditionalOnProperty("spring.h2.console.enabled")
    static SmartInitializingSingleton pigeonholeH2ConsoleWarning(ListableBeanFactory beans) {
      return () -> {
        if (beans.containsBean("h2Console")) {
          LOG.warn(
              "The web console of H2 is on: whoever reaches it reads and changes everything in the"
                  + " database, messages and receipts included. Remove spring.h2.console.enabled"
                  + " wherever others than you can reach this application.");
        }
      };
    }
  }

  /** What needs handlers, or channels that are beans, and a store: that of JDBC if there is one. */
  @Order(2)
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnBean(InboxStore.class)
  @EnableConfigurationProperties(PigeonholeProperties.class)
  @ConditionalOnProperty(name = "pigeonhole.inbox.enabled", matchIfMissing = true)
  @Conditional(OnHandlers.class)
  static class InboxConfiguration {

    @Bean
    @ConditionalOnMissingBean
    SpringInboxes pigeonholeHandlerRegistry() {
      return new SpringInboxes();
    }

    @Bean
    @ConditionalOnMissingBean
    HandlerThreads pigeonholeHandlerThreads(
        PigeonholeProperties properties, Environment environment) {
      return HandlerThreads.of(properties.inbox().threads(), environment);
    }

    @Bean
    @ConditionalOnMissingBean
    Inbox pigeonholeInbox(
        SpringInboxes inboxes,
        ObjectProvider<JdbcStore> databases,
        ObjectProvider<InboxStore> stores,
        ChosenBeans chosen,
        PigeonholeProperties properties,
        HandlerThreads threads,
        ObjectProvider<PayloadCodec> codec,
        ObjectProvider<dev.pigeonhole.Channel> channels,
        ObjectProvider<ChannelSource> sources,
        ObjectProvider<InboxCustomizer> customizers,
        ListableBeanFactory beans) {
      JdbcStore database = databases.getIfAvailable();
      InboxStore store = database == null ? stores.getObject() : database;
      return new InboxFactory(inboxes, store, chosen, properties, beans)
          .build(
              sources.orderedStream().toList(),
              channels.orderedStream().toList(),
              builder -> {
                threads.executor().ifPresent(builder::executor);
                codec.ifUnique(builder::codec);
                customizers.orderedStream().forEach(each -> each.customize(builder));
              });
    }

    @Bean
    @ConditionalOnBean(name = "pigeonholeInbox")
    @ConditionalOnMissingBean(name = "pigeonholeInboxRun")
    LatestRun pigeonholeInboxRun(@Qualifier("pigeonholeInbox") Inbox inbox) {
      return new LatestRun("inbox", inbox.name(), inbox::start);
    }

    @Bean
    @ConditionalOnBean(name = "pigeonholeInboxRun")
    @ConditionalOnMissingBean(name = "pigeonholeInboxProcessor")
    PigeonholeLifecycle pigeonholeInboxProcessor(
        @Qualifier("pigeonholeInboxRun") LatestRun run, PigeonholeProperties properties) {
      return run.lifecycle(properties.inbox().backgroundProcessing());
    }

    @Bean
    @ConditionalOnBean(JdbcStore.class)
    @ConditionalOnSingleCandidate(Inbox.class)
    @ConditionalOnMissingBean
    InboxTemplate pigeonholeInboxTemplate(Inbox inbox, JdbcStore store) {
      return InboxTemplate.of(inbox, store);
    }

    /** An inbox that nobody injects handles messages all the same. */
    @Bean
    static LazyInitializationExcludeFilter pigeonholeEagerInbox() {
      return LazyInitializationExcludeFilter.forBeanTypes(
          PigeonholeLifecycle.class, SpringInboxes.class, Inbox.class);
    }
  }
}
