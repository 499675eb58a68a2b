package dev.pigeonhole.spring;

import static dev.pigeonhole.spring.World.order;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.event.TransactionalEventListener;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * After the commit Spring still shows its transaction, and nobody commits what is written in it.
 */
class EndedTransactionTest {
  private static final GuardKey KEY = GuardKey.of("charge-card", "charge", "o-1");

  static class Ignoring {
    @InboxHandler(channel = "orders", key = "reserve-stock")
    void reserve(OrderPlaced order) {}
  }

  /** A pool whose connections do not commit by themselves, not even when they are given back. */
  static final class Manual extends DelegatingDataSource {
    Manual(TestDatabase database) {
      super(database.pool(5));
    }

    @Override
    public Connection getConnection() throws SQLException {
      Connection connection = super.getConnection();
      connection.setAutoCommit(false);
      return connection;
    }
  }

  /** What is done in a transaction of Spring that others may have ended. */
  enum Use {
    INBOX("pigeonhole_message") {
      @Override
      void in(World world) {
        assertThat(world.bean(InboxTemplate.class).accept("orders", order(1)))
            .isInstanceOf(Acceptance.Accepted.class);
      }
    },
    OUTBOX("pigeonhole_message") {
      @Override
      void in(World world) {
        OutboxTemplate.of(world.inbox().publisher("orders"), world.bean(JdbcStore.class))
            .publish(order(1));
      }
    },
    GUARD("pigeonhole_receipt") {
      @Override
      void in(World world) {
        world.bean(GuardTemplate.class).run(KEY, tx -> null);
      }
    };

    final String table;

    Use(String table) {
      this.table = table;
    }

    abstract void in(World world);
  }

  /** Where code runs when the commit is over. */
  enum Phase {
    AFTER_COMMIT {
      @Override
      TransactionSynchronization doing(Runnable action) {
        return new TransactionSynchronization() {
          @Override
          public void afterCommit() {
            action.run();
          }
        };
      }
    },
    /** Where Spring runs a {@code @TransactionalEventListener}, too. */
    AFTER_COMPLETION {
      @Override
      TransactionSynchronization doing(Runnable action) {
        return new TransactionSynchronization() {
          @Override
          public void afterCompletion(int status) {
            action.run();
          }
        };
      }
    };

    abstract TransactionSynchronization doing(Runnable action);
  }

  static Stream<Arguments> cases() {
    return Stream.of(Use.values())
        .flatMap(
            use ->
                Stream.of(World.Jdbc.class, World.Jpa.class)
                    .map(manager -> Arguments.of(use, manager)));
  }

  private static World world(Class<?> manager) {
    TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES);
    return new World(database, new Manual(database))
        .with(World.Basics.class, manager, World.WithInbox.class)
        .with(IdempotentMethodTest.WithGuard.class, Ignoring.class)
        .start();
  }

  /** Does it in a phase of a transaction that nothing has joined, and answers what it throws. */
  private static @Nullable Throwable after(World world, Phase phase, Runnable action) {
    List<@Nullable Throwable> thrown = new ArrayList<>();
    world
        .transaction()
        .executeWithoutResult(
            status ->
                TransactionSynchronizationManager.registerSynchronization(
                    phase.doing(() -> thrown.add(catchThrowable(action::run)))));
    assertThat(thrown).hasSize(1);
    return thrown.get(0);
  }

  private static void assertRefused(@Nullable Throwable thrown) {
    assertThat(thrown)
        .isInstanceOf(StoreException.class)
        .hasMessageStartingWith("PH-TX-06")
        .hasMessageContaining("has ended")
        .hasMessageContaining("REQUIRES_NEW")
        .hasMessageContaining("BEFORE_COMMIT");
  }

  @ParameterizedTest
  @MethodSource("cases")
  void whatNobodyWouldCommitIsRefused(Use use, Class<?> manager) {
    try (World world = world(manager)) {
      for (Phase phase : Phase.values()) {
        assertRefused(after(world, phase, () -> use.in(world)));
        assertRefused(
            after(
                world,
                phase,
                () -> world.transaction().executeWithoutResult(status -> use.in(world))));
      }
      assertThat(world.rows(use.table)).isZero();
    }
  }

  /** The way out that the refusal names. */
  @ParameterizedTest
  @MethodSource("cases")
  void aReadOnlyTransactionIsRefusedBeforeAnythingRuns(Use use, Class<?> manager) {
    try (World world = world(manager)) {
      TransactionTemplate reading = world.transaction();
      reading.setReadOnly(true);
      assertThatExceptionOfType(StoreException.class)
          .isThrownBy(() -> reading.executeWithoutResult(status -> use.in(world)))
          .withMessageStartingWith("PH-TX-06")
          .withMessageContaining("read-only")
          .withMessageContaining("REQUIRES_NEW");
      assertThat(world.rows(use.table)).isZero();
    }
  }

  @ParameterizedTest
  @MethodSource("cases")
  void aNewTransactionAfterTheCommitIsOneLikeAnyOther(Use use, Class<?> manager) {
    for (Phase phase : Phase.values()) {
      try (World world = world(manager)) {
        TransactionTemplate another = world.transaction();
        another.setPropagationBehavior(TransactionDefinition.PROPAGATION_REQUIRES_NEW);
        assertThat(
                after(
                    world,
                    phase,
                    () ->
                        another.executeWithoutResult(
                            status -> {
                              savepoint(world);
                              use.in(world);
                            })))
            .isNull();
        assertThat(world.rows(use.table)).isEqualTo(1);
      }
    }
  }

  /** One that is released is not the end of the transaction around it. */
  private static void savepoint(World world) {
    if (world.bean(PlatformTransactionManager.class) instanceof JdbcTransactionManager) {
      TransactionTemplate nested = world.transaction();
      nested.setPropagationBehavior(TransactionDefinition.PROPAGATION_NESTED);
      nested.executeWithoutResult(status -> {});
      nested.executeWithoutResult(TransactionStatus::setRollbackOnly);
    }
  }

  /** A commit that somebody refuses before it has begun is told of late. */
  @ParameterizedTest
  @MethodSource("cases")
  void aWriteAfterARejectedCommitIsRefused(Use use, Class<?> manager) {
    try (World world = world(manager)) {
      List<@Nullable Throwable> thrown = new ArrayList<>();
      Runnable inIt = () -> world.transaction().executeWithoutResult(status -> use.in(world));
      assertThat(
              catchThrowable(
                  () ->
                      world
                          .transaction()
                          .executeWithoutResult(
                              status ->
                                  TransactionSynchronizationManager.registerSynchronization(
                                      new TransactionSynchronization() {
                                        @Override
                                        public void beforeCommit(boolean readOnly) {
                                          throw new IllegalStateException("no");
                                        }

                                        @Override
                                        public void afterCompletion(int status) {
                                          thrown.add(catchThrowable(inIt::run));
                                        }
                                      }))))
          .hasMessage("no");
      assertThat(thrown).hasSize(1);
      assertRefused(thrown.get(0));
      assertThat(world.rows(use.table)).isZero();
    }
  }

  static class Placed {
    final List<Throwable> thrown = new ArrayList<>();
    private final InboxTemplate inbox;

    Placed(InboxTemplate inbox) {
      this.inbox = inbox;
    }

    @TransactionalEventListener
    void on(OrderPlaced order) {
      thrown.add(catchThrowable(() -> inbox.accept("orders", order(1))));
    }
  }

  @Test
  void aListenerOfEventsAfterTheCommitIsRefused() {
    TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES);
    try (World world = new World(database, new Manual(database))) {
      world
          .with(World.Basics.class, World.Jdbc.class, World.WithInbox.class)
          .with(Ignoring.class, Placed.class)
          .start();
      world
          .transaction()
          .executeWithoutResult(
              status -> world.context.publishEvent(new OrderPlaced("o-1", "c-1")));
      List<Throwable> thrown = world.bean(Placed.class).thrown;
      assertThat(thrown).hasSize(1);
      assertRefused(thrown.get(0));
      assertThat(world.rows("pigeonhole_message")).isZero();
    }
  }

  /** Callers may have another manager of the same DataSource than the inbox. */
  @Configuration(proxyBeanMethods = false)
  static class AnotherManager {
    @Bean(defaultCandidate = false)
    PlatformTransactionManager another(DataSource dataSource) {
      return new JdbcTransactionManager(dataSource);
    }
  }

  @Test
  void everyManagerOfTheContextTellsWhenItsTransactionsEnd() {
    TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES);
    try (World world = new World(database, new Manual(database))) {
      world
          .with(World.Basics.class, World.Jdbc.class, World.WithInbox.class)
          .with(Ignoring.class, AnotherManager.class)
          .start();
      List<@Nullable Throwable> thrown = new ArrayList<>();
      new TransactionTemplate(world.context.getBean("another", PlatformTransactionManager.class))
          .executeWithoutResult(
              status ->
                  TransactionSynchronizationManager.registerSynchronization(
                      Phase.AFTER_COMMIT.doing(
                          () -> thrown.add(catchThrowable(() -> Use.INBOX.in(world))))));
      assertThat(thrown).hasSize(1);
      assertRefused(thrown.get(0));
    }
  }
}
