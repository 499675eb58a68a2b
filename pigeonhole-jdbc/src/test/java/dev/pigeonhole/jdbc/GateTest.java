package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Interleavings that broke earlier drafts of the gate, step by step. */
class GateTest {

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void pg09_aDeliveryThatLivedWhileARepeatWaitedForItsLockIsNotCreatedAgain(TestDatabase database)
      throws Exception {
    Rig rig = Rig.on(database);
    NewMessage first = rig.message("a", rig.a);
    NewMessage second = rig.message("b", rig.a);
    rig.store.acceptor().accept(List.of(first, second));
    CompletableFuture<List<AcceptResult>> waiting;
    try (Connection other = database.dataSource().getConnection()) {
      other.setAutoCommit(false);
      lock(rig, other, "a");
      waiting =
          CompletableFuture.supplyAsync(
              () ->
                  rig.store
                      .acceptor()
                      .accept(
                          List.of(rig.message("a", rig.a, rig.b), rig.message("b", rig.a, rig.b))));
      rig.accept(rig.message("b", rig.a, rig.b));
      rig.complete(rig.open(rig.b, 10));
      other.rollback();
    }
    List<AcceptResult> results = waiting.get(300, TimeUnit.SECONDS);

    assertThat(results).allMatch(each -> each instanceof AcceptResult.Known);
    Delivery open = rig.only(rig.b);
    assertThat(rig.store.deliveries().load(List.of(open.seq())).get(open.seq()).id())
        .isEqualTo("a");
    assertThat(rig.count("receipt")).isEqualTo(1);
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void anIdInAnotherOpenTransactionDelaysOnlyItselfAndItsKey(TestDatabase database)
      throws Exception {
    Rig rig = Rig.on(database);
    List<NewMessage> batch =
        List.of(
            rig.message("free-1", rig.a),
            rig.message("held", 7L, "x", rig.a),
            rig.message("follower", 7L, "x", rig.a),
            rig.message("free-2", rig.a));
    CompletableFuture<List<AcceptResult>> accepting;
    try (Connection other = database.dataSource().getConnection()) {
      other.setAutoCommit(false);
      rig.store.acceptor().accept(other, List.of(rig.message("held", 7L, "x", rig.a)));
      accepting = CompletableFuture.supplyAsync(() -> rig.store.acceptor().accept(batch));
      Eventually.until(
          "the free messages to be accepted",
          Duration.ofMinutes(5),
          () -> rig.count("message") == 2);
      other.rollback();
    }
    List<AcceptResult> results = accepting.get(300, TimeUnit.SECONDS);

    assertThat(results).allMatch(each -> each instanceof AcceptResult.Stored);
    assertThat(seq(results.get(1))).isLessThan(seq(results.get(2)));
    assertThat(rig.count("delivery")).isEqualTo(4);
  }

  @Test
  void aKnownIdInAnotherOpenTransactionLeavesNewOnesOfTheSharedCommitStored() throws Exception {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES)) {
      Rig rig = Rig.on(database);
      rig.accept(rig.message("known", rig.a));
      List<AcceptResult> results;
      try (Connection other = database.dataSource().getConnection()) {
        other.setAutoCommit(false);
        lock(rig, other, "known");
        results =
            rig.store
                .acceptor()
                .acceptTogether(
                    List.of(
                        rig.message("new-1", rig.a),
                        rig.message("known", rig.a),
                        rig.message("new-2", rig.a),
                        rig.message("new-2", rig.a)));
        other.rollback();
      }

      assertThat(results.get(0)).isInstanceOf(AcceptResult.Stored.class);
      assertThat(results.get(1)).isEqualTo(new AcceptResult.Busy());
      assertThat(results.get(2)).isInstanceOf(AcceptResult.Stored.class);
      assertThat(results.get(3)).isInstanceOf(AcceptResult.Known.class);
      assertThat(rig.count("message")).isEqualTo(3);
    }
  }

  @Test
  void aKnownIdInAnotherOpenTransactionDelaysOnlyItselfInABatch() throws Exception {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES)) {
      Rig rig = Rig.on(database);
      rig.accept(rig.message("known", rig.a));
      CompletableFuture<List<AcceptResult>> accepting;
      try (Connection other = database.dataSource().getConnection()) {
        other.setAutoCommit(false);
        lock(rig, other, "known");
        accepting =
            CompletableFuture.supplyAsync(
                () ->
                    rig.store
                        .acceptor()
                        .accept(
                            List.of(
                                rig.message("new", rig.a),
                                rig.message("known", rig.a),
                                rig.message("new", rig.a))));
        Eventually.until(
            "the new message to be accepted",
            Duration.ofMinutes(5),
            () -> rig.count("message") == 2);
        other.rollback();
      }
      List<AcceptResult> results = accepting.get(300, TimeUnit.SECONDS);

      assertThat(results.get(0)).isInstanceOf(AcceptResult.Stored.class);
      assertThat(results.get(1)).isInstanceOf(AcceptResult.Known.class);
      assertThat(results.get(2)).isInstanceOf(AcceptResult.Known.class);
    }
  }

  /** Locks the row of a message, as a repeat does that adds nothing. */
  private static void lock(Rig rig, Connection connection, String id) throws SQLException {
    try (PreparedStatement lock =
        connection.prepareStatement(
            "SELECT seq FROM "
                + rig.table("message")
                + " WHERE source = ? AND id = ? FOR UPDATE")) {
      lock.setString(1, "test");
      lock.setString(2, id);
      lock.executeQuery();
    }
  }

  private static long seq(AcceptResult result) {
    return ((AcceptResult.Stored) result).seq();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void aRowBlockedAfterItsHeadWasRetriedDoesNotWaitForEver(TestDatabase database) {
    Rig rig = Rig.on(database);
    rig.store
        .acceptor()
        .accept(
            List.of(rig.message("head", 7L, "x", rig.a), rig.message("follower", 7L, "x", rig.a)));
    List<Delivery> both = rig.open(rig.a, 10);
    rig.settle(both.subList(0, 1), new Outcome.Poisoned(Rig.failure("no"), true));
    // The engine has seen the poisoned head; before it says so, an operator retries the head.
    rig.store.admin().retry("test", "head", rig.a.family(), "ada", "fixed");
    rig.settle(both.subList(1, 2), new Outcome.Blocked());

    assertThat(rig.open(rig.a, 10)).hasSize(2);
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void theAuditNamesTheKeyOfWhatWasRetried(TestDatabase database) {
    Rig rig = Rig.on(database);
    rig.accept(rig.message("m", rig.b));
    rig.settle(rig.open(rig.b, 10), new Outcome.Poisoned(Rig.failure("no"), true));

    rig.store.admin().retry("test", "m", rig.b.family(), "ada", "fixed");

    assertThat(database.rows("SELECT subject FROM " + rig.table("audit")))
        .singleElement()
        .extracting(row -> row.get("subject"))
        .isEqualTo("test/m for handler 'b'");
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void familiesDeclaredOneLaterCountAsOne(TestDatabase database) {
    Rig rig = Rig.on(database);
    rig.accept(rig.message("m", rig.a));
    rig.complete(rig.open(rig.a, 10));
    List<HandlerId> joined = rig.store.maintenance().register(List.of(List.of("b", "a"))).get(0);

    AcceptResult again = rig.accept(rig.message("m", joined.get(0)));

    assertThat(((AcceptResult.Known) again).added()).isEmpty();
    assertThat(rig.count("delivery")).isZero();
    // A store that was opened later knows it, too.
    Rig other = Rig.on(database, database.dataSource());
    assertThat(((AcceptResult.Known) other.accept(other.message("m", other.b))).added()).isEmpty();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void aFloodOfRepeatsIsCountedOnceASecond(TestDatabase database) {
    Rig rig = Rig.on(database);
    rig.accept(rig.message("m", rig.a));
    long before = System.nanoTime();
    for (int i = 0; i < 50; i++) {
      rig.accept(rig.message("m", rig.a));
    }
    long seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - before) + 1;

    assertThat(database.count("SELECT repeats FROM " + rig.table("message")))
        .isBetween(1L, seconds);
  }
}
