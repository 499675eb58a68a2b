package dev.pigeonhole.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dev.pigeonhole.Channel;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxBuilder;
import dev.pigeonhole.Message;
import dev.pigeonhole.Received;
import dev.pigeonhole.admin.Count;
import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.outbox.Outbox;
import dev.pigeonhole.spring.GuardTemplate;
import dev.pigeonhole.spring.IdempotentMethod;
import dev.pigeonhole.spring.InboxHandler;
import dev.pigeonhole.spring.InboxTemplate;
import dev.pigeonhole.spring.PigeonholeLifecycle;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import dev.pigeonhole.testkit.MemoryQueue;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionTemplate;

/** An application with an inbox on each of its databases. */
class SeveralInboxesTest {
  private static final Duration LONG = Duration.ofMinutes(5);
  private static final String[] TWO = {
    "pigeonhole.inboxes.shop.data-source=ordersDatabase",
    "pigeonhole.inboxes.shop.transaction-manager=ordersManager",
    "pigeonhole.inboxes.shop.channels=orders",
    "pigeonhole.inboxes.parcels.data-source=parcelsDatabase",
    "pigeonhole.inboxes.parcels.transaction-manager=parcelsManager"
  };

  record Order(String id) {}

  record Parcel(String id) {}

  @Test
  void eachHasItsOwnDatabaseManagerAndHandlers() {
    try (TestDatabase orders = TestDatabases.open(DatabaseKind.POSTGRES);
        TestDatabase parcels = TestDatabases.open(DatabaseKind.MARIADB)) {
      orders.execute("CREATE TABLE reserved (id VARCHAR(20) PRIMARY KEY)");
      parcels.execute("CREATE TABLE sent (id VARCHAR(20) PRIMARY KEY)");
      AutoConfigurationTest.runner()
          .withBean("ordersDatabase", DataSource.class, () -> orders.pool(20))
          .withBean("parcelsDatabase", DataSource.class, () -> parcels.pool(20))
          .withUserConfiguration(Managers.class, Handlers.class)
          .withPropertyValues(
              "pigeonhole.jdbc.initialize-schema=always",
              "pigeonhole.inbox.background-processing=true",
              "pigeonhole.inbox.beat=100ms",
              "pigeonhole.inbox.dead-after=2s",
              "pigeonhole.inboxes.shop.data-source=ordersDatabase",
              "pigeonhole.inboxes.shop.transaction-manager=ordersManager",
              "pigeonhole.inboxes.shop.channels=orders",
              "pigeonhole.inboxes.parcel-service.data-source=parcelsDatabase",
              "pigeonhole.inboxes.parcel-service.transaction-manager=parcelsManager",
              "pigeonhole.inboxes.parcel-service.table-prefix=own_",
              "pigeonhole.inboxes.parcel-service.retry.max-attempts=1")
          .run(
              context -> {
                assertThat(context).hasNotFailed().doesNotHaveBean("pigeonholeInbox");
                Inbox shop = context.getBean("shopInbox", Inbox.class);
                Inbox service = context.getBean("parcelServiceInbox", Inbox.class);
                assertThat(shop.name()).isEqualTo("shop");
                assertThat(service.name()).isEqualTo("parcel-service");

                inTransaction(
                    context,
                    "parcelsManager",
                    () ->
                        context
                            .getBean("parcelServiceInboxTemplate", InboxTemplate.class)
                            .accept("parcels", Message.of("m-1", new Parcel("p-1"))));
                shop.accept("orders", Message.of("m-1", new Order("o-1")));
                Eventually.until(LONG, () -> orders.count("SELECT count(*) FROM reserved") == 1);
                Eventually.until(LONG, () -> parcels.count("SELECT count(*) FROM sent") == 1);
                assertThat(parcels.count("SELECT count(*) FROM own_message")).isEqualTo(1);

                // Only this one gives up at once.
                service.accept("parcels", Message.of("m-2", new Parcel("too long for its column")));
                Eventually.until(
                    LONG,
                    () ->
                        service.admin().overview(Count.MOST).counts().stream()
                            .anyMatch(each -> each.poisoned().value() == 1));

                GuardTemplate guard = context.getBean("parcelServiceGuard", GuardTemplate.class);
                GuardKey key = GuardKey.of("weigh", "parcel", "p-1");
                assertThat(guard.run(key, tx -> null)).isInstanceOf(Guarded.Ran.class);
                assertThat(guard.run(key, tx -> null)).isInstanceOf(Guarded.Repeat.class);

                PigeonholeHealthIndicator health = context.getBean(PigeonholeHealthIndicator.class);
                assertThat(health.health().getStatus()).isEqualTo(Status.UP);
                assertThat(health.health().getDetails()).containsOnlyKeys("shop", "parcel-service");
                assertThat(context.getBeansOfType(PigeonholeLifecycle.class).values())
                    .hasSize(2)
                    .allMatch(PigeonholeLifecycle::isRunning);
              });
    }
  }

  @Test
  void whatOneDoesNotSayIsAsForAll() {
    PigeonholeProperties properties =
        PropertiesTest.bind(
            Map.of(
                "pigeonhole.inbox.beat", "1s",
                "pigeonhole.inbox.retry.max-delay", "7m",
                "pigeonhole.jdbc.table-prefix", "all_",
                "pigeonhole.inboxes.a.retry.initial-delay", "3s",
                "pigeonhole.inboxes.a.channels", "one,two",
                "pigeonhole.inboxes.b.beat", "500ms",
                "pigeonhole.inboxes.b.table-prefix", "b_"));

    assertThat(properties.planned())
        .extracting(
            PlannedInbox::name,
            each -> each.options().beat(),
            each -> each.options().retry().initialDelay(),
            each -> each.options().retry().maxDelay(),
            each -> each.tables().tablePrefix())
        .containsExactlyInAnyOrder(
            tuple("a", Duration.ofSeconds(1), Duration.ofSeconds(3), Duration.ofMinutes(7), "all_"),
            tuple("b", Duration.ofMillis(500), Duration.ofSeconds(2), Duration.ofMinutes(7), "b_"));
  }

  @Test
  void theRetriesOfAHandlerAreJudgedByThoseOfItsInbox() {
    two()
        .withPropertyValues(
            "pigeonhole.inboxes.shop.retry.max-delay=10m",
            "pigeonhole.handlers.reserve.retry.initial-delay=8m")
        .run(context -> assertThat(context).hasNotFailed());
    two()
        .withPropertyValues(
            "pigeonhole.inboxes.shop.retry.max-delay=10s",
            "pigeonhole.handlers.reserve.retry.initial-delay=20s",
            "pigeonhole.handlers.send.retry.max-attempts=0")
        .run(
            context ->
                problem(
                    context,
                    "PH-CFG-04: pigeonhole.handlers.reserve.retry.max-delay is 10s. Use at least"
                        + " the initial-delay of 20s.",
                    "PH-CFG-03: pigeonhole.handlers.send.retry.max-attempts is 0."));
  }

  @Test
  void customizersSayWhichOneTheyMean() {
    two()
        .withBean(
            InboxCustomizer.class,
            () ->
                new InboxCustomizer() {
                  @Override
                  public boolean isFor(String inbox) {
                    return inbox.equals("shop");
                  }

                  @Override
                  public void customize(InboxBuilder inbox) {
                    inbox.channel(
                        Channel.named("more").on(String.class).handle("more", each -> {}).build());
                  }
                })
        .run(
            context -> {
              context.getBean("shopInbox", Inbox.class).accept("more", Message.of("m-1", "text"));
              assertThat(context.getBean("parcelsInbox", Inbox.class).drain()).isZero();
            });
  }

  @Test
  void builtChannelsGoWhereTheyAreNamed() {
    two()
        .withBean(
            Channel.class,
            () -> Channel.named("built").on(String.class).handle("built", each -> {}).build())
        .withPropertyValues("pigeonhole.inboxes.parcels.channels=built,parcels")
        .run(
            context -> {
              assertThat(context).hasNotFailed();
              Inbox parcels = context.getBean("parcelsInbox", Inbox.class);
              parcels.accept("built", Message.of("m-1", "text"));
              assertThat(parcels.drain()).isEqualTo(1);
            });
  }

  @Test
  void twoNamesThatWouldBeOneBeanAreRefused() {
    AutoConfigurationTest.runner()
        .withUserConfiguration(Plain.class)
        .withPropertyValues(
            "pigeonhole.inboxes.order-events.channels=orders",
            "pigeonhole.inboxes.orderEvents.table-prefix=second_")
        .run(
            context ->
                problem(
                    context,
                    "PH-SPR-03: pigeonhole.inboxes.order",
                    "would both be the bean orderEventsInbox. Rename one."));
  }

  @Test
  void twoOnOneDatabaseNeedTwoSetsOfTables() {
    ApplicationContextRunner one =
        AutoConfigurationTest.runner()
            .withUserConfiguration(Plain.class)
            .withPropertyValues(
                "pigeonhole.inboxes.shop.channels=orders", "pigeonhole.inboxes.parcels.lanes=8");
    one.run(
        context ->
            problem(
                context,
                "PH-CFG-12: pigeonhole.inboxes.",
                "have the same tables. Give one of them another data-source, database-schema or"
                    + " table-prefix."));
    one.withPropertyValues("pigeonhole.inboxes.parcels.table-prefix=second_")
        .run(
            context -> {
              assertThat(context).hasNotFailed();
              assertThat(context.getBeansOfType(JdbcStore.class)).hasSize(2);
              Inbox parcels = context.getBean("parcelsInbox", Inbox.class);
              parcels.accept("parcels", Message.of("m-1", new Parcel("p-1")));
              assertThat(parcels.drain()).isEqualTo(1);
            });
  }

  @Test
  void whatIsWrongIsToldByTheNameOfTheProperty() {
    two()
        .withPropertyValues("pigeonhole.inboxes.parcels.data-source=parcelDatabase")
        .run(
            context ->
                problem(
                    context,
                    "PH-SPR-03: pigeonhole.inboxes.parcels.data-source is parcelDatabase, and there"
                        + " is no bean of DataSource with that name. Known are: ordersDatabase,"
                        + " parcelsDatabase."));
    two()
        .withPropertyValues("pigeonhole.inboxes.parcels.transaction-manager=nobody")
        .run(
            context ->
                problem(
                    context,
                    "PH-SPR-03: pigeonhole.inboxes.parcels.transaction-manager is nobody",
                    "Known are: ordersManager, parcelsManager."));
    two()
        .withPropertyValues("pigeonhole.inboxes.parcels.transaction-manager=ordersManager")
        .run(context -> problem(context, "PH-TX-10: The transaction manager of an inbox: "));
    two()
        .withPropertyValues("pigeonhole.inboxes.shop.channels=orders,order")
        .run(
            context ->
                problem(
                    context,
                    "PH-CFG-17: pigeonhole.inboxes.shop.channels: there is no channel 'order'."
                        + " Known are: orders, parcels."));
    two()
        .withPropertyValues("pigeonhole.inboxes.parcels.channels=orders")
        .run(context -> problem(context, "PH-CFG-15: pigeonhole.inboxes.", "both take 'orders'"));
    two()
        .withPropertyValues("pigeonhole.inboxes.shop.channels=orders,parcels")
        .run(context -> problem(context, "PH-CFG-19: pigeonhole.inboxes.parcels has no channel"));
    two()
        .withPropertyValues("pigeonhole.inboxes.third.table-prefix=third_")
        .run(context -> problem(context, "PH-CFG-15: pigeonhole.inboxes.", "what is left"));
    two()
        .withPropertyValues("pigeonhole.inboxes.shop.lanes=0")
        .run(context -> problem(context, "PH-CFG-05: pigeonhole.inboxes.shop.lanes is 0."));
    two()
        .withPropertyValues("pigeonhole.outbox.enabled=true")
        .run(context -> problem(context, "PH-CFG-16: pigeonhole.outbox.enabled: "));
    two()
        .withPropertyValues("pigeonhole.inboxes.parcels.channels=parcels")
        .withUserConfiguration(Homeless.class)
        .run(
            context ->
                problem(context, "PH-CFG-08: Handler method ", "no inbox has taken its channel"));
  }

  @Test
  void aStoreThatDoesNotAnswerHidesNoOther() {
    two()
        .run(
            context -> {
              context
                  .getBean("parcelsDatabase", DriverManagerDataSource.class)
                  .setUrl("jdbc:h2:mem:gone;IFEXISTS=TRUE");
              Health health = context.getBean(PigeonholeHealthIndicator.class).health();
              assertThat(health.getStatus()).isEqualTo(Status.DOWN);
              assertThat(health.getDetails().get("shop").toString()).contains("poisoned=0");
              assertThat(health.getDetails().get("parcels").toString()).contains("store=PH-DB-");
            });
  }

  @Test
  void methodsThatRunOnceNameTheGuardOfTheirDatabase() {
    List<String> done = new ArrayList<>();
    two()
        .withBean(Once.class, () -> new Once(done))
        .run(
            context -> {
              assertThat(context).hasNotFailed();
              Once once = context.getBean(Once.class);
              for (String each : List.of("o-1", "o-1", "o-2")) {
                once.charge(new Order(each));
                once.weigh(new Parcel("p-1"));
              }
              assertThat(done).containsExactly("o-1", "p-1", "o-2");
              assertThat(rows(context, "ordersDatabase", "pigeonhole_receipt")).isEqualTo(2);
              assertThat(rows(context, "parcelsDatabase", "pigeonhole_receipt")).isEqualTo(1);
            });
    two()
        .withBean(NoGuardNamed.class)
        .run(
            context ->
                problem(
                    context,
                    "PH-SPR-02: Idempotent method charge(Order)",
                    "there is no single bean of GuardTemplate for it, so every repeat would run."
                        + " Declare one, or name one with guard = \"…\""));
  }

  @Test
  void aChildContextUsesTheInboxesOfItsParent() {
    List<String> done = new ArrayList<>();
    two()
        .run(
            parent -> {
              childOf(parent)
                  .withBean(Once.class, () -> new Once(done))
                  .run(
                      child -> {
                        assertThat(child).hasNotFailed();
                        Once once = child.getBean(Once.class);
                        once.charge(new Order("o-1"));
                        once.charge(new Order("o-1"));
                        once.weigh(new Parcel("p-1"));
                        once.weigh(new Parcel("p-1"));
                        assertThat(done).containsExactly("o-1", "p-1");
                        assertThat(child.getBean("shopInbox"))
                            .isSameAs(parent.getBean("shopInbox"));
                      });
              childOf(parent)
                  .withUserConfiguration(Homeless.class)
                  .run(
                      child ->
                          problem(
                              child,
                              "PH-CFG-08: Handler method ",
                              "no inbox has taken its channel 'elsewhere'"));
            });
  }

  private static ApplicationContextRunner childOf(AssertableApplicationContext parent) {
    return AutoConfigurationTest.runner()
        .withParent(parent.getSourceApplicationContext())
        .withPropertyValues(TWO);
  }

  @Test
  void anOutboxOnOneOfTheStoresIsABean() {
    two()
        .withBean(SimpleMeterRegistry.class)
        .withUserConfiguration(ShopOutbox.class)
        .run(
            context -> {
              assertThat(context).hasNotFailed();
              Inbox shop = context.getBean("shopInbox", Inbox.class);
              shop.accept("orders", Message.of("m-1", new Cart("o-1")));
              shop.drain();
              assertThat(rows(context, "ordersDatabase", "pigeonhole_out_message")).isEqualTo(1);

              Outbox outbox = context.getBean(Outbox.class);
              assertThat(context.getBean(PigeonholeHealthIndicator.class).health().getDetails())
                  .containsOnlyKeys("shop", "parcels", "shop-out");
              assertThat(
                      context
                          .getBean(MeterRegistry.class)
                          .get("pigeonhole.outbox.lanes")
                          .tag("outbox", "shop-out")
                          .gauges())
                  .isNotEmpty();
              assertThat(outbox.drain()).isEqualTo(1);
              assertThat(context.getBean(MemoryQueue.class).size()).isEqualTo(1);
            });
  }

  private static int rows(AssertableApplicationContext context, String database, String table) {
    return Objects.requireNonNull(
        new JdbcTemplate(context.getBean(database, DataSource.class))
            .queryForObject("SELECT count(*) FROM \"%s\"".formatted(table), Integer.class));
  }

  private static void problem(AssertableApplicationContext context, String... texts) {
    Throwable root = context.getStartupFailure();
    assertThat(root).isNotNull();
    while (root.getCause() != null) {
      root = root.getCause();
    }
    assertThat(root).hasMessageContainingAll(texts);
  }

  private static void inTransaction(
      AssertableApplicationContext context, String manager, Runnable work) {
    new TransactionTemplate(context.getBean(manager, PlatformTransactionManager.class))
        .executeWithoutResult(status -> work.run());
  }

  private static ApplicationContextRunner two() {
    return AutoConfigurationTest.runner()
        .withBean("ordersDatabase", DataSource.class, SeveralInboxesTest::memory)
        .withBean("parcelsDatabase", DataSource.class, SeveralInboxesTest::memory)
        .withUserConfiguration(Managers.class, Plain.class)
        .withPropertyValues(TWO);
  }

  private static DataSource memory() {
    return new DriverManagerDataSource(
        "jdbc:h2:mem:%s;DB_CLOSE_DELAY=-1".formatted(UUID.randomUUID()));
  }

  @Configuration(proxyBeanMethods = false)
  static class Managers {
    @Bean
    PlatformTransactionManager ordersManager(@Qualifier("ordersDatabase") DataSource database) {
      return new JdbcTransactionManager(database);
    }

    @Bean
    PlatformTransactionManager parcelsManager(@Qualifier("parcelsDatabase") DataSource database) {
      return new JdbcTransactionManager(database);
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Handlers {
    @Bean
    Stock stock(@Qualifier("ordersDatabase") DataSource database) {
      return new Stock(new JdbcTemplate(database));
    }

    @Bean
    Parcels parcels(@Qualifier("parcelsDatabase") DataSource database) {
      return new Parcels(new JdbcTemplate(database));
    }
  }

  static class Stock {
    private final JdbcTemplate jdbc;

    Stock(JdbcTemplate jdbc) {
      this.jdbc = jdbc;
    }

    @InboxHandler(channel = "orders", key = "reserve")
    @Transactional("ordersManager")
    public void reserve(Order order) {
      jdbc.update("INSERT INTO reserved (id) VALUES (?)", order.id());
    }
  }

  static class Parcels {
    private final JdbcTemplate jdbc;

    Parcels(JdbcTemplate jdbc) {
      this.jdbc = jdbc;
    }

    @InboxHandler(channel = "parcels", key = "send")
    @Transactional("parcelsManager")
    public void send(Parcel parcel) {
      jdbc.update("INSERT INTO sent (id) VALUES (?)", parcel.id());
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Plain {
    @InboxHandler(channel = "orders", key = "reserve")
    void reserve(Order order) {}

    @InboxHandler(channel = "parcels", key = "send")
    void send(Parcel parcel) {}
  }

  static class Once {
    private final List<String> done;

    Once(List<String> done) {
      this.done = done;
    }

    @IdempotentMethod(handler = "charge", key = "#order.id", guard = "shopGuard")
    public void charge(Order order) {
      done.add(order.id());
    }

    @IdempotentMethod(handler = "weigh", key = "#parcel.id", guard = "parcelsGuard")
    public void weigh(Parcel parcel) {
      done.add(parcel.id());
    }
  }

  static class NoGuardNamed {
    @IdempotentMethod(handler = "charge", key = "#order.id")
    public void charge(Order order) {}
  }

  record Cart(String order) {}

  @Configuration(proxyBeanMethods = false)
  static class ShopOutbox {
    @Bean
    MemoryQueue queue() {
      return MemoryQueue.named("placed");
    }

    @Bean
    Outbox shopOutbox(
        @Qualifier("shopInboxStore") JdbcStore store, MemoryQueue queue, PayloadCodec codec) {
      return Outbox.on(store)
          .named("shop-out")
          .codec(codec)
          .route(Order.class, queue.transport())
          .build();
    }

    @Bean
    InboxCustomizer outboxOfShop(Outbox outbox) {
      return new InboxCustomizer() {
        @Override
        public boolean isFor(String inbox) {
          return inbox.equals("shop");
        }

        @Override
        public void customize(InboxBuilder inbox) {
          inbox.outbox(outbox);
        }
      };
    }

    @InboxHandler(channel = "orders", key = "place")
    void place(Received<Cart> cart) {
      cart.publish(Message.of("o-1", new Order(cart.payload().order())));
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Homeless {
    @InboxHandler(channel = "elsewhere", key = "nobody")
    void nobody(Order order) {}
  }
}
