package dev.pigeonhole.spring;

import static dev.pigeonhole.spring.World.order;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.Channel;
import dev.pigeonhole.ChannelBuilder;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.support.TestDatabase;
import jakarta.persistence.EntityManager;
import jakarta.persistence.PersistenceContext;
import jakarta.transaction.Status;
import jakarta.transaction.UserTransaction;
import java.util.List;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Primary;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.jta.JtaTransactionManager;

/** Which manager begins the transactions of handlers, and which cannot. */
class TransactionManagersTest {
  static class OnTheWrongOne {
    @InboxHandler(channel = "orders", key = "reserve-stock")
    @Transactional("second")
    void reserve(OrderPlaced order) {}
  }

  @Test
  void jd03_aHandlerOnTheWrongManagerRefusesToStart() {
    try (World world = World.postgres()) {
      world
          .with(World.Basics.class, World.Jdbc.class, World.WithInbox.class)
          .with(SecondDatabase.class, OnTheWrongOne.class);
      assertThatThrownBy(world::start)
          .rootCause()
          .isInstanceOf(ConfigurationException.class)
          .hasMessageStartingWith("PH-TX-10")
          .hasMessageContaining("reserve(OrderPlaced)")
          .hasMessageContaining(OnTheWrongOne.class.getName())
          .hasMessageContaining("JdbcTransactionManager");
    }
  }

  @Qualifier("second") static class QualifiedForTheWrongOne {
    @InboxHandler(channel = "orders", key = "reserve-stock")
    @Transactional
    void reserve(OrderPlaced order) {}
  }

  /** Spring would begin its transaction there. */
  @Test
  void jd03_aHandlerWhoseClassIsQualifiedForTheWrongManagerRefusesToStart() {
    try (World world = World.postgres()) {
      world
          .with(World.Basics.class, World.Jdbc.class, World.WithInbox.class)
          .with(SecondDatabase.class, QualifiedForTheWrongOne.class);
      assertThatThrownBy(world::start)
          .rootCause()
          .isInstanceOf(ConfigurationException.class)
          .hasMessageStartingWith("PH-TX-10")
          .hasMessageContaining(QualifiedForTheWrongOne.class.getName());
    }
  }

  @Qualifier("second") static class GuardedForTheWrongOne {
    @IdempotentMethod(handler = "charge-card", key = "#order.order")
    @Transactional
    public void charge(OrderPlaced order) {}
  }

  @Test
  void jd03_aGuardedMethodWhoseClassIsQualifiedForTheWrongManagerRefusesToStart() {
    try (World world = World.postgres()) {
      world
          .with(World.Basics.class, World.Jdbc.class, IdempotentMethodTest.WithGuard.class)
          .with(SecondDatabase.class, GuardedForTheWrongOne.class);
      assertThatThrownBy(world::start)
          .isInstanceOf(ConfigurationException.class)
          .hasMessageStartingWith("PH-TX-10: Idempotent method charge(OrderPlaced)");
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class WrongInbox {
    @Bean
    Inbox inbox(
        SpringInboxes inboxes,
        JdbcStore store,
        @Qualifier("second") PlatformTransactionManager manager) {
      return inboxes.on(store, manager).named("shop").build();
    }
  }

  @Test
  void jd03_anInboxOnTheWrongManagerRefusesToStart() {
    try (World world = World.postgres()) {
      world
          .with(World.Basics.class, World.Jdbc.class, WrongInbox.class, Notes.class)
          .with(SecondDatabase.class, HandlerTransactionTest.Writing.class);
      assertThatThrownBy(world::start)
          .rootCause()
          .isInstanceOf(ConfigurationException.class)
          .hasMessageStartingWith("PH-TX-10");
    }
  }

  static class GuardedOnTheWrongOne {
    @IdempotentMethod(handler = "charge-card", key = "#order.order")
    @Transactional("second")
    public void charge(OrderPlaced order) {}
  }

  @Test
  void jd03_aGuardedMethodOnTheWrongManagerRefusesToStart() {
    try (World world = World.postgres()) {
      world
          .with(World.Basics.class, World.Jdbc.class, IdempotentMethodTest.WithGuard.class)
          .with(SecondDatabase.class, GuardedOnTheWrongOne.class);
      assertThatThrownBy(world::start)
          .isInstanceOf(ConfigurationException.class)
          .hasMessageStartingWith("PH-TX-10: Idempotent method charge(OrderPlaced)")
          .hasMessageContaining(GuardedOnTheWrongOne.class.getName())
          .hasMessageContaining("JdbcTransactionManager");
    }
  }

  /** As much of JTA as Spring asks for before it begins a transaction. */
  private static final class NoResources implements UserTransaction {
    private int status = Status.STATUS_NO_TRANSACTION;

    @Override
    public void begin() {
      status = Status.STATUS_ACTIVE;
    }

    @Override
    public void commit() {
      status = Status.STATUS_NO_TRANSACTION;
    }

    @Override
    public void rollback() {
      status = Status.STATUS_NO_TRANSACTION;
    }

    @Override
    public void setRollbackOnly() {
      status = Status.STATUS_MARKED_ROLLBACK;
    }

    @Override
    public int getStatus() {
      return status;
    }

    @Override
    public void setTransactionTimeout(int seconds) {}
  }

  @Configuration(proxyBeanMethods = false)
  static class Jta {
    @Bean
    PlatformTransactionManager manager() {
      JtaTransactionManager manager = new JtaTransactionManager(new NoResources());
      manager.setAllowCustomIsolationLevels(true);
      return manager;
    }
  }

  /** It says nothing of the connections that take part, so nobody could join one of them. */
  @Test
  void jd03_aManagerOfJtaIsRefusedByInboxesAndGuards() {
    for (Class<?> user : List.of(World.WithInbox.class, IdempotentMethodTest.WithGuard.class)) {
      try (World world = World.postgres()) {
        world.with(World.Basics.class, Jta.class, user);
        assertThatThrownBy(world::start)
            .rootCause()
            .isInstanceOf(ConfigurationException.class)
            .hasMessageStartingWith("PH-TX-10")
            .hasMessageContaining("JtaTransactionManager");
      }
    }
  }

  /** Two managers of one DataSource, and two inboxes in two databases. */
  @Configuration(proxyBeanMethods = false)
  static class Several {
    @Bean
    @Primary
    PlatformTransactionManager plain(DataSource dataSource) {
      return new JdbcTransactionManager(dataSource);
    }

    @Bean
    ChannelBuilder shipments() {
      return Channel.named("shipments");
    }

    @Bean
    Inbox inbox(SpringInboxes inboxes, JdbcStore store, PlatformTransactionManager plain) {
      return inboxes.on(store, plain, "orders").named("shop").build();
    }

    @Bean
    Inbox other(
        SpringInboxes inboxes,
        @Qualifier("second") DataSource dataSource,
        @Qualifier("second") PlatformTransactionManager manager) {
      return inboxes.on(JdbcStore.of(dataSource), manager, "shipments").named("second").build();
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class JpaBeside extends World.Jpa {
    @Bean("jpa")
    @Override
    PlatformTransactionManager manager(jakarta.persistence.EntityManagerFactory entities) {
      return new JpaTransactionManager(entities);
    }
  }

  static class Both {
    @PersistenceContext private EntityManager entities;
    private final Notes notes;
    private final JdbcTemplate second;

    Both(Notes notes, @Qualifier("second") DataSource second) {
      this.notes = notes;
      this.second = new JdbcTemplate(second);
    }

    @InboxHandler(channel = "orders", key = "reserve-stock")
    @Transactional("jpa")
    void reserve(OrderPlaced order) {
      entities.persist(new Effect(order.order()));
    }

    @InboxHandler(channel = "orders", key = "note-order")
    @Transactional
    void note(OrderPlaced order) {
      notes.write(order.order());
    }

    @InboxHandler(channel = "shipments", key = "ship")
    @Transactional("second")
    void ship(OrderPlaced order) {
      second.update("INSERT INTO note (order_id) VALUES (?)", order.order());
    }
  }

  @Test
  void severalManagersAndDataSourcesEachHaveTheirOwnTransactions() {
    try (World world = World.postgres()) {
      world
          .with(World.Basics.class, JpaBeside.class, Several.class, SecondDatabase.class)
          .with(Notes.class, Both.class)
          .start();
      Inbox shop = world.context.getBean("inbox", Inbox.class);
      Inbox second = world.context.getBean("other", Inbox.class);
      shop.accept("orders", order(1));
      shop.drain();
      second.accept("shipments", order(1));
      second.drain();

      assertThat(world.effects()).isEqualTo(1);
      assertThat(world.notes()).isEqualTo(1);
      TestDatabase elsewhere = world.context.getBean("elsewhere", TestDatabase.class);
      assertThat(elsewhere.count("SELECT count(*) FROM note")).isEqualTo(1);
      assertThat(shop.find("orders", "m-1", "reserve-stock").orElseThrow().state())
          .isEqualTo(DeliveryState.COMPLETED);
      assertThat(second.find("shipments", "m-1", "ship").orElseThrow().state())
          .isEqualTo(DeliveryState.COMPLETED);
    }
  }

  @Qualifier("second") static class Shipping {
    private final JdbcTemplate second;

    Shipping(@Qualifier("second") DataSource second) {
      this.second = new JdbcTemplate(second);
    }

    @InboxHandler(channel = "shipments", key = "ship")
    @Transactional
    void ship(OrderPlaced order) {
      second.update("INSERT INTO note (order_id) VALUES (?)", order.order());
    }
  }

  /** The name is one of beans, and of no manager. */
  @Qualifier("stock") static class Stock {
    private final Notes notes;

    Stock(Notes notes) {
      this.notes = notes;
    }

    @InboxHandler(channel = "orders", key = "reserve-stock")
    @Transactional
    void reserve(OrderPlaced order) {
      notes.write(order.order());
    }
  }

  @Test
  void theQualifierOfAClassNamesItsManagerIfThereIsSuchAOne() {
    try (World world = World.postgres()) {
      world
          .with(World.Basics.class, Several.class, SecondDatabase.class)
          .with(Notes.class, Shipping.class, Stock.class)
          .start();
      Inbox shop = world.context.getBean("inbox", Inbox.class);
      Inbox second = world.context.getBean("other", Inbox.class);
      shop.accept("orders", order(1));
      shop.drain();
      second.accept("shipments", order(1));
      second.drain();

      assertThat(world.notes()).isEqualTo(1);
      TestDatabase elsewhere = world.context.getBean("elsewhere", TestDatabase.class);
      assertThat(elsewhere.count("SELECT count(*) FROM note")).isEqualTo(1);
      assertThat(second.find("shipments", "m-1", "ship").orElseThrow().state())
          .isEqualTo(DeliveryState.COMPLETED);
    }
  }
}
