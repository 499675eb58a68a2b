package dev.pigeonhole.spring.boot;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.spring.GuardTemplate;
import dev.pigeonhole.spring.IdempotentMethods;
import dev.pigeonhole.spring.InboxTemplate;
import dev.pigeonhole.spring.PigeonholeLifecycle;
import dev.pigeonhole.store.InboxStore;
import java.time.Duration;
import javax.sql.DataSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.autoconfigure.condition.SearchStrategy;
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
import org.springframework.core.env.ConfigurableEnvironment;
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
@EnableConfigurationProperties(PigeonholeProperties.class)
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

  /**
   * Without a database, too: methods that nothing can guard are refused, not run again. That of a
   * parent context sees only the beans of the parent.
   */
  @Bean
  @ConditionalOnMissingBean(search = SearchStrategy.CURRENT)
  static IdempotentMethods pigeonholeIdempotentMethods() {
    return new IdempotentMethods();
  }

  @Bean
  @ConditionalOnProperty(name = "pigeonhole.inbox.enabled", matchIfMissing = true)
  static ForgottenHandlers pigeonholeForgottenHandlers(ConfigurableListableBeanFactory beans) {
    return new ForgottenHandlers(beans);
  }

  @Bean
  static BeanFactoryPostProcessor pigeonholeSystemProperties(ConfigurableEnvironment environment) {
    return beans -> UnknownSystemProperties.refuse(environment);
  }

  /** What needs a database. */
  @Order(1)
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnBean(DataSource.class)
  @Import(DatabaseInitializationDependencyConfigurer.class)
  static class JdbcConfiguration {

    @Bean
    @ConditionalOnMissingBean
    PigeonholeSchemaInitializer pigeonholeSchemaInitializer(
        ChosenBeans chosen, PigeonholeProperties properties, ListableBeanFactory beans) {
      return new PigeonholeSchemaInitializer(chosen::dataSource, properties, beans);
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

  /** Before anything else: whoever needs the outbox would only say that there is none. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnProperty("pigeonhole.outbox.enabled")
  @ConditionalOnMissingClass("dev.pigeonhole.outbox.Outbox")
  static class MissingOutboxConfiguration {

    @Bean
    static BeanFactoryPostProcessor pigeonholeMissingOutbox() {
      return beans -> {
        throw new ConfigurationException(
            ErrorCode.TRANSPORT_MISSING,
            "pigeonhole.outbox.enabled is true, and its library is not there. Add"
                + " pigeonhole-outbox.");
      };
    }
  }

  /** Where there is one inbox at most: what it shares with the guard and the outbox. */
  @Order(2)
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnBean(DataSource.class)
  @Conditional(NamedInboxes.Absent.class)
  static class StoreConfiguration {

    @Bean
    @ConditionalOnMissingBean
    @DependsOnDatabaseInitialization
    JdbcStore pigeonholeJdbcStore(ChosenBeans chosen, PigeonholeProperties properties) {
      PlannedInbox only = properties.planned().get(0);
      return only.store(chosen.dataSource(only));
    }

    /** Lazy: only who has methods that run once, or asks for it, needs its tables. */
    @Bean
    @Lazy
    @ConditionalOnMissingBean
    GuardTemplate pigeonholeGuard(
        JdbcStore store,
        ChosenBeans chosen,
        PigeonholeProperties properties,
        ListableBeanFactory beans) {
      return Guards.on(properties.planned().get(0), store, chosen, properties, beans);
    }
  }

  /** The inbox, if there are handlers, or channels that are beans, and a store of any kind. */
  @Order(3)
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnBean(InboxStore.class)
  @ConditionalOnProperty(name = "pigeonhole.inbox.enabled", matchIfMissing = true)
  @Conditional({NamedInboxes.Absent.class, OnHandlers.class})
  @Import(InboxesConfiguration.class)
  static class InboxConfiguration {

    @Bean
    @ConditionalOnMissingBean
    Inbox pigeonholeInbox(
        InboxFactory factory,
        ObjectProvider<JdbcStore> databases,
        ObjectProvider<InboxStore> stores,
        PigeonholeProperties properties) {
      JdbcStore database = databases.getIfAvailable();
      return factory.build(
          properties.inbox().name(), database == null ? stores.getObject() : database);
    }

    @Bean
    @ConditionalOnBean(name = "pigeonholeInbox")
    @ConditionalOnMissingBean(name = "pigeonholeInboxRun")
    LatestRun pigeonholeInboxRun(
        @Qualifier("pigeonholeInbox") Inbox inbox, PigeonholeProperties properties) {
      Duration restartDelay = properties.inbox().restartDelay();
      return new LatestRun("inbox", inbox.name(), restartDelay, inbox::start);
    }

    @Bean
    @ConditionalOnBean(name = "pigeonholeInboxRun")
    @ConditionalOnMissingBean(name = "pigeonholeInboxProcessor")
    PigeonholeLifecycle pigeonholeInboxProcessor(
        @Qualifier("pigeonholeInboxRun") LatestRun run, PigeonholeProperties properties) {
      return run.lifecycle(properties.inbox().backgroundProcessing());
    }

    /** Lazy: an inbox of one's own may be elsewhere, and then whoever asks for this is refused. */
    @Bean
    @Lazy
    @ConditionalOnBean(JdbcStore.class)
    @ConditionalOnSingleCandidate(Inbox.class)
    @ConditionalOnMissingBean
    InboxTemplate pigeonholeInboxTemplate(Inbox inbox, JdbcStore store) {
      return InboxTemplate.of(inbox, store);
    }
  }

  /** Several inboxes, each with a name and a store. */
  @Order(3)
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnBean(DataSource.class)
  @ConditionalOnProperty(name = "pigeonhole.inbox.enabled", matchIfMissing = true)
  @Conditional(NamedInboxes.Present.class)
  @Import(InboxesConfiguration.class)
  static class NamedInboxConfiguration {

    /** Those of a parent context have its channels, and a child uses them. */
    @Configuration(proxyBeanMethods = false)
    @Conditional(NamedInboxes.NotInherited.class)
    @Import(NamedInboxRegistrar.class)
    static class RegistrarConfiguration {}
  }

  /** Handlers that no inbox can take would wait for ever, and nobody would know. */
  @Order(4)
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnMissingBean({DataSource.class, Inbox.class})
  @ConditionalOnProperty(name = "pigeonhole.inbox.enabled", matchIfMissing = true)
  @Conditional(OnHandlers.class)
  static class NowhereConfiguration {

    @Bean
    static BeanFactoryPostProcessor pigeonholeNowhere(Environment environment) {
      return beans -> {
        throw new ConfigurationException(
            ErrorCode.BEANS_AMBIGUOUS,
            NamedInboxes.in(environment).isEmpty()
                ? "There are handlers or channels, and no bean of DataSource or InboxStore to keep"
                    + " their messages in. Add spring-boot-starter-jdbc and spring.datasource.url,"
                    + " or declare one; with pigeonhole.inbox.enabled=false nobody calls them."
                : "Each inbox below pigeonhole.inboxes has a DataSource, and there is no bean of"
                    + " it. Declare what they name. A bean of InboxStore that is no JdbcStore is"
                    + " for the one inbox of pigeonhole.inbox alone.");
      };
    }
  }
}
