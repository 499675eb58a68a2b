package dev.pigeonhole.spring;

import static dev.pigeonhole.spring.World.order;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import dev.pigeonhole.transport.Publisher;
import java.sql.Connection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/** Accepting and publishing inside the transaction of the caller. */
class TemplatesTest {

  static class Ignoring {
    @InboxHandler(channel = "orders", key = "reserve-stock")
    void reserve(OrderPlaced order) {}
  }

  private static World world(TestDatabase database) {
    return world(new World(database));
  }

  private static World world(World empty) {
    return empty
        .with(World.Basics.class, World.Jdbc.class, World.WithInbox.class, Ignoring.class)
        .start();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void jd08_whatIsRolledBackWasNeverAccepted(TestDatabase database) {
    try (World world = world(database)) {
      InboxTemplate template = world.bean(InboxTemplate.class);
      world
          .transaction()
          .executeWithoutResult(
              status -> {
                assertThat(template.accept("orders", order(1)))
                    .isInstanceOf(Acceptance.Accepted.class);
                status.setRollbackOnly();
              });
      assertThat(world.rows("pigeonhole_message")).isZero();

      world
          .transaction()
          .executeWithoutResult(
              status -> {
                template.accept("orders", order(1));
                assertThat(world.inbox().drain()).as("before the commit").isZero();
              });
      assertThat(world.rows("pigeonhole_message")).isEqualTo(1);
      assertThat(world.inbox().drain()).isEqualTo(1);
    }
  }

  /** Counts how often it is woken, and what could be seen by then. */
  private static final class Woken implements Publisher {
    final List<String> staged = new ArrayList<>();
    int wakes;

    @Override
    public String publish(Connection connection, Message message) {
      staged.add(message.toString());
      return "id";
    }

    @Override
    public boolean commitsWith(InboxStore store) {
      return true;
    }

    @Override
    public void wake() {
      wakes++;
    }
  }

  @Test
  void wakesOnceAfterTheCommitAndNeverAfterARollback() {
    try (World world = world(TestDatabases.open(DatabaseKind.POSTGRES))) {
      Woken outbox = new Woken();
      OutboxTemplate template = OutboxTemplate.of(outbox, world.bean(JdbcStore.class));
      world
          .transaction()
          .executeWithoutResult(
              status -> {
                template.publish(order(1));
                template.publish(List.of(order(2), order(3)));
                assertThat(outbox.wakes).as("before the commit").isZero();
              });
      assertThat(outbox.wakes).isEqualTo(1);

      world
          .transaction()
          .executeWithoutResult(
              status -> {
                template.publish(order(4));
                status.setRollbackOnly();
              });
      assertThat(outbox.wakes).isEqualTo(1);
      assertThat(outbox.staged).hasSize(4);
    }
  }

  /** An inbox that does not look by itself. */
  @Configuration(proxyBeanMethods = false)
  static class Idle {
    @Bean
    Inbox inbox(SpringInboxes inboxes, JdbcStore store, PlatformTransactionManager manager) {
      Duration rare = Duration.ofDays(1);
      return inboxes.on(store, manager).named("shop").lanes(4).polling(rare, rare).build();
    }

    @Bean
    InboxTemplate template(Inbox inbox, JdbcStore store) {
      return InboxTemplate.of(inbox, store);
    }
  }

  @Test
  void handlersAreWokenAfterTheCommit() {
    try (World world = World.postgres()) {
      world
          .with(World.Basics.class, World.Jdbc.class, Idle.class, World.Running.class)
          .with(Ignoring.class)
          .start();
      for (int number = 1; number <= 20; number++) {
        Message message = order(number);
        world
            .transaction()
            .executeWithoutResult(
                status -> world.bean(InboxTemplate.class).accept("orders", message));
        int done = number;
        Eventually.until("a handler", Charges.LIMIT, () -> world.completed() == done);
      }
    }
  }

  @Test
  void ob04_withoutATransactionNothingIsPublished() {
    try (World world = world(TestDatabases.open(DatabaseKind.POSTGRES))) {
      Woken outbox = new Woken();
      OutboxTemplate template = OutboxTemplate.of(outbox, world.bean(JdbcStore.class));
      assertThatThrownBy(() -> template.publish(order(1)))
          .isInstanceOf(StoreException.class)
          .hasMessageStartingWith("PH-TX-06");
      assertThat(outbox.staged).isEmpty();
    }
  }

  @Test
  void withoutATransactionAMessageIsAcceptedAtOnce() {
    try (World world = world(TestDatabases.open(DatabaseKind.POSTGRES))) {
      assertThat(world.bean(InboxTemplate.class).accept("orders", order(1)))
          .isInstanceOf(Acceptance.Accepted.class);
      assertThat(world.rows("pigeonhole_message")).isEqualTo(1);
    }
  }

  @Test
  void jd08_aTransactionOfAnotherDataSourceIsRefused() {
    try (World world = world(TestDatabases.open(DatabaseKind.POSTGRES));
        TestDatabase other = TestDatabases.open(DatabaseKind.H2)) {
      TransactionTemplate elsewhere =
          new TransactionTemplate(new JdbcTransactionManager(other.pool(2)));
      InboxTemplate template = world.bean(InboxTemplate.class);
      assertThatThrownBy(
              () -> elsewhere.executeWithoutResult(status -> template.accept("orders", order(1))))
          .isInstanceOf(StoreException.class)
          .hasMessageStartingWith("PH-TX-10");
      assertThat(world.rows("pigeonhole_message")).isZero();
    }
  }

  /** Spring keeps the connection until the end of the other, and then nobody commits it. */
  @Test
  void jd08_aTransactionOfAnotherDataSourceIsRefusedAlsoWhereThisOneWasReadInIt() {
    TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES);
    try (World world = world(new World(database, new EndedTransactionTest.Manual(database)));
        TestDatabase other = TestDatabases.open(DatabaseKind.H2)) {
      TransactionTemplate elsewhere =
          new TransactionTemplate(new JdbcTransactionManager(other.pool(2)));
      InboxTemplate template = world.bean(InboxTemplate.class);
      assertThatThrownBy(
              () ->
                  elsewhere.executeWithoutResult(
                      status -> {
                        world.bean(JdbcTemplate.class).queryForList("SELECT * FROM note");
                        template.accept("orders", order(1));
                      }))
          .isInstanceOf(StoreException.class)
          .hasMessageStartingWith("PH-TX-10");
      assertThat(world.rows("pigeonhole_message")).isZero();
    }
  }

  @Test
  void ob04_aTransactionOfAnotherDataSourceIsRefusedByTheOutboxToo() {
    try (World world = world(TestDatabases.open(DatabaseKind.POSTGRES));
        TestDatabase other = TestDatabases.open(DatabaseKind.H2)) {
      TransactionTemplate elsewhere =
          new TransactionTemplate(new JdbcTransactionManager(other.pool(2)));
      Woken outbox = new Woken();
      OutboxTemplate template = OutboxTemplate.of(outbox, world.bean(JdbcStore.class));
      assertThatThrownBy(() -> elsewhere.executeWithoutResult(status -> template.publish(order(1))))
          .isInstanceOf(StoreException.class)
          .hasMessageStartingWith("PH-TX-10");
      assertThat(outbox.staged).isEmpty();
    }
  }

  /** What is accepted or published would be stored there, where nobody looks for it. */
  @Test
  void jd08_templatesOnTheStoreOfAnotherDatabaseAreRefused() {
    try (World world = world(TestDatabases.open(DatabaseKind.POSTGRES));
        TestDatabase other = TestDatabases.open(DatabaseKind.H2)) {
      Schema.migrate(other.dataSource());
      JdbcStore elsewhere = JdbcStore.of(other.pool(2));
      assertThatThrownBy(() -> InboxTemplate.of(world.inbox(), elsewhere))
          .isInstanceOf(ConfigurationException.class)
          .hasMessageStartingWith("PH-TX-10: The inbox 'shop' is in another database");
      Publisher channel = world.inbox().publisher("orders");
      assertThatThrownBy(() -> OutboxTemplate.of(channel, elsewhere))
          .isInstanceOf(ConfigurationException.class)
          .hasMessageStartingWith("PH-OBX-02: The outbox is in another database");

      JdbcStore anotherPool = JdbcStore.of(world.database.pool(2));
      assertThat(InboxTemplate.of(world.inbox(), anotherPool)).isNotNull();
    }
  }

  /** The inbox itself has a transaction of its own, whoever calls it. */
  @Test
  void jd08_theInboxItselfAcceptsWhateverBecomesOfTheCaller() {
    try (World world = world(TestDatabases.open(DatabaseKind.POSTGRES))) {
      Inbox inbox = world.inbox();
      world
          .transaction()
          .executeWithoutResult(
              status -> {
                inbox.accept("orders", order(1));
                status.setRollbackOnly();
              });
      assertThat(world.rows("pigeonhole_message")).isEqualTo(1);
    }
  }
}
