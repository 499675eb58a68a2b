package dev.pigeonhole.spring;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.FaultProxy;
import dev.pigeonhole.support.StatementFault;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import jakarta.persistence.EntityManager;
import jakarta.persistence.PersistenceContext;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.dao.DataAccessResourceFailureException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.annotation.Isolation;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/** Receipt and writes commit together, or neither does. */
class HandlerTransactionTest {
  private static final String ALL = "dev.pigeonhole.support.TestDatabases#all";

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
          .with(World.Basics.class, World.Jdbc.class, World.WithInbox.class, World.Frozen.class)
          .with(Notes.class, Writing.class)
          .start();
      world.handle(1);
      assertThat(world.delivery(1).state())
          .as("%s", world.delivery(1).lastFailure())
          .isEqualTo(DeliveryState.COMPLETED);
      assertThat(world.notes()).isEqualTo(1);
      assertThat(world.effects()).isEqualTo(1);

      world.handle(2);
      assertThat(world.delivery(2).state()).isEqualTo(DeliveryState.SCHEDULED);
      assertThat(world.delivery(2).failures()).isEqualTo(1);
      assertThat(world.delivery(2).lastFailure().orElseThrow().toString())
          .contains("java.io.IOException")
          .doesNotContain("InvocationTargetException");
      assertThat(world.notes()).isEqualTo(1);
      assertThat(world.effects()).isEqualTo(1);
    }
  }

  static class OfJakarta {
    private final JdbcTemplate jdbc;

    OfJakarta(JdbcTemplate jdbc) {
      this.jdbc = jdbc;
    }

    @InboxHandler(channel = "orders", key = "reserve-stock")
    @jakarta.transaction.Transactional
    public void reserve(OrderPlaced order) throws java.io.IOException {
      jdbc.update("INSERT INTO note (order_id) VALUES (?)", order.order());
      throw new java.io.IOException("by itself the annotation would commit for a checked one");
    }
  }

  /** Spring begins a transaction for it as well, and editors offer it first. */
  @Test
  void theAnnotationOfJakartaCountsAsMuchAsThatOfSpring() {
    try (World world = new World(TestDatabases.open(DatabaseKind.H2))) {
      world
          .with(World.Basics.class, World.Jdbc.class, World.WithInbox.class, World.Frozen.class)
          .with(OfJakarta.class)
          .start();
      world.handle(1);

      assertThat(world.delivery(1).state()).isEqualTo(DeliveryState.SCHEDULED);
      assertThat(world.notes()).as("rolled back with the attempt").isZero();
      assertThat(world.bean(SpringInboxes.class).transactionalHandlers())
          .containsExactly("reserve-stock");
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
          .with(World.Basics.class, World.Jdbc.class, World.WithInbox.class, World.Frozen.class)
          .with(Stubborn.class)
          .start();
      world.handle(1);

      for (String key : List.of("serializable", "mandatory", "supports", "nested")) {
        assertThat(world.inbox().find("orders", "m-1", key).orElseThrow().state())
            .as(key)
            .isEqualTo(DeliveryState.COMPLETED);
      }
      assertThat(world.delivery(1).state()).isEqualTo(DeliveryState.SCHEDULED);
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
          .with(World.Basics.class, World.Jdbc.class, World.WithInbox.class, World.Frozen.class)
          .with(Notes.class, Swallowing.class)
          .start();
      world.handle(1);

      assertThat(world.delivery(1).state()).isEqualTo(DeliveryState.SCHEDULED);
      assertThat(world.delivery(1).lastFailure().orElseThrow().toString()).contains("PH-TX-09");
      assertThat(world.notes()).isZero();
    }
  }

  @Test
  void rollbackOnlyOfAParticipantFailsTheAttemptUnderJpa() {
    try (World world = World.postgres()) {
      world
          .with(World.Basics.class, World.Jpa.class, World.WithInbox.class, World.Frozen.class)
          .with(Notes.class, Swallowing.class)
          .start();
      world.handle(1);

      assertThat(world.delivery(1).lastFailure().orElseThrow().toString()).contains("PH-TX-09");
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
          .with(World.Basics.class, World.Jpa.class, World.WithInbox.class, World.Frozen.class)
          .with(Refused.class)
          .start();
      world.handle(1);

      assertThat(world.delivery(1).state()).isEqualTo(DeliveryState.SCHEDULED);
      assertThat(world.delivery(1).failures()).isEqualTo(1);
      assertThat(world.delivery(1).lastFailure().orElseThrow().toString())
          .contains("DataIntegrityViolationException")
          .doesNotContain("COMMIT");
      assertThat(world.completed()).isZero();
    }
  }

  static class Elsewhere {
    private final Notes notes;
    private final AtomicInteger calls = new AtomicInteger();

    Elsewhere(Notes notes) {
      this.notes = notes;
    }

    public int calls() {
      return calls.get();
    }

    @InboxHandler(channel = "orders", key = "reserve-stock")
    @Transactional
    public void reserve(OrderPlaced order) {
      calls.incrementAndGet();
      notes.write(order.order());
      String state =
          switch (order.order()) {
            case "o-1" -> "08001"; // unreachable
            case "o-2" -> "40001"; // a deadlock
            default -> "53300"; // too many connections
          };
      throw new DataAccessResourceFailureException(
          "the stock database failed", new SQLException("not this database", state));
    }
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void anErrorOfAnotherDatabaseIsAFailureOfTheHandler(TestDatabase database) {
    try (World world = new World(database)) {
      world
          .with(World.Basics.class, World.Jdbc.class, World.WithInbox.class, World.Frozen.class)
          .with(Notes.class, Elsewhere.class)
          .start();
      for (int order = 1; order <= 3; order++) {
        world.handle(order);

        assertThat(world.delivery(order).state()).isEqualTo(DeliveryState.SCHEDULED);
        assertThat(world.delivery(order).failures()).isEqualTo(1);
        assertThat(world.delivery(order).releases()).isZero();
        assertThat(world.bean(Elsewhere.class).calls()).isEqualTo(order);
      }
      assertThat(world.notes()).isZero();
    }
  }

  static class Disconnected {
    private final JdbcTemplate jdbc;
    private final TestDatabase database;

    Disconnected(JdbcTemplate jdbc, TestDatabase database) {
      this.jdbc = jdbc;
      this.database = database;
    }

    @InboxHandler(channel = "orders", key = "reserve-stock")
    @Transactional
    public void reserve(OrderPlaced order) {
      boolean postgres = database.kind() == DatabaseKind.POSTGRES;
      Long session =
          jdbc.queryForObject(
              postgres ? "SELECT pg_backend_pid()" : "SELECT CONNECTION_ID()", Long.class);
      database.execute(
          postgres ? "SELECT pg_terminate_backend(" + session + ")" : "KILL " + session);
      jdbc.update("INSERT INTO note (order_id) VALUES (?)", order.order());
    }
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void aLostConnectionOfTheInboxIsNotAFailureOfTheHandler(TestDatabase database) {
    try (World world = new World(database)) {
      world
          .with(World.Basics.class, World.Jdbc.class, World.WithInbox.class, World.Frozen.class)
          .with(Disconnected.class)
          .start();
      world.handle(1);

      assertThat(world.delivery(1).state()).isEqualTo(DeliveryState.SCHEDULED);
      assertThat(world.delivery(1).failures()).isZero();
      assertThat(world.delivery(1).releases()).isEqualTo(1);
    }
  }

  /** Looks at the receipt just before the commit, from inside the transaction and from outside. */
  static class Looking {
    private final JdbcTemplate jdbc;
    private final Notes notes;
    private final TestDatabase database;
    private final List<String> seen = new CopyOnWriteArrayList<>();

    Looking(JdbcTemplate jdbc, Notes notes, TestDatabase database) {
      this.jdbc = jdbc;
      this.notes = notes;
      this.database = database;
    }

    public List<String> seen() {
      return seen;
    }

    @InboxHandler(channel = "orders", key = "reserve-stock")
    @Transactional
    public void reserve(OrderPlaced order) {
      notes.write(order.order());
      TransactionSynchronizationManager.registerSynchronization(
          new TransactionSynchronization() {
            @Override
            public void beforeCommit(boolean readOnly) {
              look();
              throw new IllegalStateException("so nothing commits");
            }
          });
    }

    private void look() {
      String quote = database.kind() == DatabaseKind.MARIADB ? "`" : "\"";
      String receipts = "SELECT count(*) FROM %1$spigeonhole_receipt%1$s".formatted(quote);
      Long inside = jdbc.queryForObject(receipts, Long.class);
      seen.add("inside " + inside + ", outside " + database.count(receipts));
    }
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void theReceiptIsWrittenInTheTransactionOfSpringAndNoOther(TestDatabase database) {
    try (World world = new World(database)) {
      world
          .with(World.Basics.class, World.Jdbc.class, World.WithInbox.class, World.Frozen.class)
          .with(Notes.class, Looking.class)
          .start();
      world.handle(1);

      assertThat(world.bean(Looking.class).seen()).containsExactly("inside 1, outside 0");
      assertThat(world.completed()).isZero();
      assertThat(world.notes()).isZero();
      assertThat(world.delivery(1).state()).isEqualTo(DeliveryState.SCHEDULED);
      assertThat(world.delivery(1).failures()).isEqualTo(1);
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
        world.handle(1);
        Eventually.until(
            Charges.LIMIT,
            () -> {
              world.inbox().drain();
              return world.delivery(1).state() == DeliveryState.COMPLETED;
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
    ListAppender<ILoggingEvent> log = World.logOf(SpringTransactions.class);
    try (World world = World.postgres()) {
      world
          .with(World.Basics.class, World.Jdbc.class, World.WithInbox.class)
          .with(Notes.class, FailingLater.class)
          .start();
      world.handle(1);
      world.inbox().drain();

      assertThat(world.delivery(1).state())
          .as("%s", world.delivery(1).lastFailure())
          .isEqualTo(DeliveryState.COMPLETED);
      assertThat(world.delivery(1).failures()).isZero();
      assertThat(world.notes()).isEqualTo(1);
      assertThat(log.list)
          .extracting(ILoggingEvent::getFormattedMessage)
          .filteredOn(line -> line.contains("it is not run again"))
          .hasSize(1);
    }
  }
}
