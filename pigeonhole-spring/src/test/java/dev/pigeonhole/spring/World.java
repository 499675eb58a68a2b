package dev.pigeonhole.spring;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ChannelBuilder;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import jakarta.persistence.EntityManagerFactory;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import javax.sql.DataSource;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.vendor.HibernateJpaVendorAdapter;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.support.TransactionTemplate;

/** A database with an inbox and a table for what handlers do, and contexts over it. */
final class World implements AutoCloseable {
  final TestDatabase database;
  final DataSource pool;
  final AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();

  World(TestDatabase database) {
    this(prepared(database), database.pool(20));
  }

  World(TestDatabase database, DataSource pool) {
    this.database = database;
    this.pool = pool;
    prepared(database);
    context.registerBean("dataSource", DataSource.class, () -> pool, each -> each.setPrimary(true));
    context.registerBean("database", TestDatabase.class, () -> database);
  }

  private static TestDatabase prepared(TestDatabase database) {
    return database.prepare(
        "world",
        it -> {
          Schema.migrate(it.dataSource());
          Schema.ofDefaults().prefix("pigeonhole_out_").applyTo(it.dataSource());
          it.execute(
              "CREATE TABLE IF NOT EXISTS effect"
                  + " (id VARCHAR(40) PRIMARY KEY, order_id VARCHAR(20) NOT NULL)");
          it.execute("CREATE TABLE IF NOT EXISTS note (order_id VARCHAR(20) NOT NULL)");
        });
  }

  static World postgres() {
    return new World(TestDatabases.open(DatabaseKind.POSTGRES));
  }

  World with(Class<?>... beans) {
    context.register(beans);
    return this;
  }

  World start() {
    context.refresh();
    return this;
  }

  <T> T bean(Class<T> type) {
    return context.getBean(type);
  }

  Inbox inbox() {
    return bean(Inbox.class);
  }

  TransactionTemplate transaction() {
    return new TransactionTemplate(bean(PlatformTransactionManager.class));
  }

  /** Accepts an order and runs whatever can run. */
  void handle(int number) {
    inbox().accept("orders", order(number));
    inbox().drain();
  }

  /** How the order stands with the handler that most of these tests have. */
  DeliveryView delivery(int number) {
    return inbox().find("orders", "m-" + number, "reserve-stock").orElseThrow();
  }

  /** What this class logs from now on. */
  static ListAppender<ILoggingEvent> logOf(Class<?> type) {
    ListAppender<ILoggingEvent> log = new ListAppender<>();
    log.start();
    ((Logger) LoggerFactory.getLogger(type)).addAppender(log);
    return log;
  }

  static Message order(int number) {
    return Message.of("m-" + number, new OrderPlaced("o-" + number, "c-" + number % 3));
  }

  static List<TestDatabase> servers() {
    return TestDatabases.servers();
  }

  long effects() {
    return database.count("SELECT count(*) FROM effect");
  }

  long notes() {
    return database.count("SELECT count(*) FROM note");
  }

  long completed() {
    return rows("pigeonhole_receipt");
  }

  /** H2 would look for the name in capitals. */
  long rows(String table) {
    String quote = database.kind() == DatabaseKind.MARIADB ? "`" : "\"";
    return database.count("SELECT count(*) FROM " + quote + table + quote);
  }

  @Override
  public void close() {
    context.close();
    database.close();
  }

  /** What every application of these tests has, but for the inbox. */
  @Configuration(proxyBeanMethods = false)
  @EnableTransactionManagement
  static class Basics {
    @Bean
    JdbcTemplate jdbc(DataSource dataSource) {
      return new JdbcTemplate(dataSource);
    }

    @Bean
    ChannelBuilder orders() {
      return Channel.named("orders");
    }

    @Bean
    JdbcStore store(
        DataSource dataSource, TestDatabase database, ObjectProvider<InstantSource> clock) {
      JdbcStore store = JdbcStore.of(dataSource).beatsOn(database.dataSource());
      InstantSource chosen = clock.getIfAvailable();
      return chosen == null ? store : store.clock(chosen);
    }

    @Bean
    SpringInboxes inboxes() {
      return new SpringInboxes();
    }
  }

  /** Time stands still, so that nothing that waits for a retry is due before a test has looked. */
  @Configuration(proxyBeanMethods = false)
  static class Frozen {
    @Bean
    InstantSource clock() {
      return InstantSource.fixed(Instant.now());
    }
  }

  /** An inbox that is driven by hand. */
  @Configuration(proxyBeanMethods = false)
  static class WithInbox {
    @Bean
    Inbox inbox(SpringInboxes inboxes, JdbcStore store, PlatformTransactionManager manager) {
      return inboxes.on(store, manager).named("shop").lanes(4).concurrency(8).build();
    }

    @Bean
    InboxTemplate template(Inbox inbox, JdbcStore store) {
      return InboxTemplate.of(inbox, store);
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Running {
    @Bean
    PigeonholeLifecycle running(Inbox inbox) {
      return PigeonholeLifecycle.of(inbox.name(), inbox::start);
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Jdbc {
    @Bean
    PlatformTransactionManager manager(DataSource dataSource) {
      return new JdbcTransactionManager(dataSource);
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Jpa {
    @Bean
    LocalContainerEntityManagerFactoryBean entities(DataSource dataSource) {
      LocalContainerEntityManagerFactoryBean factory = new LocalContainerEntityManagerFactoryBean();
      factory.setDataSource(dataSource);
      factory.setPackagesToScan("dev.pigeonhole.spring");
      factory.setJpaVendorAdapter(new HibernateJpaVendorAdapter());
      factory.setJpaPropertyMap(Map.of("hibernate.hbm2ddl.auto", "none"));
      return factory;
    }

    @Bean
    PlatformTransactionManager manager(EntityManagerFactory entities) {
      return new JpaTransactionManager(entities);
    }
  }
}
