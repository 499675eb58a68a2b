package dev.pigeonhole.examples.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.jackson.JacksonCodec;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.spring.GuardTemplate;
import dev.pigeonhole.spring.IdempotentMethod;
import dev.pigeonhole.spring.IdempotentMethods;
import dev.pigeonhole.spring.InboxHandler;
import dev.pigeonhole.spring.InboxTemplate;
import dev.pigeonhole.spring.SpringInboxes;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.time.Duration;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.modulith.events.ApplicationModuleListener;
import org.springframework.modulith.events.IncompleteEventPublications;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import tools.jackson.databind.json.JsonMapper;

/** The page about coming from Spring Modulith, with its real registry on a real database. */
class DocSnippetsModulithTest {
  private static final Duration LONG = Duration.ofMinutes(2);
  private static final String LISTENER = "inventory.on-order-completed";

  record OrderCompleted(String order) {}

  /** What both versions have. */
  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @EnableAsync
  @EnableTransactionManagement
  static class Both {
    @Bean
    JdbcTemplate jdbc(DataSource dataSource) {
      return new JdbcTemplate(dataSource);
    }

    @Bean
    PlatformTransactionManager manager(DataSource dataSource) {
      return new JdbcTransactionManager(dataSource);
    }

    @Bean
    JsonMapper json() {
      return JsonMapper.shared();
    }
  }

  /** Before: the listener fails for one order, whose publication stays incomplete. */
  static class FormerInventory {
    private final JdbcTemplate jdbc;

    FormerInventory(JdbcTemplate jdbc) {
      this.jdbc = jdbc;
    }

    @ApplicationModuleListener(id = LISTENER)
    public void on(OrderCompleted event) {
      jdbc.update("INSERT INTO reserved (order_id) VALUES (?)", event.order());
      if (event.order().equals("o-2")) {
        throw new IllegalStateException("no such article");
      }
    }
  }

  static class FormerOrders {
    private final ApplicationEventPublisher events;

    FormerOrders(ApplicationEventPublisher events) {
      this.events = events;
    }

    @Transactional
    public void complete(String order) {
      events.publishEvent(new OrderCompleted(order));
    }
  }

  static class Orders {
    private final InboxTemplate inbox;
    private final JdbcTemplate jdbc;

    Orders(InboxTemplate inbox, JdbcTemplate jdbc) {
      this.inbox = inbox;
      this.jdbc = jdbc;
    }

    // snippet:modulith-publish
    @Transactional
    public void complete(String order) {
      jdbc.update("UPDATE orders SET state = 'completed' WHERE id = ?", order);
      // was: events.publishEvent(new OrderCompleted(order));
      inbox.accept("orders", Message.of("completed:" + order, new OrderCompleted(order)));
    }
    // end
  }

  static class Stock {
    private final JdbcTemplate jdbc;

    Stock(JdbcTemplate jdbc) {
      this.jdbc = jdbc;
    }

    private void reserve(String order) {
      jdbc.update("INSERT INTO reserved (order_id) VALUES (?)", order);
    }

    // snippet:modulith-handler
    @InboxHandler(channel = "orders", key = "reserve-stock")
    @Transactional
    public void reserve(OrderCompleted event) {
      reserve(event.order());
    }

    /** For what the registry still has. */
    @IdempotentMethod(handler = "reserve-stock-left", key = "#event.order")
    public void reserveWhatIsLeft(OrderCompleted event) {
      reserve(event.order());
    }
    // end
  }

  static class Inventory {
    private final Stock stock;

    Inventory(Stock stock) {
      this.stock = stock;
    }

    // snippet:modulith-listener
    @ApplicationModuleListener(id = "inventory.on-order-completed")
    public void on(OrderCompleted event) {
      stock.reserveWhatIsLeft(event);
    }
    // end
  }

  static class Drain {
    private final IncompleteEventPublications incomplete;

    Drain(IncompleteEventPublications incomplete) {
      this.incomplete = incomplete;
    }

    // snippet:modulith-drain
    /** Once, on one node, when no node of the former version runs any more. */
    public void drain() {
      incomplete.resubmitIncompletePublications(publication -> true);
    }
    // end
  }

  @Configuration(proxyBeanMethods = false)
  static class WithInbox {
    @Bean
    SpringInboxes inboxes() {
      return new SpringInboxes().otherChannels(name -> dev.pigeonhole.Channel.named(name));
    }

    @Bean
    JdbcStore store(DataSource dataSource) {
      return JdbcStore.of(dataSource);
    }

    @Bean
    Inbox inbox(SpringInboxes inboxes, JdbcStore store, PlatformTransactionManager manager) {
      return inboxes
          .on(store, manager)
          .named("shop")
          .lanes(4)
          .concurrency(2)
          .codec(JacksonCodec.create())
          .build();
    }

    @Bean
    InboxTemplate template(Inbox inbox, JdbcStore store) {
      return InboxTemplate.of(inbox, store);
    }

    @Bean
    static IdempotentMethods idempotentMethods() {
      return new IdempotentMethods();
    }

    @Bean
    GuardTemplate guard(JdbcStore store, PlatformTransactionManager manager) {
      return GuardTemplate.on(store, manager, options -> options.named("shop").lanes(4));
    }
  }

  private static AnnotationConfigApplicationContext run(TestDatabase database, Class<?>... beans) {
    AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();
    context.registerBean(DataSource.class, () -> database.pool(16));
    context.register(Both.class);
    context.register(beans);
    context.refresh();
    return context;
  }

  private static long reserved(TestDatabase database, String order) {
    return database.count("SELECT count(*) FROM reserved WHERE order_id = ?", order);
  }

  private static long left(TestDatabase database) {
    return database.count("SELECT count(*) FROM event_publication WHERE completion_date IS NULL");
  }

  @Test
  void whatTheRegistryHasLeftIsHandledOnceAndEverythingNewByTheInbox() {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES)) {
      Schema.migrate(database.dataSource());
      database.execute("CREATE TABLE reserved (order_id VARCHAR(20) NOT NULL)");
      database.execute("CREATE TABLE orders (id VARCHAR(20) PRIMARY KEY, state VARCHAR(20))");
      try (AnnotationConfigApplicationContext before =
          run(database, FormerInventory.class, FormerOrders.class)) {
        before.getBean(FormerOrders.class).complete("o-1");
        Eventually.until(LONG, () -> reserved(database, "o-1") == 1 && left(database) == 0);
        before.getBean(FormerOrders.class).complete("o-2");
        assertThat(left(database)).isEqualTo(1);
      }
      assertThat(reserved(database, "o-2")).as("it failed").isZero();

      try (AnnotationConfigApplicationContext after =
          run(database, WithInbox.class, Orders.class, Stock.class, Inventory.class, Drain.class)) {
        after.getBean(Drain.class).drain();
        Eventually.until(LONG, () -> left(database) == 0);
        assertThat(reserved(database, "o-2")).isEqualTo(1);

        // As if the process had died after the listener's commit, before the registry was told.
        database.execute(
            "UPDATE event_publication SET completion_date = NULL, status = 'FAILED'"
                + " WHERE serialized_event LIKE '%o-2%'");
        after.getBean(Drain.class).drain();
        Eventually.until(LONG, () -> left(database) == 0);
        assertThat(reserved(database, "o-2")).isEqualTo(1);

        after.getBean(Orders.class).complete("o-3");
        after.getBean(Inbox.class).drain();
        assertThat(reserved(database, "o-3")).isEqualTo(1);
        assertThat(left(database)).as("nothing new goes to the registry").isZero();
        assertThat(database.count("SELECT count(*) FROM event_publication")).isEqualTo(2);
      }
    }
  }
}
