package dev.pigeonhole.spring;

import static dev.pigeonhole.spring.World.order;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.InboxException;
import jakarta.persistence.EntityManager;
import jakarta.persistence.PersistenceContext;
import java.io.IOException;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/** Handlers that run where a message is handed in, in transactions of Spring. */
class InlineTransactionTest {
  static class InlineWriting {
    private final Notes notes;

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

  static class InlinePersisting {
    @PersistenceContext private EntityManager entities;

    /** Without @Transactional: nothing of Spring's own marks the transaction. */
    @InboxHandler(channel = "orders", key = "reserve-stock", inline = true)
    void reserve(OrderPlaced order, Connection connection) throws IOException {
      entities.persist(new Effect(order.order()));
      switch (order.order()) {
        case "o-1" -> throw new IOException("while JPA has not written anything yet");
        case "o-2" -> throw new InboxException(ErrorCode.GUARD_BUSY, "a guard that it has called");
        default -> {}
      }
    }
  }

  /** The savepoint has taken back the receipt, and JPA has yet to write. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void whatAnInlineHandlerThatFailedHasLeftInJpaIsNotWrittenByItsCaller(int failing) {
    try (World world = World.postgres()) {
      world
          .with(World.Basics.class, World.Jpa.class, World.WithInbox.class)
          .with(InlinePersisting.class)
          .start();
      InboxTemplate template = world.bean(InboxTemplate.class);
      assertThatThrownBy(
              () ->
                  world
                      .transaction()
                      .executeWithoutResult(
                          status ->
                              assertThat(
                                      template.accept("orders", List.of(order(3), order(failing))))
                                  .last()
                                  .isInstanceOf(Acceptance.Unfinished.class)))
          .isInstanceOf(InboxException.class)
          .hasMessageStartingWith("PH-TX-09")
          .hasMessageContaining("Unfinished");
      assertThat(world.effects()).isZero();
      assertThat(world.completed()).isZero();

      world
          .transaction()
          .executeWithoutResult(status -> template.accept("orders", List.of(order(3), order(4))));
      assertThat(world.effects()).isEqualTo(2);
      assertThat(world.completed()).isEqualTo(2);
    }
  }

  /** When a commit has been asked for, and is not done yet. */
  enum Phase {
    BEFORE_COMMIT {
      @Override
      TransactionSynchronization doing(Runnable action) {
        return new TransactionSynchronization() {
          @Override
          public void beforeCommit(boolean readOnly) {
            action.run();
          }
        };
      }
    },
    BEFORE_COMPLETION {
      @Override
      TransactionSynchronization doing(Runnable action) {
        return new TransactionSynchronization() {
          @Override
          public void beforeCompletion() {
            action.run();
          }
        };
      }
    };

    abstract TransactionSynchronization doing(Runnable action);
  }

  private static void commitAfter(World world, Phase phase, Runnable action) {
    world
        .transaction()
        .executeWithoutResult(
            status ->
                TransactionSynchronizationManager.registerSynchronization(phase.doing(action)));
  }

  /** Synchronizations that are registered so late are not asked before the commit. */
  @ParameterizedTest
  @EnumSource
  void norIsItWhenItHasFailedWhileTheCommitBegins(Phase phase) {
    try (World world = World.postgres()) {
      world
          .with(World.Basics.class, World.Jpa.class, World.WithInbox.class)
          .with(InlinePersisting.class)
          .start();
      InboxTemplate template = world.bean(InboxTemplate.class);
      List<Acceptance> answers = new ArrayList<>();
      assertThatThrownBy(
              () ->
                  commitAfter(
                      world,
                      phase,
                      () -> answers.addAll(template.accept("orders", List.of(order(1), order(3))))))
          .isInstanceOf(InboxException.class)
          .hasMessageStartingWith("PH-TX-09")
          .hasMessageContaining("Unfinished");
      assertThat(answers).hasSize(2).first().isInstanceOf(Acceptance.Unfinished.class);
      assertThat(world.effects()).isZero();
      assertThat(world.completed()).isZero();

      commitAfter(world, phase, () -> template.accept("orders", order(3)));
      assertThat(world.completed()).isEqualTo(1);
    }
  }

  @ParameterizedTest
  @EnumSource
  void norIsWhatAGuardedRunHasLeftThatFailedWhileTheCommitBegins(Phase phase) {
    try (World world = World.postgres()) {
      world
          .with(World.Basics.class, World.Jpa.class, IdempotentMethodTest.WithGuard.class)
          .with(Persisting.class)
          .start();
      Persisting body = world.bean(Persisting.class);
      GuardTemplate guard = world.bean(GuardTemplate.class);
      assertThatThrownBy(
              () ->
                  commitAfter(
                      world,
                      phase,
                      () ->
                          assertThatThrownBy(
                                  () ->
                                      guard.run(
                                          GuardKey.of("charge-card", "charge", "o-1"),
                                          tx -> body.failing("o-1")))
                              .isInstanceOf(IOException.class)))
          .isInstanceOf(InboxException.class)
          .hasMessageStartingWith("PH-TX-09");
      assertThat(world.effects()).isZero();
      assertThat(world.completed()).isZero();
    }
  }

  static class Persisting {
    @PersistenceContext private EntityManager entities;

    Object failing(String order) throws IOException {
      entities.persist(new Effect(order));
      throw new IOException("while JPA has not written anything yet");
    }
  }

  static class InlineWaiting {
    final CountDownLatch entered = new CountDownLatch(1);
    final CountDownLatch go = new CountDownLatch(1);

    @InboxHandler(channel = "orders", key = "reserve-stock", inline = true)
    void reserve(OrderPlaced order) throws InterruptedException {
      entered.countDown();
      go.await();
    }
  }

  /** Nothing has run for this caller, so it has nothing to take back. */
  @Test
  void whoComesWhileACopyIsAtWorkMayCommit() throws Exception {
    try (World world = World.postgres()) {
      world
          .with(World.Basics.class, World.Jdbc.class, World.WithInbox.class)
          .with(Notes.class, InlineWaiting.class)
          .start();
      InlineWaiting handler = world.bean(InlineWaiting.class);
      CompletableFuture<Acceptance> first =
          CompletableFuture.supplyAsync(() -> world.inbox().accept("orders", order(1)));
      handler.entered.await();
      world
          .transaction()
          .executeWithoutResult(
              status -> {
                world.bean(Notes.class).write("o-1");
                assertThat(world.bean(InboxTemplate.class).accept("orders", order(1)).toString())
                    .contains("PH-GRD-04");
              });
      handler.go.countDown();
      assertThat(first.get()).isInstanceOf(Acceptance.Accepted.class);
      assertThat(world.notes()).isEqualTo(1);
    }
  }
}
