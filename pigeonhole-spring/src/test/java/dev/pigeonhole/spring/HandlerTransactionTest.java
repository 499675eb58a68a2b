package dev.pigeonhole.spring;

import static dev.pigeonhole.spring.World.order;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ChannelBuilder;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.FaultProxy;
import dev.pigeonhole.support.StatementFault;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import jakarta.persistence.EntityManager;
import jakarta.persistence.PersistenceContext;
import jakarta.transaction.Status;
import jakarta.transaction.UserTransaction;
import java.sql.Connection;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Primary;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.Isolation;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.jta.JtaTransactionManager;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/** Receipt and writes commit together, or neither does. */
class HandlerTransactionTest {
  private static final String ALL = "dev.pigeonhole.support.TestDatabases#all";

  private static DeliveryView delivery(World world, int number) {
    return world.inbox().find("orders", "m-" + number, "reserve-stock").orElseThrow();
  }

  private static void handle(World world, int number) {
    world.inbox().accept("orders", order(number));
    world.inbox().drain();
  }

  static class Notes {
    private final JdbcTemplate jdbc;

    Notes(JdbcTemplate jdbc) {
      this.jdbc = jdbc;
    }

    @Transactional
    public void write(String order) {
      jdbc.update("INSERT INTO note (order_id) VALUES (?)", order);
    }

    @Transactional
    public void writeAndFail(String order) {
      write(order);
      throw new IllegalStateException("the participant fails");
    }

    @Transactional(propagation = Propagation.REQUIRES_NEW)
    public void writeAlone(String order) {
      write(order);
    }
  }

  static class Writing {
    private final Notes notes;

    Writing(Notes notes) {
      this.notes = notes;
    }

    @InboxHandler(channel = "orders", key = "reserve-stock")
    @Transactional
    void reserve(OrderPlaced order, Connection connection) throws Exception {
      notes.write(order.order());
      try (var insert =
          connection.prepareStatement("INSERT INTO effect (id, order_id) VALUES (?, ?)")) {
        insert.setString(1, order.order());
        insert.setString(2, order.order());
        insert.executeUpdate();
      }
      if (order.order().equals("o-2")) {
        throw new java.io.IOException("a checked one rolls back, too");
      }
    }
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void whatIsWrittenThroughSpringCommitsWithTheReceipt(TestDatabase database) {
    try (World world = new World(database)) {
      world
          .with(World.Basics.class, World.Jdbc.class, World.WithInbox.class)
          .with(Notes.class, Writing.class)
          .start();
      handle(world, 1);
      assertThat(delivery(world, 1).state())
          .as("%s", delivery(world, 1).lastFailure())
          .isEqualTo(DeliveryState.COMPLETED);
      assertThat(world.notes()).isEqualTo(1);
      assertThat(world.effects()).isEqualTo(1);

      handle(world, 2);
      assertThat(delivery(world, 2).state()).isEqualTo(DeliveryState.SCHEDULED);
      assertThat(delivery(world, 2).failures()).isEqualTo(1);
      assertThat(delivery(world, 2).lastFailure().orElseThrow().toString())
          .contains("java.io.IOException")
          .doesNotContain("InvocationTargetException");
      assertThat(world.notes()).isEqualTo(1);
      assertThat(world.effects()).isEqualTo(1);
    }
  }

  @Test
  void sc15_e27_nothingOfAMessageIsLogged() {
    ListAppender<ILoggingEvent> log = new ListAppender<>();
    log.start();
    Logger root = (Logger) LoggerFactory.getLogger("dev.pigeonhole");
    Level usual = root.getLevel();
    root.setLevel(Level.TRACE);
    root.addAppender(log);
    try (World world = World.postgres()) {
      world
          .with(World.Basics.class, World.Jdbc.class, World.WithInbox.class)
          .with(Notes.class, Writing.class)
          .start();
      for (int number = 1; number <= 2; number++) {
        OrderPlaced order = new OrderPlaced("o-" + number, "canary");
        world.inbox().accept("orders", Message.of("m-" + number, order).header("h", "canary"));
      }
      world.inbox().drain();

      assertThat(world.notes()).isEqualTo(1);
      assertThat(log.list).isNotEmpty();
      assertThat(log.list)
          .extracting(event -> event.getFormattedMessage() + event.getThrowableProxy())
          .noneMatch(line -> line.contains("canary"));
    } finally {
      root.detachAppender(log);
      root.setLevel(usual);
    }
  }

  static class Stubborn {
    private final JdbcTemplate jdbc;
    private final List<String> isolations = new CopyOnWriteArrayList<>();

    Stubborn(JdbcTemplate jdbc) {
      this.jdbc = jdbc;
    }

    public List<String> isolations() {
      return isolations;
    }

    private void write(OrderPlaced order) {
      jdbc.update("INSERT INTO note (order_id) VALUES (?)", order.order());
      isolations.add(jdbc.queryForObject("SHOW transaction_isolation", String.class));
    }

    @InboxHandler(channel = "orders", key = "serializable")
    @Transactional(isolation = Isolation.SERIALIZABLE)
    public void serializable(OrderPlaced order) {
      write(order);
    }

    @InboxHandler(channel = "orders", key = "mandatory")
    @Transactional(propagation = Propagation.MANDATORY)
    public void mandatory(OrderPlaced order) {
      write(order);
    }

    @InboxHandler(channel = "orders", key = "supports")
    @Transactional(propagation = Propagation.SUPPORTS)
    public void supports(OrderPlaced order) {
      write(order);
    }

    @InboxHandler(channel = "orders", key = "nested")
    @Transactional(propagation = Propagation.NESTED)
    public void nested(OrderPlaced order) {
      write(order);
    }

    @InboxHandler(channel = "orders", key = "reserve-stock")
    @Transactional(noRollbackFor = IllegalStateException.class)
    public void reserve(OrderPlaced order) {
      write(order);
      throw new IllegalStateException("rolls back, too");
    }
  }

  @Test
  void anAnnotationCanNeitherChangeTheIsolationNorLetAFailureCommit() {
    TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES);
    try (World world = new World(database, database.pool(50))) {
      world
          .with(World.Basics.class, World.Jdbc.class, World.WithInbox.class)
          .with(Stubborn.class)
          .start();
      handle(world, 1);

      for (String key : List.of("serializable", "mandatory", "supports", "nested")) {
        assertThat(world.inbox().find("orders", "m-1", key).orElseThrow().state())
            .as(key)
            .isEqualTo(DeliveryState.COMPLETED);
      }
      assertThat(delivery(world, 1).state()).isEqualTo(DeliveryState.SCHEDULED);
      assertThat(world.notes()).isEqualTo(4);
      assertThat(world.bean(Stubborn.class).isolations()).hasSize(5).containsOnly("read committed");
    }
  }

  static class Swallowing {
    private final Notes notes;

    Swallowing(Notes notes) {
      this.notes = notes;
    }

    @InboxHandler(channel = "orders", key = "reserve-stock")
    @Transactional
    void reserve(OrderPlaced order) {
      try {
        notes.writeAndFail(order.order());
      } catch (IllegalStateException e) {
        // as if nothing had happened
      }
    }
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void rollbackOnlyOfAParticipantFailsTheAttempt(TestDatabase database) {
    try (World world = new World(database)) {
      world
          .with(World.Basics.class, World.Jdbc.class, World.WithInbox.class)
          .with(Notes.class, Swallowing.class)
          .start();
      handle(world, 1);

      assertThat(delivery(world, 1).state()).isEqualTo(DeliveryState.SCHEDULED);
      assertThat(delivery(world, 1).lastFailure().orElseThrow().toString()).contains("PH-TX-09");
      assertThat(world.notes()).isZero();
    }
  }

  @Test
  void rollbackOnlyOfAParticipantFailsTheAttemptUnderJpa() {
    try (World world = World.postgres()) {
      world
          .with(World.Basics.class, World.Jpa.class, World.WithInbox.class)
          .with(Notes.class, Swallowing.class)
          .start();
      handle(world, 1);

      assertThat(delivery(world, 1).lastFailure().orElseThrow().toString()).contains("PH-TX-09");
      assertThat(world.notes()).isZero();
      assertThat(world.completed()).isZero();
    }
  }

  static class Refused {
    @PersistenceContext private EntityManager entities;

    @InboxHandler(channel = "orders", key = "reserve-stock")
    @Transactional
    void reserve(OrderPlaced order) {
      entities.persist(new Effect("longer than the twenty characters of its column"));
    }
  }

  @Test
  void whatOnlyTheFlushRefusesFailsTheAttempt() {
    try (World world = World.postgres()) {
      world
          .with(World.Basics.class, World.Jpa.class, World.WithInbox.class)
          .with(Refused.class)
          .start();
      handle(world, 1);

      assertThat(delivery(world, 1).state()).isEqualTo(DeliveryState.SCHEDULED);
      assertThat(delivery(world, 1).failures()).isEqualTo(1);
      assertThat(delivery(world, 1).lastFailure().orElseThrow().toString())
          .contains("DataIntegrityViolationException")
          .doesNotContain("COMMIT");
      assertThat(world.completed()).isZero();
    }
  }

  /** The database has committed, and nobody is told so. */
  @Test
  void aCommitWhoseAnswerIsLostIsNotRunAgain() {
    for (Class<?> manager : List.of(World.Jdbc.class, World.Jpa.class)) {
      try (FaultProxy proxy = FaultProxy.to(TestDatabases.server(DatabaseKind.POSTGRES));
          TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES);
          World world = new World(database, database.through(proxy).pool(12))) {
        world.with(World.Basics.class, manager, World.WithInbox.class).with(Cut.class, Notes.class);
        world.context.registerBean(FaultProxy.class, () -> proxy);
        world.start();
        handle(world, 1);
        Eventually.until(
            Charges.LIMIT,
            () -> {
              world.inbox().drain();
              return delivery(world, 1).state() == DeliveryState.COMPLETED;
            });

        assertThat(proxy.hits()).isEqualTo(1);
        assertThat(world.notes()).isEqualTo(1);
      }
    }
  }

  static class Cut {
    private final Notes notes;
    private final FaultProxy proxy;

    Cut(Notes notes, FaultProxy proxy) {
      this.notes = notes;
      this.proxy = proxy;
    }

    @InboxHandler(channel = "orders", key = "reserve-stock")
    @Transactional
    public void reserve(OrderPlaced order) {
      notes.write(order.order());
      proxy.atCommit(StatementFault.ANSWER_LOST);
    }
  }

  static class FailingLater {
    private final Notes notes;

    FailingLater(Notes notes) {
      this.notes = notes;
    }

    @InboxHandler(channel = "orders", key = "reserve-stock")
    @Transactional
    void reserve(OrderPlaced order) {
      notes.write(order.order());
      TransactionSynchronizationManager.registerSynchronization(
          new TransactionSynchronization() {
            @Override
            public void afterCommit() {
              throw new IllegalStateException("too late to matter");
            }
          });
    }
  }

  @Test
  void whatFailsAfterTheCommitIsNoFailureOfTheHandler() {
    ListAppender<ILoggingEvent> log = logOf(SpringTransactions.class);
    try (World world = World.postgres()) {
      world
          .with(World.Basics.class, World.Jdbc.class, World.WithInbox.class)
          .with(Notes.class, FailingLater.class)
          .start();
      handle(world, 1);
      world.inbox().drain();

      assertThat(delivery(world, 1).state())
          .as("%s", delivery(world, 1).lastFailure())
          .isEqualTo(DeliveryState.COMPLETED);
      assertThat(delivery(world, 1).failures()).isZero();
      assertThat(world.notes()).isEqualTo(1);
      assertThat(log.list)
          .extracting(ILoggingEvent::getFormattedMessage)
          .filteredOn(line -> line.contains("it is not run again"))
          .hasSize(1);
    }
  }

  static class Committing {
    private final JdbcTemplate jdbc;

    Committing(JdbcTemplate jdbc) {
      this.jdbc = jdbc;
    }

    @InboxHandler(channel = "orders", key = "reserve-stock")
    @Transactional
    void reserve(OrderPlaced order) {
      jdbc.update("INSERT INTO note (order_id) VALUES (?)", order.order());
      jdbc.execute("COMMIT");
    }
  }

  /** The connection that JdbcTemplate uses is not the one that the inbox guards. */
  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void jd03_aCommitBehindTheBackOfSpringIsSeen(TestDatabase database) {
    try (World world = new World(database)) {
      world
          .with(World.Basics.class, World.Jdbc.class, World.WithInbox.class)
          .with(Committing.class)
          .start();
      handle(world, 1);

      assertThat(delivery(world, 1).state()).isEqualTo(DeliveryState.SCHEDULED);
      assertThat(delivery(world, 1).lastFailure().orElseThrow().toString()).contains("PH-TX-05");
    }
  }

  static class Alone {
    private final Notes notes;

    Alone(Notes notes) {
      this.notes = notes;
    }

    @InboxHandler(channel = "orders", key = "reserve-stock")
    @Transactional
    void reserve(OrderPlaced order) {
      notes.writeAlone(order.order());
    }
  }

  private static ListAppender<ILoggingEvent> logOf(Class<?> type) {
    ListAppender<ILoggingEvent> log = new ListAppender<>();
    log.start();
    ((Logger) LoggerFactory.getLogger(type)).addAppender(log);
    return log;
  }

  @Test
  void jd03_aTransactionInsideThatCommitsAloneIsWarnedOfOnce() {
    ListAppender<ILoggingEvent> log = logOf(SpringTransactions.class);
    try (World world = World.postgres()) {
      world
          .with(World.Basics.class, World.Jdbc.class, World.WithInbox.class)
          .with(Notes.class, Alone.class)
          .start();
      handle(world, 1);
      handle(world, 2);

      assertThat(log.list)
          .extracting(ILoggingEvent::getFormattedMessage)
          .filteredOn(line -> line.contains("REQUIRES_NEW"))
          .hasSize(1)
          .allMatch(line -> line.startsWith("Handler reserve-stock "));
    }
  }

  /** A second database, with a manager of its own. */
  @Configuration(proxyBeanMethods = false)
  static class Second {
    @Bean(destroyMethod = "close")
    TestDatabase elsewhere() {
      TestDatabase other = TestDatabases.open(DatabaseKind.POSTGRES);
      Schema.migrate(other.dataSource());
      other.execute("CREATE TABLE note (order_id VARCHAR(20) NOT NULL)");
      return other;
    }

    @Bean(defaultCandidate = false)
    @Qualifier("second") DataSource secondDataSource(@Qualifier("elsewhere") TestDatabase elsewhere) {
      return elsewhere.pool(12);
    }

    @Bean(defaultCandidate = false)
    @Qualifier("second") PlatformTransactionManager secondManager(@Qualifier("second") DataSource dataSource) {
      return new JdbcTransactionManager(dataSource);
    }
  }

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
          .with(Second.class, OnTheWrongOne.class);
      assertThatThrownBy(world::start)
          .rootCause()
          .isInstanceOf(ConfigurationException.class)
          .hasMessageStartingWith("PH-TX-10")
          .hasMessageContaining("reserve(OrderPlaced)")
          .hasMessageContaining(OnTheWrongOne.class.getName())
          .hasMessageContaining("JdbcTransactionManager");
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
          .with(Second.class, Writing.class);
      assertThatThrownBy(world::start)
          .rootCause()
          .isInstanceOf(ConfigurationException.class)
          .hasMessageStartingWith("PH-TX-10");
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

  @ParameterizedTest
  @MethodSource(ALL)
  void jd05_aDriverThatWaitsForTheNetworkForEverIsWarnedOf(TestDatabase database) {
    Predicate<ILoggingEvent> warning = each -> each.getFormattedMessage().contains("socketTimeout");
    ListAppender<ILoggingEvent> log = logOf(SpringTransactions.class);
    try (World world = new World(database)) {
      world.with(World.Basics.class, World.Jdbc.class, World.WithInbox.class).start();
      assertThat(log.list).filteredOn(warning).hasSize(database.kind() == DatabaseKind.H2 ? 0 : 1);
      log.list.clear();
      if (database.kind() != DatabaseKind.H2) {
        try (TestDatabase limited = database.with("socketTimeout", "60000")) {
          DataSource pool = limited.pool(3);
          JdbcTransactionManager manager = new JdbcTransactionManager(pool);
          GuardTemplate.on(JdbcStore.of(pool), manager, it -> it.named("shop").lanes(4)).close();
        }
      }
      assertThat(log.list).filteredOn(warning).isEmpty();
    }
  }

  static class Elsewhere {
    private final JdbcTemplate jdbc;

    Elsewhere(@Qualifier("second") DataSource second) {
      this.jdbc = new JdbcTemplate(second);
    }

    @InboxHandler(channel = "orders", key = "reserve-stock")
    @Transactional
    void reserve(OrderPlaced order) {
      jdbc.update("INSERT INTO note (order_id) VALUES (?)", order.order());
    }
  }

  @Test
  void jd03_writesToAnotherDataSourceAreWarnedOf() {
    ListAppender<ILoggingEvent> log = logOf(SpringTransactions.class);
    try (World world = World.postgres()) {
      world
          .with(World.Basics.class, World.Jdbc.class, World.WithInbox.class)
          .with(Second.class, Elsewhere.class)
          .start();
      handle(world, 1);

      assertThat(log.list)
          .extracting(ILoggingEvent::getFormattedMessage)
          .anyMatch(line -> line.contains("another DataSource"));
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
          .with(World.Basics.class, JpaBeside.class, Several.class, Second.class)
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

  static class InlineWriting {
    private final Notes notes;
    final AtomicInteger calls = new AtomicInteger();

    InlineWriting(Notes notes) {
      this.notes = notes;
    }

    @InboxHandler(channel = "orders", key = "reserve-stock", inline = true)
    @Transactional
    void reserve(OrderPlaced order) {
      notes.write(order.order());
    }
  }

  /** There is no transaction of Spring on that thread, so the receipt would commit without it. */
  @Test
  void jd11_anInlineHandlerInAConnectionOfTheCallersIsRefused() throws Exception {
    try (World world = World.postgres()) {
      world
          .with(World.Basics.class, World.Jdbc.class, World.WithInbox.class)
          .with(Notes.class, InlineWriting.class)
          .start();
      try (Connection connection = world.pool.getConnection()) {
        connection.setAutoCommit(false);
        assertThat(world.inbox().accept(connection, "orders", List.of(order(1))).toString())
            .contains("PH-TX-10");
        connection.commit();
      }
      assertThat(world.notes()).isZero();
      assertThat(world.completed()).isZero();

      world
          .transaction()
          .executeWithoutResult(
              status -> world.bean(InboxTemplate.class).accept("orders", order(1)));
      assertThat(world.notes()).isEqualTo(1);
      assertThat(world.completed()).isEqualTo(1);
    }
  }
}
