package dev.pigeonhole.examples.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.ChannelBuilder;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.OnConflict;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.spring.GuardTemplate;
import dev.pigeonhole.spring.IdempotentMethod;
import dev.pigeonhole.spring.IdempotentMethods;
import dev.pigeonhole.spring.InboxHandler;
import dev.pigeonhole.spring.InboxHeader;
import dev.pigeonhole.spring.InboxTemplate;
import dev.pigeonhole.spring.PigeonholeLifecycle;
import dev.pigeonhole.spring.SpringInboxes;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.time.Duration;
import java.util.Optional;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;

/** The code of docs/spring.md, in one application. */
class DocSnippetsSpringTest {
  public record Order(String id, String customer) {}

  public record Receipt(String order, String text) {}

  // snippet:spring-application
  @Configuration(proxyBeanMethods = false)
  @EnableTransactionManagement
  static class ShopConfiguration {
    @Bean
    ChannelBuilder orders() {
      return Channel.named("orders").onConflict(OnConflict.REJECT);
    }

    @Bean
    SpringInboxes inboxes() {
      return new SpringInboxes();
    }

    @Bean
    JdbcStore store(DataSource dataSource) {
      return JdbcStore.of(dataSource);
    }

    @Bean
    Inbox inbox(SpringInboxes inboxes, JdbcStore store, PlatformTransactionManager manager) {
      return inboxes.on(store, manager).named("shop").build();
    }

    @Bean
    PigeonholeLifecycle running(Inbox inbox) {
      return PigeonholeLifecycle.of(inbox.name(), inbox::start);
    }

    @Bean
    InboxTemplate inboxTemplate(Inbox inbox, JdbcStore store) {
      return InboxTemplate.of(inbox, store);
    }

    @Bean
    static IdempotentMethods idempotentMethods() {
      return new IdempotentMethods();
    }

    @Bean
    GuardTemplate guard(JdbcStore store, PlatformTransactionManager manager) {
      return GuardTemplate.on(store, manager, options -> options.named("shop"));
    }
  }

  // end

  static class Stock {
    private final JdbcTemplate jdbc;

    Stock(JdbcTemplate jdbc) {
      this.jdbc = jdbc;
    }

    // snippet:spring-handler
    @InboxHandler(channel = "orders", key = "reserve-stock", formerly = "stock-handler")
    @Transactional
    void reserve(Order order, @InboxHeader("tenant") Optional<String> tenant) {
      jdbc.update("INSERT INTO reserved (order_id) VALUES (?)", order.id());
    }
    // end
  }

  static class Checkout {
    private final JdbcTemplate jdbc;
    private final InboxTemplate inbox;

    Checkout(JdbcTemplate jdbc, InboxTemplate inbox) {
      this.jdbc = jdbc;
      this.inbox = inbox;
    }

    // snippet:spring-accept
    @Transactional
    public void place(Order order) {
      jdbc.update("INSERT INTO orders (id) VALUES (?)", order.id());
      inbox.accept("orders", Message.of(order.id(), order));
    }

    // end

    // snippet:spring-idempotent
    @IdempotentMethod(handler = "charge-card", key = "#order.id")
    public Receipt charge(Order order) {
      jdbc.update("INSERT INTO charged (order_id) VALUES (?)", order.id());
      return new Receipt(order.id(), "thank you");
    }
    // end
  }

  private static AnnotationConfigApplicationContext application(TestDatabase database) {
    Schema.migrate(database.dataSource());
    database.execute("CREATE TABLE orders (id VARCHAR(20) PRIMARY KEY)");
    database.execute("CREATE TABLE reserved (order_id VARCHAR(20) NOT NULL)");
    database.execute("CREATE TABLE charged (order_id VARCHAR(20) NOT NULL)");
    DataSource pool = database.pool(20);
    AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();
    context.registerBean(DataSource.class, () -> pool);
    context.registerBean(JdbcTemplate.class, () -> new JdbcTemplate(pool));
    context.registerBean(PlatformTransactionManager.class, () -> new JdbcTransactionManager(pool));
    context.register(ShopConfiguration.class, Stock.class, Checkout.class);
    context.refresh();
    return context;
  }

  @Test
  void theApplicationWorks() {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES);
        AnnotationConfigApplicationContext context = application(database)) {
      Checkout checkout = context.getBean(Checkout.class);
      Order order = new Order("o-1", "c-1");
      checkout.place(order);
      Eventually.until(
          Duration.ofMinutes(5), () -> database.count("SELECT count(*) FROM reserved") == 1);

      assertThat(checkout.charge(order)).isEqualTo(checkout.charge(order));
      assertThat(database.count("SELECT count(*) FROM charged")).isEqualTo(1);
    }
  }
}
