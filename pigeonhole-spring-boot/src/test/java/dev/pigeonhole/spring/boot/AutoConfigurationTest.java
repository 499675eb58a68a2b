package dev.pigeonhole.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.ChannelBuilder;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.OnConflict;
import dev.pigeonhole.Received;
import dev.pigeonhole.admin.DeliverySelection;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.jackson.Jackson2Codec;
import dev.pigeonhole.jackson.JacksonCodec;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.lease.GuardStore;
import dev.pigeonhole.outbox.Outbox;
import dev.pigeonhole.spring.GuardTemplate;
import dev.pigeonhole.spring.IdempotentMethod;
import dev.pigeonhole.spring.IdempotentMethods;
import dev.pigeonhole.spring.InboxHandler;
import dev.pigeonhole.spring.InboxTemplate;
import dev.pigeonhole.spring.OutboxTemplate;
import dev.pigeonhole.spring.PigeonholeLifecycle;
import dev.pigeonhole.spring.SpringInboxes;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.testkit.MemoryGuardStore;
import dev.pigeonhole.testkit.MemoryQueue;
import dev.pigeonhole.testkit.MemoryStore;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.actuate.info.Info;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.sql.init.dependency.DependsOnDatabaseInitialization;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Primary;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionTemplate;

/** Which beans there are, and when they keep away. */
@ExtendWith(OutputCaptureExtension.class)
class AutoConfigurationTest {
  private static final Duration LONG = Duration.ofMinutes(5);

  static ApplicationContextRunner runner() {
    return new ApplicationContextRunner()
        .withConfiguration(
            AutoConfigurations.of(
                DataSourceAutoConfiguration.class,
                DataSourceTransactionManagerAutoConfiguration.class,
                TransactionAutoConfiguration.class,
                JacksonAutoConfiguration.class,
                PigeonholeAutoConfiguration.class,
                PigeonholeCodecAutoConfiguration.class,
                PigeonholeOutboxAutoConfiguration.class,
                PigeonholeOutboxNowhereAutoConfiguration.class,
                PigeonholeSourcesAutoConfiguration.class,
                PigeonholeActuatorAutoConfiguration.class,
                PigeonholeMetricsAutoConfiguration.class))
        .withPropertyValues(
            "spring.datasource.url=jdbc:h2:mem:%s;DB_CLOSE_DELAY=-1".formatted(UUID.randomUUID()),
            "spring.liquibase.enabled=false",
            "pigeonhole.inbox.background-processing=false");
  }

  @Test
  void anApplicationWithAHandlerGetsAllThatItNeeds() {
    runner()
        .withUserConfiguration(Handling.class)
        .run(
            context -> {
              assertThat(context)
                  .hasNotFailed()
                  .hasBean("pigeonholeInbox")
                  .hasBean("pigeonholeJdbcStore")
                  .hasBean("pigeonholeHandlerRegistry")
                  .hasBean("pigeonholeSchemaInitializer")
                  .hasBean("pigeonholeInboxProcessor")
                  .hasSingleBean(InboxTemplate.class)
                  .hasSingleBean(GuardTemplate.class)
                  .hasSingleBean(IdempotentMethods.class)
                  .doesNotHaveBean("pigeonholeOutbox");
              assertThat(context.getBean(PigeonholeLifecycle.class).getPhase())
                  .isEqualTo(Integer.MAX_VALUE - 1000);
              Inbox inbox = context.getBean(Inbox.class);
              inbox.accept("orders", Message.of("m-1", new Order("o-1")));
              inbox.drain();
              assertThat(context.getBean(Handling.class).seen).containsExactly("o-1");
            });
  }

  @Test
  void anApplicationWithoutHandlersStartsWithoutInboxAndWithoutTables() {
    runner()
        .withPropertyValues("pigeonhole.jdbc.initialize-schema=never")
        .run(
            context ->
                assertThat(context)
                    .hasNotFailed()
                    .doesNotHaveBean(Inbox.class)
                    .doesNotHaveBean(PigeonholeLifecycle.class));
  }

  @Test
  void anApplicationWithoutDataSourceAndWithoutHandlersGetsNothing() {
    withoutDatabase()
        .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(Inbox.class));
    withoutDatabase()
        .withUserConfiguration(Handling.class)
        .withPropertyValues("pigeonhole.inbox.enabled=false")
        .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(Inbox.class));
  }

  @Test
  void handlersThatNoInboxCanTakeRefuseToStart() {
    withoutDatabase()
        .withUserConfiguration(Handling.class)
        .run(
            context ->
                assertThat(context)
                    .getFailure()
                    .hasMessageStartingWith(
                        "PH-SPR-03: There are handlers or channels, and no bean")
                    .hasMessageContaining("Add spring-boot-starter-jdbc"));
    withoutDatabase()
        .withUserConfiguration(Handling.class)
        .withBean(InboxStore.class, MemoryStore::create)
        .withPropertyValues("pigeonhole.inboxes.shop.lanes=2")
        .run(
            context ->
                assertThat(context)
                    .getFailure()
                    .hasMessageStartingWith("PH-SPR-03: Each inbox below pigeonhole.inboxes has a")
                    .hasMessageContaining("Declare what they name."));
  }

  @Test
  void aStoreOfOnesOwnHasAnInboxWithoutTransactions() {
    withoutDatabase()
        .withUserConfiguration(Handling.class)
        .withBean(InboxStore.class, MemoryStore::create)
        .withPropertyValues("pigeonhole.inbox.background-processing=false")
        .run(
            context -> {
              assertThat(context)
                  .hasNotFailed()
                  .doesNotHaveBean(InboxTemplate.class)
                  .doesNotHaveBean(GuardTemplate.class);
              Inbox inbox = context.getBean(Inbox.class);
              inbox.accept("orders", Message.of("m-1", new Order("o-1")));
              inbox.accept("orders", Message.of("m-1", new Order("o-1")));
              inbox.drain();
              assertThat(context.getBean(Handling.class).seen).containsExactly("o-1");
            });
    withoutDatabase()
        .withUserConfiguration(TransactionalHandling.class)
        .withBean(InboxStore.class, MemoryStore::create)
        .run(
            context ->
                assertThat(context)
                    .getFailure()
                    .rootCause()
                    .hasMessageContaining("takes part in no transaction. Use a JdbcStore"));
  }

  @Test
  void aStoreOfOnesOwnIsWatchedLikeADatabase() {
    ApplicationContextRunner watched =
        withoutDatabase()
            .withPropertyValues(
                "pigeonhole.inbox.background-processing=false",
                "management.endpoints.web.exposure.include=pigeonhole");
    watched
        .withUserConfiguration(Handling.class)
        .withBean(InboxStore.class, MemoryStore::create)
        .run(
            context -> {
              context.getBean(Inbox.class).accept("orders", Message.of("m-1", new Order("o-1")));
              PigeonholeEndpoint.Standing standing =
                  context.getBean(PigeonholeEndpoint.class).all().get("inbox");
              assertThat(standing.handlers().get("see").pending()).isEqualTo(1);
              assertThat(context.getBean(PigeonholeHealthIndicator.class).health().getStatus())
                  .isEqualTo(Status.UP);
              Info.Builder info = new Info.Builder();
              context.getBean(PigeonholeInfoContributor.class).contribute(info);
              assertThat(info.build().get("pigeonhole").toString()).contains("store=memory");
            });
    watched
        .withUserConfiguration(OwnInboxOnAStoreThatIsNoBean.class)
        .run(
            context -> {
              assertThat(context.getBean(PigeonholeEndpoint.class).all()).containsKey("inbox");
              assertThat(context.getBean(PigeonholeHealthIndicator.class).health().getDetails())
                  .containsKey("inbox");
            });
  }

  @Test
  void anOutboxWithoutADatabaseIsRefused() {
    ApplicationContextRunner asked =
        withoutDatabase().withPropertyValues("pigeonhole.outbox.enabled=true");
    for (ApplicationContextRunner each :
        List.of(
            asked,
            asked
                .withUserConfiguration(Handling.class)
                .withBean(InboxStore.class, MemoryStore::create))) {
      each.run(
          context ->
              assertThat(context)
                  .getFailure()
                  .hasMessageStartingWith("PH-SPR-05: pigeonhole.outbox.enabled is true, and there")
                  .hasMessageContaining("Add spring-boot-starter-jdbc"));
    }
  }

  @Test
  void methodsThatNothingCanGuardRefuseToStart() {
    ApplicationContextRunner guarded = withoutDatabase().withUserConfiguration(Guarding.class);
    for (ApplicationContextRunner each :
        List.of(
            guarded,
            guarded.withBean(InboxStore.class, MemoryStore::create),
            guarded
                .withConfiguration(
                    AutoConfigurations.of(PigeonholeLeaseGuardAutoConfiguration.class))
                .withBean(GuardStore.class, MemoryGuardStore::create)
                .withPropertyValues("pigeonhole.lease-guard.enabled=true"))) {
      each.run(
          context ->
              assertThat(context)
                  .getFailure()
                  .hasMessageStartingWith("PH-SPR-02: Idempotent method charge(Order)")
                  .hasMessageContaining("a DataSource is enough"));
    }
    runner().withUserConfiguration(Guarding.class).run(each -> assertThat(each).hasNotFailed());
  }

  private static ApplicationContextRunner withoutDatabase() {
    return new ApplicationContextRunner()
        .withConfiguration(
            AutoConfigurations.of(
                TransactionAutoConfiguration.class,
                JacksonAutoConfiguration.class,
                PigeonholeAutoConfiguration.class,
                PigeonholeCodecAutoConfiguration.class,
                PigeonholeOutboxAutoConfiguration.class,
                PigeonholeOutboxNowhereAutoConfiguration.class,
                PigeonholeActuatorAutoConfiguration.class,
                PigeonholeMetricsAutoConfiguration.class));
  }

  @Test
  void handlersBesideAnInboxOfOnesOwnThatNobodyCanCallRefuseToStart() {
    withoutDatabase()
        .withUserConfiguration(Handling.class, OwnInboxOnAStoreThatIsNoBean.class)
        .run(
            context ->
                assertThat(context)
                    .getFailure()
                    .hasMessageStartingWith("PH-SPR-03: The bean ")
                    .hasMessageContaining("no bean of DataSource or InboxStore"));
  }

  @Test
  void theInboxCanBeSwitchedOff() {
    runner()
        .withUserConfiguration(Handling.class)
        .withPropertyValues("pigeonhole.inbox.enabled=false")
        .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(Inbox.class));
  }

  @Test
  void anInboxOfOnesOwnIsTaken() {
    runner()
        .withUserConfiguration(OwnInbox.class)
        .run(
            context ->
                assertThat(context)
                    .hasNotFailed()
                    .hasSingleBean(Inbox.class)
                    .doesNotHaveBean("pigeonholeInbox")
                    .doesNotHaveBean("pigeonholeInboxProcessor")
                    .hasSingleBean(InboxTemplate.class));
  }

  /** Our store is where nobody would read what a template accepts. */
  @Test
  void anInboxOfOnesOwnInAnotherDatabaseHasNoTemplate() {
    ApplicationContextRunner elsewhere = runner().withUserConfiguration(InboxElsewhere.class);
    elsewhere.run(context -> assertThat(context).hasNotFailed().hasSingleBean(Inbox.class));
    elsewhere
        .withBean(Accepting.class)
        .run(
            context ->
                assertThat(context)
                    .getFailure()
                    .rootCause()
                    .hasMessageStartingWith("PH-TX-10: The inbox 'inbox' is in another database"));
  }

  @Test
  void anInboxOfOnesOwnUnderTheNameOfOursIsStarted() {
    runner()
        .withUserConfiguration(OwnInboxUnderOurName.class)
        .withPropertyValues("pigeonhole.inbox.background-processing=true")
        .run(
            context -> assertThat(context.getBean(PigeonholeLifecycle.class).isRunning()).isTrue());
  }

  @Test
  void customizersHaveTheLastWord() {
    runner()
        .withUserConfiguration(Handling.class)
        .withBean(InboxCustomizer.class, () -> inbox -> inbox.named("theirs"))
        .run(context -> assertThat(context.getBean(Inbox.class).name()).isEqualTo("theirs"));
  }

  @Test
  void channelsThatAreBeansAreTaken() {
    runner()
        .withUserConfiguration(Handling.class)
        .withBean(
            Channel.class,
            () -> Channel.named("payments").on(String.class).handle("count", each -> {}).build())
        .withBean(ChannelBuilder.class, () -> Channel.named("orders").onConflict(OnConflict.REJECT))
        .run(
            context -> {
              Inbox inbox = context.getBean(Inbox.class);
              inbox.accept("payments", Message.of("m-1", "paid"));
              inbox.accept("orders", Message.of("m-1", new Order("o-1")));
              assertThat(inbox.drain()).isEqualTo(2);
            });
  }

  @Test
  void theCodecIsThatOfTheApplication() {
    runner()
        .run(
            context ->
                assertThat(context).getBean(PayloadCodec.class).isInstanceOf(JacksonCodec.class));
    runner()
        .withBean(PayloadCodec.class, Jackson2Codec::create)
        .run(
            context ->
                assertThat(context).getBean(PayloadCodec.class).isInstanceOf(Jackson2Codec.class));
    runner()
        .withClassLoader(new FilteredClassLoader("tools.jackson"))
        .withBean(com.fasterxml.jackson.databind.ObjectMapper.class)
        .run(
            context ->
                assertThat(context).getBean(PayloadCodec.class).isInstanceOf(Jackson2Codec.class));
    runner()
        .withClassLoader(new FilteredClassLoader("dev.pigeonhole.jackson"))
        .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(PayloadCodec.class));
  }

  @Test
  void theOutboxComesWhenItIsEnabled() {
    ApplicationContextRunner enabled =
        runner()
            .withUserConfiguration(Publishing.class)
            .withPropertyValues("pigeonhole.outbox.enabled=true");
    enabled.run(
        context ->
            assertThat(context)
                .hasNotFailed()
                .hasSingleBean(Outbox.class)
                .hasBean("pigeonholeOutboxRelay")
                .hasSingleBean(OutboxTemplate.class));
    enabled
        .withClassLoader(new FilteredClassLoader("dev.pigeonhole.outbox"))
        .run(
            context ->
                assertThat(context)
                    .getFailure()
                    .hasMessageContaining("PH-SPR-05")
                    .hasMessageContaining("Add pigeonhole-outbox."));
  }

  @Test
  void theOutboxMayLeadIntoTheInboxAndHandlersMayPublishToIt() {
    runner()
        .withUserConfiguration(Handling.class, PublishingIntoTheInbox.class)
        .withPropertyValues("pigeonhole.outbox.enabled=true")
        .run(
            context -> {
              assertThat(context).hasNotFailed();
              Inbox inbox = context.getBean(Inbox.class);
              inbox.accept("orders", Message.of("c-1", new Cart("o-1")));
              assertThat(inbox.drain()).isEqualTo(2);
              assertThat(context.getBean(Handling.class).seen).containsExactly("o-1");
            });
  }

  @Test
  void anOutboxInAnotherDatabaseIsRefused() {
    runner()
        .withUserConfiguration(Handling.class, OutboxElsewhere.class)
        .withPropertyValues("pigeonhole.outbox.enabled=true")
        .run(
            context ->
                assertThat(context)
                    .getFailure()
                    .hasMessageContaining("PH-OBX-02")
                    .hasMessageContaining("in another database"));
  }

  @Test
  void ofSeveralDataSourcesTheMarkedOneIsTaken() {
    runner()
        .withUserConfiguration(Handling.class, TwoDatabases.class)
        .run(
            context -> {
              assertThat(context).hasNotFailed();
              assertThat(context.getBean(JdbcStore.class).dataSource())
                  .isSameAs(context.getBean("second"));
            });
  }

  @Test
  void ofSeveralManagersOneHasToBeMarked() {
    runner()
        .withUserConfiguration(TransactionalHandling.class)
        .withBean("one", PlatformTransactionManager.class, AutoConfigurationTest::manager)
        .withBean("two", PlatformTransactionManager.class, AutoConfigurationTest::manager)
        .run(
            context ->
                assertThat(context)
                    .getFailure()
                    .rootCause()
                    .hasMessage(
                        "PH-SPR-03: There are 2 beans of PlatformTransactionManager: one, two. Mark"
                            + " the one for Pigeonhole with @PigeonholeTransactionManager, or make"
                            + " one @Primary."));
  }

  private static PlatformTransactionManager manager() {
    return new JdbcTransactionManager(
        new DriverManagerDataSource("jdbc:h2:mem:%s".formatted(UUID.randomUUID())));
  }

  @Test
  void tablesAreMadeAsThePropertySays() {
    runner()
        .withUserConfiguration(Handling.class)
        .withPropertyValues("pigeonhole.jdbc.table-prefix=shop_")
        .run(
            context ->
                assertThat(
                        new JdbcTemplate(context.getBean(DataSource.class))
                            .queryForObject("SELECT count(*) FROM \"shop_message\"", Integer.class))
                    .isZero());
  }

  @Test
  void aPoolOfTheUsualSizeIsEnoughForTransactionalHandlers() {
    runner()
        .withUserConfiguration(TransactionalHandling.class)
        .run(context -> assertThat(context).hasNotFailed().hasSingleBean(Inbox.class));
  }

  @Test
  void methodsOfAChildContextRunOnce() {
    List<String> charged = new CopyOnWriteArrayList<>();
    runner()
        .withUserConfiguration(Handling.class)
        .run(
            parent ->
                childOf(parent)
                    .withBean(Charging.class, () -> new Charging(charged))
                    .run(
                        child -> {
                          assertThat(child).hasNotFailed();
                          Charging charging = child.getBean(Charging.class);
                          charging.charge(new Order("o-1"));
                          charging.charge(new Order("o-1"));
                          assertThat(charged).containsExactly("o-1");
                        }));
  }

  @Test
  void handlersOfAChildContextAreCalledOrRefused() {
    runner()
        .withUserConfiguration(Handling.class)
        .run(
            parent ->
                childOf(parent)
                    .withUserConfiguration(TransactionalParcels.class)
                    .run(
                        child ->
                            assertThat(child)
                                .getFailure()
                                .hasMessageContaining("PH-CFG-08: Handler method pack(Order)")));
    runner()
        .run(
            parent ->
                childOf(parent)
                    .withUserConfiguration(Handling.class)
                    .run(
                        child -> {
                          Inbox inbox = child.getBean(Inbox.class);
                          inbox.accept("orders", Message.of("m-1", new Order("o-1")));
                          inbox.drain();
                          assertThat(child.getBean(Handling.class).seen).containsExactly("o-1");
                        }));
  }

  @Test
  void optionsOfChannelsAndHandlersWithoutAnyInboxAreToldOf(CapturedOutput output) {
    runner()
        .withConfiguration(AutoConfigurations.of(PigeonholeInboxNowhereAutoConfiguration.class))
        .withPropertyValues(
            "pigeonhole.channels.orders.mode=inline", "pigeonhole.handlers.see.timeout=3s")
        .run(context -> assertThat(context).hasNotFailed());
    assertThat(output)
        .contains("PH-CFG-17: pigeonhole.channels.orders: there is no inbox, because no bean has a")
        .contains("PH-KEY-06: pigeonhole.handlers.see: there is no inbox")
        .contains("If it is for a child context, nothing is missing.");
  }

  /** Both read the same file, and a parent does not know its children when it starts. */
  @Test
  void optionsOfHandlersInAChildContextDoNotStopItsParent() {
    AutoConfigurations nowhere =
        AutoConfigurations.of(PigeonholeInboxNowhereAutoConfiguration.class);
    String[] options = {
      "pigeonhole.handlers.see.timeout=5s", "pigeonhole.channels.orders.unhandled=reject"
    };
    runner()
        .withConfiguration(nowhere)
        .withPropertyValues(options)
        .run(
            parent -> {
              assertThat(parent).hasNotFailed();
              childOf(parent)
                  .withConfiguration(nowhere)
                  .withPropertyValues(options)
                  .withUserConfiguration(Handling.class)
                  .run(
                      child -> {
                        assertThat(child).hasNotFailed();
                        Inbox inbox = child.getBean(Inbox.class);
                        inbox.accept("orders", Message.of("m-1", new Order("o-1")));
                        inbox.drain();
                        assertThat(child.getBean(Handling.class).seen).containsExactly("o-1");
                      });
            });
  }

  private static ApplicationContextRunner childOf(AssertableApplicationContext parent) {
    return runner().withParent(parent.getSourceApplicationContext());
  }

  /** Nobody calls the inbox by its name, because there is none. */
  @Test
  void anOutboxMayHaveTheNameOfAnInboxThatIsNotThere() {
    runner()
        .withUserConfiguration(Publishing.class)
        .withPropertyValues(
            "pigeonhole.inbox.name=shop",
            "pigeonhole.outbox.enabled=true",
            "pigeonhole.outbox.name=shop",
            "pigeonhole.outbox.background-processing=false")
        .run(
            context -> {
              assertThat(context).hasNotFailed().doesNotHaveBean(Inbox.class);
              assertThat(context.getBean(Outbox.class).name()).isEqualTo("shop");
            });
  }

  @Test
  void whatSomebodyHasDeclaredIsNotMadeAgain() {
    runner()
        .withUserConfiguration(Handling.class, OwnBeans.class)
        .withPropertyValues("pigeonhole.outbox.enabled=true")
        .run(
            context -> {
              assertThat(context).hasNotFailed().doesNotHaveBean("pigeonholeOutboxRelay");
              for (Class<?> each :
                  List.of(
                      JdbcStore.class,
                      SpringInboxes.class,
                      IdempotentMethods.class,
                      InboxTemplate.class,
                      GuardTemplate.class,
                      Outbox.class,
                      OutboxTemplate.class)) {
                assertThat(context.getBeanNamesForType(each))
                    .singleElement()
                    .asString()
                    .startsWith("own");
              }
            });
  }

  /** Whoever gets no connection gives no sign of life. */
  @Test
  void allThatShareAPoolHaveRoomInIt(CapturedOutput output) {
    runner()
        .withUserConfiguration(TransactionalHandling.class, Publishing.class)
        .withPropertyValues(
            "pigeonhole.outbox.enabled=true", "spring.datasource.hikari.maximum-pool-size=15")
        .run(context -> assertThat(context).hasNotFailed());
    assertThat(output).as("15 - 4 - 3, for two handlers").contains("Handlers run 4 at once");
    runner()
        .withUserConfiguration(TransactionalHandling.class, TransactionalParcels.class)
        .withPropertyValues(
            "pigeonhole.inboxes.shop.channels=orders",
            "pigeonhole.inboxes.parcels.table-prefix=parcels_",
            "spring.datasource.hikari.maximum-pool-size=17")
        .run(context -> assertThat(context).hasNotFailed());
    assertThat(output).as("17 - 4 - 4, for three handlers").contains("Handlers run 3 at once");
  }

  /** One names the DataSource that the other takes without a name. */
  @Test
  void inboxesShareAPoolHoweverTheyNameIt(CapturedOutput output) {
    runner()
        .withUserConfiguration(TransactionalHandling.class, TransactionalParcels.class)
        .withPropertyValues(
            "pigeonhole.inboxes.shop.channels=orders",
            "pigeonhole.inboxes.shop.data-source=dataSource",
            "pigeonhole.inboxes.parcels.table-prefix=parcels_",
            "spring.datasource.hikari.maximum-pool-size=14")
        .run(context -> assertThat(context).hasNotFailed());
    assertThat(output).as("14 - 4 - 4, for three handlers").contains("Handlers run 2 at once");
  }

  @Test
  void aContextThatIsStoppedAndStartedAgainGoesOn() {
    runner()
        .withUserConfiguration(Handling.class)
        .withPropertyValues("pigeonhole.inbox.background-processing=true")
        .run(
            context -> {
              PigeonholeLifecycle lifecycle = context.getBean(PigeonholeLifecycle.class);
              assertThat(lifecycle.isRunning()).isTrue();
              context.getSourceApplicationContext().stop();
              assertThat(lifecycle.isRunning()).isFalse();
              context.getSourceApplicationContext().start();
              lifecycle.start();
              assertThat(lifecycle.isRunning()).isTrue();
            });
  }

  /** What is built has decided; see the comment of the property. */
  @Test
  void theTimeLimitOfAllIsThatOfAnnotatedMethods() {
    CountDownLatch running = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    runner()
        .withUserConfiguration(Stuck.class)
        .withBean(
            Channel.class,
            () ->
                Channel.named("built")
                    .on(String.class)
                    .handle(
                        "built",
                        each -> {
                          running.countDown();
                          go.await();
                        })
                    .build())
        .withPropertyValues(
            "pigeonhole.inbox.background-processing=true",
            "pigeonhole.inbox.handler-timeout=50ms",
            "pigeonhole.inbox.retry.max-attempts=1")
        .run(
            context -> {
              Inbox inbox = context.getBean(Inbox.class);
              inbox.accept("built", Message.of("m-1", "one"));
              running.await();
              inbox.accept("orders", Message.of("m-2", new Order("o-1")));
              DeliverySelection stuck = inbox.admin().deliveries().poisoned().handler("stuck");
              Eventually.until(LONG, () -> stuck.count().value() == 1);
              assertThat(stuck.first(1).items().get(0).lastFailure().orElseThrow().code())
                  .isEqualTo(ErrorCode.HANDLER_TIMED_OUT);

              // It began earlier, so a limit would have struck earlier.
              go.countDown();
              DeliverySelection built = inbox.admin().deliveries().completed().handler("built");
              Eventually.until(LONG, () -> built.count().value() == 1);
              assertThat(built.first(1).items().get(0).failures()).isZero();
            });
  }

  /** For longer than anybody waits who was told nothing. */
  @Test
  void aCopyIsBusyWhenItHasWaitedAsLongAsThePropertySays() {
    Duration wait = Duration.ofSeconds(6);
    GuardKey key = GuardKey.of("charge", "order", "o-1");
    runner()
        .withUserConfiguration(Handling.class)
        .withPropertyValues("pigeonhole.guard.wait=6s", "pigeonhole.guard.transaction-timeout=1h")
        .run(
            context -> {
              GuardTemplate guard = context.getBean(GuardTemplate.class);
              Guarded<Guarded<String>> first =
                  guard.run(
                      key,
                      tx ->
                          CompletableFuture.supplyAsync(() -> guard.run(key, copy -> "copy"))
                              .join());
              Guarded<String> copy = ((Guarded.Ran<Guarded<String>>) first).value();
              assertThat(((Guarded.Busy<String>) copy).waited()).isGreaterThanOrEqualTo(wait);
            });
  }

  @Test
  void handlersOfAnInlineChannelHaveRunOnTheThreadThatHandsIn() {
    runner()
        .withUserConfiguration(OnThread.class)
        .withPropertyValues("pigeonhole.channels.orders.mode=inline")
        .run(
            context -> {
              Inbox inbox = context.getBean(Inbox.class);
              inbox.accept("orders", Message.of("m-1", new Order("o-1")));
              assertThat(context.getBean(OnThread.class).threads)
                  .containsExactly(Thread.currentThread());
              assertThat(inbox.drain()).isZero();
            });
  }

  /** The one that may take an hour began earlier, so any other limit of both would strike it. */
  @Test
  void aBrokerThatHangsHasTheTimeThatThePropertySays() {
    MemoryQueue broker = MemoryQueue.named("placed");
    broker.stall();
    sendingTo(broker, "1h")
        .run(
            patient -> {
              publish(patient);
              Eventually.until(LONG, () -> broker.size() == 1);
              sendingTo(broker, "1ms")
                  .run(
                      hasty -> {
                        publish(hasty);
                        Eventually.until(LONG, () -> sent(hasty).failures() > 0);
                        assertThat(sent(hasty).lastFailure().orElseThrow().code())
                            .isEqualTo(ErrorCode.SEND_UNCONFIRMED);
                      });
              assertThat(sent(patient).failures()).isZero();
              broker.resume();
              Eventually.until(LONG, () -> sent(patient).state() == DeliveryState.COMPLETED);
              assertThat(sent(patient).failures()).isZero();
            });
  }

  private static ApplicationContextRunner sendingTo(MemoryQueue broker, String timeout) {
    return runner()
        .withBean(
            OutboxCustomizer.class, () -> outbox -> outbox.route(Order.class, broker.transport()))
        .withPropertyValues(
            "pigeonhole.outbox.enabled=true", "pigeonhole.outbox.send-timeout=" + timeout);
  }

  private static void publish(AssertableApplicationContext context) {
    new TransactionTemplate(context.getBean(PlatformTransactionManager.class))
        .executeWithoutResult(
            status ->
                context.getBean(OutboxTemplate.class).publish(Message.of("m-1", new Order("o-1"))));
  }

  private static DeliveryView sent(AssertableApplicationContext context) {
    return context.getBean(Outbox.class).admin().find("outbox", "m-1", "Order").orElseThrow();
  }

  @Test
  void virtualThreadsRunHandlersWhereJavaHasThem() {
    ApplicationContextRunner background =
        runner()
            .withUserConfiguration(OnThread.class)
            .withPropertyValues("pigeonhole.inbox.background-processing=true");
    background
        .withPropertyValues("pigeonhole.inbox.threads=virtual")
        .run(
            context -> {
              if (Runtime.version().feature() < 21) {
                assertThat(context)
                    .getFailure()
                    .rootCause()
                    .hasMessageStartingWith("PH-CFG-16: pigeonhole.inbox.threads is virtual, and")
                    .hasMessageContaining("Use Java 21 or later, or auto.");
              } else {
                assertThat(threadOf(context).toString()).startsWith("VirtualThread");
              }
            });
    background
        .withPropertyValues("pigeonhole.inbox.threads=platform")
        .run(context -> assertThat(threadOf(context).toString()).startsWith("Thread["));
    background.run(
        context ->
            assertThat(threadOf(context).toString())
                .as("as long as spring.threads.virtual.enabled is not set")
                .startsWith("Thread["));
  }

  private static Thread threadOf(AssertableApplicationContext context) {
    // Not the same one in the same database again: that would be a repeat, which nobody handles.
    Message message = Message.of(UUID.randomUUID().toString(), new Order("o-1"));
    context.getBean(Inbox.class).accept("orders", message);
    OnThread handling = context.getBean(OnThread.class);
    Eventually.until(LONG, () -> !handling.threads.isEmpty());
    return handling.threads.get(0);
  }

  record Order(String id) {}

  @Configuration(proxyBeanMethods = false)
  static class OnThread {
    final List<Thread> threads = new CopyOnWriteArrayList<>();

    @InboxHandler(channel = "orders", key = "see")
    void see(Order order) {
      threads.add(Thread.currentThread());
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Stuck {
    @InboxHandler(channel = "orders", key = "stuck")
    void stick(Order order) throws InterruptedException {
      new CountDownLatch(1).await();
    }
  }

  static class Charging {
    private final List<String> charged;

    Charging(List<String> charged) {
      this.charged = charged;
    }

    @IdempotentMethod(handler = "charge", key = "#order.id")
    public void charge(Order order) {
      charged.add(order.id());
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Guarding {
    @IdempotentMethod(handler = "charge", key = "#order.id")
    public void charge(Order order) {}
  }

  @Configuration(proxyBeanMethods = false)
  static class Handling {
    final List<String> seen = new CopyOnWriteArrayList<>();

    @InboxHandler(channel = "orders", key = "see")
    void see(Order order) {
      seen.add(order.id());
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class TransactionalHandling {
    @InboxHandler(channel = "orders", key = "see")
    @Transactional
    public void see(Order order) {}

    @InboxHandler(channel = "orders", key = "look")
    @Transactional
    public void look(Order order) {}
  }

  @Configuration(proxyBeanMethods = false)
  static class TransactionalParcels {
    @InboxHandler(channel = "parcels", key = "pack")
    @Transactional
    public void pack(Order order) {}
  }

  @Configuration(proxyBeanMethods = false)
  static class OwnInbox {
    @Bean
    Inbox mine(JdbcStore store) {
      Channel channel = Channel.named("mine").on(String.class).handle("mine", each -> {}).build();
      return Inbox.on(store).channel(channel).build();
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class InboxElsewhere {
    @Bean
    Inbox mine() {
      DataSource other =
          new DriverManagerDataSource(
              "jdbc:h2:mem:%s;DB_CLOSE_DELAY=-1".formatted(UUID.randomUUID()));
      Schema.migrate(other);
      return new OwnInbox().mine(JdbcStore.of(other));
    }
  }

  static class Accepting {
    Accepting(InboxTemplate inbox) {}
  }

  @Configuration(proxyBeanMethods = false)
  static class OwnInboxOnAStoreThatIsNoBean {
    @Bean
    Inbox mine() {
      Channel channel = Channel.named("mine").on(String.class).handle("mine", each -> {}).build();
      return Inbox.on(MemoryStore.create()).channel(channel).build();
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class OwnInboxUnderOurName {
    @Bean
    Inbox pigeonholeInbox(JdbcStore store) {
      return new OwnInbox().mine(store);
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class OwnBeans {
    @Bean
    @DependsOnDatabaseInitialization
    JdbcStore ownStore(DataSource dataSource) {
      return JdbcStore.of(dataSource);
    }

    @Bean
    SpringInboxes ownInboxes() {
      return new SpringInboxes();
    }

    @Bean
    static IdempotentMethods ownMethods() {
      return new IdempotentMethods();
    }

    @Bean
    InboxTemplate ownInboxTemplate(Inbox inbox, JdbcStore store) {
      return InboxTemplate.of(inbox, store);
    }

    @Bean
    GuardTemplate ownGuard(JdbcStore store, PlatformTransactionManager manager) {
      return GuardTemplate.on(store, manager, guard -> guard.named("inbox"));
    }

    @Bean
    Outbox ownOutbox(JdbcStore store) {
      return Outbox.on(store).route(Order.class, new Nowhere()).build();
    }

    @Bean
    OutboxTemplate ownOutboxTemplate(Outbox outbox, JdbcStore store) {
      return OutboxTemplate.of(outbox, store);
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Publishing {
    @Bean
    OutboxCustomizer routes() {
      return outbox -> outbox.route(Order.class, new Nowhere());
    }
  }

  record Cart(String order) {}

  @Configuration(proxyBeanMethods = false)
  static class PublishingIntoTheInbox {
    @Bean
    OutboxCustomizer routes(Inbox inbox) {
      return outbox -> outbox.into(Order.class, inbox.publisher("orders"));
    }

    @InboxHandler(channel = "orders", key = "place")
    void place(Received<Cart> cart) {
      cart.publish(Message.of("o-1", new Order(cart.payload().order())));
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class OutboxElsewhere {
    @Bean
    Outbox elsewhere() {
      DataSource other =
          new DriverManagerDataSource(
              "jdbc:h2:mem:%s;DB_CLOSE_DELAY=-1".formatted(UUID.randomUUID()));
      Schema.ofDefaults().prefix("pigeonhole_out_").applyTo(other);
      return Outbox.on(JdbcStore.of(other)).route(Order.class, new Nowhere()).build();
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class TwoDatabases {
    @Bean
    @Primary
    DataSource first() {
      return new DriverManagerDataSource("jdbc:h2:mem:first;DB_CLOSE_DELAY=-1");
    }

    @Bean
    @PigeonholeDataSource
    DataSource second() {
      return new DriverManagerDataSource("jdbc:h2:mem:second;DB_CLOSE_DELAY=-1");
    }

    @Bean
    @Primary
    PlatformTransactionManager firstManager() {
      return new JdbcTransactionManager(first());
    }

    @Bean
    @PigeonholeTransactionManager
    PlatformTransactionManager secondManager(@PigeonholeDataSource DataSource second) {
      return new JdbcTransactionManager(second);
    }
  }
}
