package dev.pigeonhole.jdbc;

import static dev.pigeonhole.HandlerOption.inline;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.DuplicateRows;
import dev.pigeonhole.support.Proxies;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A body that accepts, in its own transaction, the message that it is run for, so that the other
 * handlers get it in the same commit: its own handler has been run, and gets no delivery.
 */
class OwnMessageTest {
  private static final String ALL = "dev.pigeonhole.support.TestDatabases#all";
  private static final String CHARGE = GuardRig.HANDLER;

  /** What the store knows of the message before the guard comes. */
  enum Before {
    NEW,
    ANOTHER_GUARD,
    ACCEPTED_FOR_ANOTHER,
    ACCEPTED_AND_COUNTED_JUST_NOW
  }

  /** How the body hands in the message. */
  enum As {
    READY,
    NOT_BEFORE,
    WITH_PRIORITY
  }

  private final List<String> notified = new CopyOnWriteArrayList<>();
  private GuardRig rig;
  private Inbox inbox;

  private void open(TestDatabase database, HandlerOption... options) {
    rig = GuardRig.on(database);
    inbox = inbox(options);
  }

  private Inbox inbox(HandlerOption... options) {
    return Inbox.on(rig.store)
        .channel(
            Channel.named("orders")
                .on(String.class)
                .handleInTransaction(
                    CHARGE,
                    (order, tx) -> {
                      GuardRig.write(tx.connection(), order);
                      accept(tx.connection(), order, As.READY);
                    },
                    options)
                .handle("notify", notified::add)
                .build())
        .build();
  }

  @AfterEach
  void close() {
    rig.close();
  }

  private static Message message(String order, As as) {
    Message message = Message.of(order, order);
    return switch (as) {
      case READY -> message;
      case NOT_BEFORE -> message.notBefore(Instant.now().plus(Duration.ofHours(1)));
      case WITH_PRIORITY -> message.priority(5);
    };
  }

  private Acceptance accept(Connection connection, String order, As as) {
    return inbox.accept(connection, "orders", message(order, as));
  }

  private static GuardKey key(String handler, String order) {
    return GuardKey.ofMessage(handler, "orders", order);
  }

  private void prepare(Before before, String order) {
    if (before == Before.ANOTHER_GUARD) {
      rig.guard.run(key("another", order), tx -> 1);
    } else if (before != Before.NEW) {
      Inbox former =
          Inbox.on(rig.store)
              .channel(
                  Channel.named("orders").on(String.class).handle("notify", notified::add).build())
              .build();
      for (int copy = before == Before.ACCEPTED_FOR_ANOTHER ? 1 : 3; copy > 0; copy--) {
        former.accept("orders", Message.of(order, order));
      }
    }
  }

  private static Stream<Arguments> runs() {
    return Stream.of(DatabaseKind.values())
        .flatMap(kind -> Stream.of(Before.values()).map(before -> Arguments.of(kind, before)));
  }

  private void assertDoneOnce(String order) {
    assertThat(rig.effects(order)).as("effects of %s", order).isOne();
    assertThat(
            rig.database.count(
                "SELECT COUNT(*) FROM %s WHERE outcome <> 0"
                    .formatted(GuardRig.table(rig.database, "receipt"))))
        .as("receipts that are not completed")
        .isZero();
    assertThat(DuplicateRows.in(rig.database)).isEmpty();
  }

  @ParameterizedTest
  @MethodSource("runs")
  void aGuardThatAcceptsItsOwnMessageIsNotDeliveredToItself(DatabaseKind kind, Before before)
      throws SQLException {
    open(TestDatabases.open(kind));
    for (As as : As.values()) {
      String order = "own-" + as;
      prepare(before, order);

      assertThat(
              rig.guard.run(
                  key(CHARGE, order),
                  tx -> {
                    GuardRig.write(tx, order);
                    return accept(tx.connection(), order, as);
                  }))
          .isInstanceOfSatisfying(
              Guarded.Ran.class,
              ran -> assertThat(ran.value()).isInstanceOf(Acceptance.Repeat.class));

      assertDoneOnce(order);
    }
    inbox.drain();

    for (As as : As.values()) {
      assertDoneOnce("own-" + as);
    }
    assertThat(notified).contains("own-READY", "own-WITH_PRIORITY").doesNotHaveDuplicates();
  }

  @ParameterizedTest
  @MethodSource("runs")
  void theSameInTheTransactionOfACaller(DatabaseKind kind, Before before) throws SQLException {
    open(TestDatabases.open(kind));
    List<Integer> levels =
        List.of(Connection.TRANSACTION_READ_COMMITTED, Connection.TRANSACTION_SERIALIZABLE);
    for (int isolation : levels) {
      String order = "joined-" + isolation;
      prepare(before, order);
      try (Connection mine = rig.database.dataSource().getConnection()) {
        mine.setTransactionIsolation(isolation);
        mine.setAutoCommit(false);
        assertThat(
                rig.guard.run(
                    mine,
                    key(CHARGE, order),
                    tx -> {
                      GuardRig.write(tx, order);
                      return accept(tx.connection(), order, As.READY);
                    }))
            .isInstanceOf(Guarded.Ran.class);
        mine.commit();
      }
      assertDoneOnce(order);
    }
    inbox.drain();

    levels.forEach(isolation -> assertDoneOnce("joined-" + isolation));
    assertThat(notified).hasSize(2);
  }

  /** The library's own wrapper is inside another one then. */
  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void aBodyThatWrapsItsConnectionIsNotDeliveredToItself(DatabaseKind kind) throws SQLException {
    open(TestDatabases.open(kind));
    assertThat(
            rig.guard.run(
                key(CHARGE, "o-1"),
                tx -> {
                  GuardRig.write(tx, "o-1");
                  return accept(wrapped(tx.connection()), "o-1", As.READY);
                }))
        .isInstanceOf(Guarded.Ran.class);
    inbox.drain();

    assertDoneOnce("o-1");
    assertThat(notified).containsExactly("o-1");
  }

  private static Connection wrapped(Connection connection) {
    return Proxies.proxy(
        Connection.class, (self, method, args) -> Proxies.call(connection, method, args));
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void whatTheBodyAcceptsBesideItsOwnMessageIsDelivered(TestDatabase database) throws SQLException {
    open(database);
    prepare(Before.ACCEPTED_FOR_ANOTHER, "o-2");
    rig.guard.run(
        key(CHARGE, "o-1"),
        tx -> {
          GuardRig.write(tx, "o-1");
          return List.of(
              accept(tx.connection(), "o-2", As.READY), accept(tx.connection(), "o-3", As.READY));
        });
    inbox.drain();

    for (String order : List.of("o-1", "o-2", "o-3")) {
      assertDoneOnce(order);
    }
    assertThat(notified).containsExactlyInAnyOrder("o-2", "o-3");
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aGuardThatFailsAfterItHasAcceptedItsOwnMessageLeavesNothing(TestDatabase database)
      throws SQLException {
    open(database);
    try {
      rig.guard.run(
          key(CHARGE, "o-1"),
          tx -> {
            accept(tx.connection(), "o-1", As.READY);
            throw new IllegalStateException("not now");
          });
    } catch (IllegalStateException e) {
      assertThat(e).hasMessage("not now");
    }

    assertThat(rig.count("message") + rig.count("delivery") + rig.count("receipt")).isZero();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aTransactionalHandlerThatAcceptsItsOwnMessageRunsOnce(TestDatabase database) {
    open(database);
    inbox.accept("orders", Message.of("o-1", "o-1"));
    inbox.drain();
    inbox.drain();

    assertDoneOnce("o-1");
    assertThat(notified).containsExactly("o-1");
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void anInlineHandlerThatAcceptsItsOwnMessageRunsOnce(TestDatabase database) throws SQLException {
    open(database, inline());
    List<Acceptance> answers = new ArrayList<>();
    answers.add(inbox.accept("orders", Message.of("o-1", "o-1")));
    try (Connection mine = rig.database.dataSource().getConnection()) {
      mine.setAutoCommit(false);
      answers.add(inbox.accept(mine, "orders", Message.of("o-2", "o-2")));
      mine.commit();
    }
    inbox.drain();

    assertThat(answers).hasOnlyElementsOfType(Acceptance.Accepted.class);
    assertDoneOnce("o-1");
    assertDoneOnce("o-2");
    assertThat(notified).containsExactlyInAnyOrder("o-1", "o-2");
  }
}
