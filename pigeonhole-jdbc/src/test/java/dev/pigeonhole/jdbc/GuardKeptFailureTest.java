package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Guard;
import dev.pigeonhole.GuardBuilder;
import dev.pigeonhole.GuardTransaction;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.KeptFailureException;
import dev.pigeonhole.Message;
import dev.pigeonhole.RetryLaterException;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.http.HttpAnswer;
import dev.pigeonhole.http.HttpCall;
import dev.pigeonhole.http.IdempotentEndpoint;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.support.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Failures that a guard was asked to keep, and those that it never keeps. */
class GuardKeptFailureTest {
  private static final String ALL = "dev.pigeonhole.support.TestDatabases#all";

  static class Refused extends Exception {
    private static final long serialVersionUID = 1L;

    Refused(String message) {
      super(message);
    }
  }

  static final class Declined extends Refused {
    private static final long serialVersionUID = 1L;

    Declined(String message) {
      super(message);
    }
  }

  private final Declined declined = new Declined("no money");
  private GuardRig rig;

  private void open(TestDatabase database) {
    open(database, options -> options.keepFailures(Refused.class));
  }

  private void open(TestDatabase database, UnaryOperator<GuardBuilder> options) {
    rig = GuardRig.on(database, options);
  }

  @AfterEach
  void close() {
    rig.close();
  }

  private static Object failing(GuardTransaction tx, String id, Exception failure)
      throws Exception {
    GuardRig.write(tx, id);
    throw failure;
  }

  private void fails(String id, Exception failure) {
    assertThatThrownBy(() -> rig.guard.run(GuardRig.key(id), tx -> failing(tx, id, failure)))
        .isSameAs(failure);
  }

  private static Object never(GuardTransaction tx) {
    throw new AssertionError("ran again");
  }

  private KeptFailureException refused(ThrowingCallable repeat) {
    Throwable[] caught = new Throwable[1];
    assertThatExceptionOfType(KeptFailureException.class)
        .isThrownBy(repeat)
        .satisfies(e -> caught[0] = e);
    return (KeptFailureException) caught[0];
  }

  private void assertUntouched(String id) {
    assertThat(rig.effects(id)).isZero();
    assertThat(rig.count("receipt")).isZero();
    assertThat(rig.count("answer")).isZero();
    assertThat(rig.guard.run(GuardRig.key(id), tx -> 1)).isInstanceOf(Guarded.Ran.class);
  }

  // ---- what is kept

  @ParameterizedTest
  @MethodSource(ALL)
  void ph_grd_05_aFailureThatIsKeptUndoesItsWritesAndIsToldToEveryRepeat(TestDatabase database) {
    open(database);
    Instant before = Instant.now().minusSeconds(60);

    fails("k-1", declined);

    assertThat(rig.effects("k-1")).isZero();
    assertThat(rig.count("receipt")).isOne();
    for (ThrowingCallable repeat :
        List.<ThrowingCallable>of(
            () -> rig.guard.run(GuardRig.key("k-1"), GuardKeptFailureTest::never),
            () -> rig.guard.answer(GuardRig.key("k-1"), Object.class, tx -> never(tx)))) {
      KeptFailureException kept = refused(repeat);
      assertThat(kept.code()).isEqualTo(ErrorCode.GUARD_FAILURE_KEPT);
      assertThat(kept.failureType()).isEqualTo(Declined.class.getName());
      assertThat(kept.failureMessage()).isEqualTo("no money");
      assertThat(kept.failedAt()).isAfter(before);
      assertThat(kept).hasMessageContaining("no money").hasMessageContaining("k-1");
    }
    assertThat(rig.counts.of(InboxEvent.GuardFailed.class, GuardRig.HANDLER)).isOne();
    assertThat(rig.counts.of(InboxEvent.GuardRepeated.class, GuardRig.HANDLER)).isEqualTo(2);
    assertThat(rig.counts.of(InboxEvent.GuardRan.class)).isZero();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aFailureInsteadOfAnAnswerIsKeptAndAnAnswerIsAnAnswer(TestDatabase database)
      throws Exception {
    open(database);
    assertThatThrownBy(
            () ->
                rig.guard.answer(
                    GuardRig.key("k-1"), Object.class, tx -> failing(tx, "k-1", declined)))
        .isSameAs(declined);
    rig.guard.answer(GuardRig.key("k-2"), String.class, tx -> "paid");

    refused(() -> rig.guard.answer(GuardRig.key("k-1"), Object.class, tx -> never(tx)));
    Guarded<String> again = rig.guard.answer(GuardRig.key("k-2"), String.class, tx -> "never");
    assertThat(((Guarded.Repeat<String>) again).answer()).hasValue("paid");
    assertThat(rig.effects("k-1")).isZero();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aGuardThatKeepsNoFailuresItselfTellsOfThoseThatAreKept(TestDatabase database) {
    open(database);
    fails("k-1", declined);
    try (Guard other = Guard.on(rig.store).keepReceiptsForEver().build()) {
      refused(() -> other.run(GuardRig.key("k-1"), GuardKeptFailureTest::never));
    }
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aFailureIsKeptAsLongAsItsReceiptAndItsMessageWithinBounds(TestDatabase database) {
    open(
        database,
        options ->
            options.keepFailures(Refused.class).keepAnswers(Duration.ofSeconds(1)).maxAnswer(10));
    fails("k-1", new Declined("\0" + "x".repeat(5_000)));

    assertThat(
            database.count(
                "SELECT COUNT(*) FROM %s WHERE keep_until IS NULL"
                    .formatted(GuardRig.table(database, "answer"))))
        .isOne();
    assertThat(
            refused(() -> rig.guard.run(GuardRig.key("k-1"), GuardKeptFailureTest::never))
                .failureMessage())
        .hasSize(2_000)
        .startsWith("\\u0000xxx");
  }

  // ---- what is not

  @ParameterizedTest
  @MethodSource(ALL)
  void otherFailuresAreNotKept(TestDatabase database) {
    open(database);
    fails("k-1", new IllegalStateException("a bug"));
    assertUntouched("k-1");
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void noFailureIsKeptAfterAnErrorOfTheDatabase(TestDatabase database) {
    open(database, options -> options.keepFailures(Refused.class, SQLException.class));
    assertThatThrownBy(
            () ->
                rig.guard.run(
                    GuardRig.key("k-1"),
                    tx -> {
                      GuardRig.write(tx, "k-1");
                      breakStatement(tx);
                      return null;
                    }))
        .isInstanceOf(SQLException.class);
    assertThatThrownBy(
            () ->
                rig.guard.run(
                    GuardRig.key("k-1"),
                    tx -> {
                      GuardRig.write(tx, "k-1");
                      try {
                        breakStatement(tx);
                      } catch (SQLException e) {
                        throw declined;
                      }
                      return null;
                    }))
        .isSameAs(declined);
    assertUntouched("k-1");
  }

  private static void breakStatement(GuardTransaction tx) throws SQLException {
    try (Statement statement = tx.connection().createStatement()) {
      statement.executeUpdate("INSERT INTO no_such_table VALUES (1)");
    }
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void whatMayBeGoneNextTimeIsNeverKept(TestDatabase database) throws Exception {
    open(database, options -> options.keepFailures(Exception.class));
    for (Exception passing :
        List.of(
            RetryLaterException.after(Duration.ofSeconds(1)),
            new InterruptedException("stopping"),
            new StoreException(
                StoreException.Kind.TRANSIENT, ErrorCode.DATABASE_TRANSIENT, "later", null))) {
      fails("k-1", passing);
    }
    HttpCall call =
        new HttpCall("POST", "/", Map.of("Idempotency-Key", List.of("k-1")), new byte[0]);
    IdempotentEndpoint endpoint = IdempotentEndpoint.named("pay", rig.guard);
    assertThat(endpoint.handle(call, tx -> HttpAnswer.of(500)).status()).isEqualTo(500);

    assertUntouched("k-1"); // nor is anything of the endpoint there
    assertThat(endpoint.handle(call, tx -> HttpAnswer.of(201)).status()).isEqualTo(201);
  }

  // ---- in the transaction of a caller

  @ParameterizedTest
  @MethodSource(ALL)
  void aFailureThatIsKeptLeavesTheCallersTransactionUsable(TestDatabase database)
      throws SQLException {
    open(database);
    try (Connection connection = rig.begin()) {
      GuardRig.write(connection, "before");
      assertThatThrownBy(
              () ->
                  rig.guard.run(
                      connection, GuardRig.key("k-1"), tx -> failing(tx, "k-1", declined)))
          .isSameAs(declined);
      GuardRig.write(connection, "between");
      refused(() -> rig.guard.run(connection, GuardRig.key("k-1"), GuardKeptFailureTest::never));
      GuardRig.write(connection, "after");
      connection.commit();
    }
    assertThat(rig.effects("before") + rig.effects("between") + rig.effects("after")).isEqualTo(3);
    assertThat(rig.effects("k-1")).isZero();
    refused(() -> rig.guard.run(GuardRig.key("k-1"), GuardKeptFailureTest::never));
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aFailureIsNotKeptIfTheCallerRollsBack(TestDatabase database) throws SQLException {
    open(database);
    try (Connection connection = rig.begin()) {
      assertThatThrownBy(
              () ->
                  rig.guard.run(
                      connection, GuardRig.key("k-1"), tx -> failing(tx, "k-1", declined)))
          .isSameAs(declined);
      connection.rollback();
    }
    assertUntouched("k-1");
  }

  // ---- with an inbox on the same tables

  @ParameterizedTest
  @MethodSource(ALL)
  void whatHasFailedForGoodIsDoneForTheInbox(TestDatabase database) {
    open(database);
    Inbox inbox =
        Inbox.on(rig.store)
            .channel(
                Channel.named("charges")
                    .on(String.class)
                    .named("charge")
                    .keyedBy(key -> key)
                    .handleInTransaction(
                        GuardRig.HANDLER, (key, tx) -> GuardRig.write(tx.connection(), key))
                    .build())
            .build();
    inbox.accept("charges", Message.of("m-1", "waits"));

    fails("waits", declined);
    fails("comes", declined);

    assertThat(inbox.accept("charges", Message.of("m-2", "comes")))
        .isInstanceOf(Acceptance.Repeat.class);
    inbox.drain();
    assertThat(rig.effects("waits") + rig.effects("comes")).isZero();
    assertThat(rig.count("delivery") + rig.count("later") + rig.count("poison")).isZero();
    assertThat(rig.count("receipt")).isEqualTo(2);
  }
}
