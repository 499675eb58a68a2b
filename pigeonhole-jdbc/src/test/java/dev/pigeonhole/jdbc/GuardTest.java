package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Guard;
import dev.pigeonhole.GuardBuilder;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.GuardTransaction;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.Idempotent;
import dev.pigeonhole.IdempotentMessage;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.MissingKeyException;
import dev.pigeonhole.OnMissingKey;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.lease.LeaseGuard;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import dev.pigeonhole.testkit.MemoryGuardStore;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What a guard promises, on every database. Races are in {@link GuardRaceTest}, what bodies may do
 * in {@link GuardBodyTest}, and what becomes of settings in {@link GuardSettingsTest}.
 */
class GuardTest {
  private static final String ALL = "dev.pigeonhole.support.TestDatabases#all";

  private GuardRig rig;

  private void open(TestDatabase database) {
    open(database, options -> options);
  }

  private void open(TestDatabase database, UnaryOperator<GuardBuilder> options) {
    rig = GuardRig.on(database, options);
  }

  @AfterEach
  void close() {
    rig.close();
  }

  private Guarded<Void> charge(String id) throws SQLException {
    return rig.guard.run(
        GuardRig.key(id),
        tx -> {
          GuardRig.write(tx, id);
          return null;
        });
  }

  private void assertUntouched(String id) {
    assertThat(rig.effects(id)).isZero();
    assertThat(rig.count("receipt")).isZero();
    assertThat(rig.count("message")).isZero();
  }

  // ---- in a transaction of its own

  @ParameterizedTest
  @MethodSource(ALL)
  void b38_effectsAndReceiptAreThereTogetherAndARepeatDoesNotRun(TestDatabase database)
      throws SQLException {
    open(database);
    Instant before = Instant.now().minusSeconds(60);

    assertThat(charge("k-1")).isEqualTo(new Guarded.Ran<>(null));
    Guarded<Void> again = charge("k-1");

    assertThat(again)
        .isInstanceOfSatisfying(
            Guarded.Repeat.class,
            repeat -> {
              assertThat(repeat.state()).isEqualTo(DeliveryState.COMPLETED);
              assertThat(repeat.answer()).isEmpty();
              assertThat(repeat.firstRun()).isAfter(before);
            });
    assertThat(rig.effects("k-1")).isOne();
    assertThat(rig.count("receipt")).isOne();
    assertThat(rig.counts.of(InboxEvent.GuardRan.class, GuardRig.HANDLER)).isOne();
    assertThat(rig.counts.of(InboxEvent.GuardRepeated.class, GuardRig.HANDLER)).isOne();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void b37_t11_aFailingBodyLeavesNothingAndItsExceptionArrivesAsItIs(TestDatabase database)
      throws SQLException {
    open(database);
    IOException own = new IOException("card reader is on fire");

    assertThatThrownBy(
            () ->
                rig.guard.run(
                    GuardRig.key("k-1"),
                    tx -> {
                      GuardRig.write(tx, "k-1");
                      throw own;
                    }))
        .isSameAs(own);

    assertUntouched("k-1");
    assertThat(rig.counts.of(InboxEvent.GuardFailed.class)).isOne();
    assertThat(charge("k-1")).isInstanceOf(Guarded.Ran.class);
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void b13_b14_v1_v2_t1_t15_handlersAndTypesAreTrackedApart(TestDatabase database)
      throws SQLException {
    open(database);
    for (GuardKey key :
        new GuardKey[] {
          GuardKey.of("a", "order", "7"), GuardKey.of("b", "order", "7"),
          GuardKey.of("a", "payment", "7"), GuardKey.ofMessage("a", "shop", "7")
        }) {
      Guarded<Void> result =
          rig.guard.run(
              key,
              tx -> {
                GuardRig.write(tx, "7");
                return null;
              });
      assertThat(result).as("%s", key).isInstanceOf(Guarded.Ran.class);
    }
    assertThat(rig.effects("7")).isEqualTo(4);
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void id08_handlersWithTheSameKeyAreAskedForDifferentThings(TestDatabase database) {
    open(database);
    GuardKey charge = GuardKey.of("charge", "order", "7").request("100 EUR");
    GuardKey ship = GuardKey.of("ship", "order", "7").request("2 boxes");

    assertThat(rig.guard.run(charge, tx -> 1)).isEqualTo(new Guarded.Ran<>(1));
    assertThat(rig.guard.run(ship, tx -> 2)).isEqualTo(new Guarded.Ran<>(2));

    assertThat(rig.guard.run(charge, tx -> 3)).isInstanceOf(Guarded.Repeat.class);
    assertThat(rig.guard.run(ship, tx -> 4)).isInstanceOf(Guarded.Repeat.class);
    assertThat(rig.guard.run(ship.request("100 EUR"), tx -> 5))
        .isInstanceOf(Guarded.Conflict.class);
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aHandlerThatWasRenamedDoesNotRunAgain(TestDatabase database) throws SQLException {
    open(database);
    charge("k-1");

    Guarded<Void> renamed =
        rig.guard.run(
            GuardKey.of("charge-card-v2", "charge", "k-1").formerly(GuardRig.HANDLER),
            tx -> {
              throw new AssertionError("ran again");
            });

    assertThat(renamed).isInstanceOf(Guarded.Repeat.class);
  }

  /** One version says that two handlers are one; the others run on beside it and know of one. */
  @ParameterizedTest
  @MethodSource(ALL)
  void aHandlerThatWasTwoIsKnownToThoseWhoKnowOnlyOne(TestDatabase database) {
    open(database);
    rig.guard.run(GuardKey.of("v1", "charge", "k-1"), tx -> 1);
    rig.guard.run(GuardKey.of("v2", "charge", "k-2"), tx -> 1);
    rig.guard.run(GuardKey.of("other", "charge", "k-4"), tx -> 1);
    GuardRig newer = rig.through(rig.dataSource, options -> options);
    try {
      for (String id : new String[] {"k-1", "k-2"}) {
        assertThat(newer.guard.run(ofBoth(id), tx -> 2)).as(id).isInstanceOf(Guarded.Repeat.class);
      }
      for (String id : new String[] {"k-3", "k-4"}) { // new, and known to somebody else
        assertThat(newer.guard.run(ofBoth(id), tx -> 2)).as(id).isEqualTo(new Guarded.Ran<>(2));
        assertThat(rig.guard.run(GuardKey.of("v2", "charge", id), tx -> 3))
            .as(id)
            .isInstanceOf(Guarded.Repeat.class);
      }
    } finally {
      newer.guard.close();
    }
  }

  private static GuardKey ofBoth(String id) {
    return GuardKey.of("v3", "charge", id).formerly("v2", "v1");
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aHandlerThatBecomesOneWithAnotherWhileItRunsIsCompleted(TestDatabase database) {
    open(database);
    rig.guard.run(GuardKey.of("v1", "charge", "k-0"), tx -> 1);

    Guarded<Integer> ran =
        rig.guard.run(
            GuardKey.of("v2", "charge", "k-1"),
            tx -> {
              rig.guard.run(ofBoth("k-2"), inner -> 1); // on another connection
              return 2;
            });

    assertThat(ran).isEqualTo(new Guarded.Ran<>(2));
    assertThat(rig.guard.run(ofBoth("k-1"), tx -> 3)).isInstanceOf(Guarded.Repeat.class);
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void b42_t4_aRepeatGetsTheAnswerOfTheFirstRun(TestDatabase database) {
    open(database);
    AtomicInteger runs = new AtomicInteger();

    for (int i = 0; i < 3; i++) {
      Guarded<String> result =
          rig.guard.answer(
              GuardRig.key("k-1"), String.class, tx -> "receipt " + runs.incrementAndGet());
      String answer =
          result instanceof Guarded.Repeat<String> repeat
              ? repeat.answer().orElseThrow()
              : ((Guarded.Ran<String>) result).value();
      assertThat(answer).isEqualTo("receipt 1");
    }
    assertThat(runs).hasValue(1);
  }

  /** Whatever has failed: its answer is nobody's, also if it fails after it has answered. */
  @ParameterizedTest
  @MethodSource(ALL)
  void anAnswerOfARunThatFailedIsNotKept(TestDatabase database) throws Exception {
    open(database);
    assertThatExceptionOfType(IllegalStateException.class)
        .isThrownBy(
            () ->
                rig.guard.answer(
                    GuardRig.key("throws"),
                    String.class,
                    tx -> {
                      throw new IllegalStateException("no card");
                    }));
    assertThatExceptionOfType(InboxException.class)
        .isThrownBy(() -> rig.guard.answer(GuardRig.key("swallows"), String.class, this::swallowed))
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.TX_SQL_ERROR_SWALLOWED));
    try (Connection connection = rig.begin()) {
      assertThatExceptionOfType(InboxException.class)
          .isThrownBy(
              () ->
                  rig.guard.answer(
                      connection, GuardRig.key("joins"), String.class, this::swallowed));
      connection.commit();
    }
    try (Connection connection = rig.begin()) {
      rig.guard.answer(connection, GuardRig.key("rolled-back"), String.class, tx -> "first");
      connection.rollback();
    }
    if (database.kind() == DatabaseKind.POSTGRES) {
      database.execute("CREATE TABLE card (id varchar(20) UNIQUE DEFERRABLE INITIALLY DEFERRED)");
      database.execute("INSERT INTO card VALUES ('taken')");
      assertThatExceptionOfType(StoreException.class)
          .isThrownBy(
              () ->
                  rig.guard.answer(
                      GuardRig.key("refused"),
                      String.class,
                      tx -> {
                        try (Statement statement = tx.connection().createStatement()) {
                          statement.executeUpdate("INSERT INTO card VALUES ('taken')");
                        }
                        return "first";
                      }));
    }

    assertThat(rig.count("answer")).isZero();
    for (String id : List.of("throws", "swallows", "joins", "rolled-back", "refused")) {
      assertThat(rig.guard.answer(GuardRig.key(id), String.class, tx -> "second"))
          .as(id)
          .isEqualTo(new Guarded.Ran<>("second"));
      assertThat(rig.guard.answer(GuardRig.key(id), String.class, tx -> "third"))
          .as(id)
          .isInstanceOfSatisfying(
              Guarded.Repeat.class, repeat -> assertThat(repeat.answer()).contains("second"));
    }
  }

  private String swallowed(GuardTransaction tx) throws SQLException {
    try (Statement statement = tx.connection().createStatement()) {
      statement.executeUpdate("INSERT INTO no_such_table VALUES (1)");
    } catch (SQLException e) {
      return "first";
    }
    throw new AssertionError("there is such a table");
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void anAnswerThatIsNoLongerKeptLeavesARepeatWithoutOne(TestDatabase database) {
    open(database, options -> options.keepAnswers(Duration.ofSeconds(1)));
    AtomicInteger runs = new AtomicInteger();
    rig.guard.answer(GuardRig.key("k-1"), String.class, tx -> "first " + runs.incrementAndGet());
    database.execute(
        "UPDATE %s SET keep_until = (SELECT received_at FROM %s)"
            .formatted(GuardRig.table(database, "answer"), GuardRig.table(database, "message")));

    Guarded<String> again =
        rig.guard.answer(
            GuardRig.key("k-1"), String.class, tx -> "second " + runs.incrementAndGet());

    assertThat(again)
        .isInstanceOfSatisfying(
            Guarded.Repeat.class, repeat -> assertThat(repeat.answer()).isEmpty());
    assertThat(runs).hasValue(1);
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void ph_grd_02_t15_anAnswerThatIsTooLargeRollsTheRunBack(TestDatabase database) {
    open(database, options -> options.maxAnswer(10));

    assertThatExceptionOfType(InboxException.class)
        .isThrownBy(
            () ->
                rig.guard.answer(
                    GuardRig.key("k-1"),
                    String.class,
                    tx -> {
                      GuardRig.write(tx, "k-1");
                      return "eleven char";
                    }))
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.ANSWER_TOO_LARGE));
    assertUntouched("k-1");
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void id08_aKeyWithAnotherRequestIsAConflict(TestDatabase database) {
    open(database);
    GuardKey key = GuardRig.key("k-1").request("100 EUR");
    assertThat(rig.guard.run(key, tx -> 1)).isInstanceOf(Guarded.Ran.class);

    GuardKey other = GuardRig.key("k-1").request("900 EUR");
    assertThat(rig.guard.run(other, tx -> 2)).isEqualTo(new Guarded.Conflict<>(other));
    assertThat(rig.guard.run(key, tx -> 3)).isInstanceOf(Guarded.Repeat.class);
    assertThat(rig.guard.run(GuardRig.key("k-1"), tx -> 4))
        .as("without a request the key alone decides")
        .isInstanceOf(Guarded.Repeat.class);
    assertThat(rig.counts.of(InboxEvent.GuardConflicted.class)).isOne();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void b17_id07_v6_withoutAKeyNothingRuns(TestDatabase database) {
    open(database);
    for (String missing : new String[] {null, "", "  ", "\u00a0"}) {
      assertThatExceptionOfType(MissingKeyException.class)
          .isThrownBy(() -> rig.guard.run(GuardRig.key(missing), tx -> 1))
          .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.GUARD_KEY_MISSING));
    }
    assertThat(rig.count("message")).isZero();
    assertThat(rig.counts.of(InboxEvent.GuardKeyMissing.class, GuardRig.HANDLER)).isEqualTo(4);
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void b18_v6_withoutAKeyEveryCopyRunsWhereThatWasAskedFor(TestDatabase database) {
    open(database, options -> options.missingKey(OnMissingKey.ACCEPT_EVERY_COPY));

    assertThat(rig.guard.run(GuardRig.key(null), tx -> 1)).isEqualTo(new Guarded.Ran<>(1));
    assertThat(rig.guard.run(GuardRig.key(null), tx -> 2)).isEqualTo(new Guarded.Ran<>(2));
    assertThat(rig.guard.run(GuardRig.key("\u00a0"), tx -> 3)).isEqualTo(new Guarded.Ran<>(3));
    assertThat(rig.counts.of(InboxEvent.GuardUnguarded.class, GuardRig.HANDLER)).isEqualTo(3);
  }

  record ByItself(String reference, int cents) implements IdempotentMessage {
    @Override
    public String idempotencyKey() {
      return reference;
    }
  }

  @Idempotent(key = "reference")
  record ByProperty(@Nullable String reference, int cents) {}

  @Idempotent(key = "no-such-thing")
  record ByMistake(String reference) {}

  @ParameterizedTest
  @MethodSource(ALL)
  void b19_b20_b23_t3_aMessageNamesItsKeyItself(TestDatabase database) {
    open(database);
    for (Object[] pair :
        new Object[][] {
          {new ByItself("r-1", 1), new ByItself("r-1", 2)},
          {new ByProperty("r-1", 1), new ByProperty("r-1", 2)}
        }) {
      assertThat(rig.guard.run(GuardKey.of("h", pair[0]), tx -> 1)).isInstanceOf(Guarded.Ran.class);
      assertThat(rig.guard.run(GuardKey.of("h", pair[1]), tx -> 2))
          .isInstanceOf(Guarded.Repeat.class);
    }
    assertThatExceptionOfType(MissingKeyException.class)
        .isThrownBy(() -> rig.guard.run(GuardKey.of("h", new ByProperty(null, 1)), tx -> 1));
    assertThatExceptionOfType(ConfigurationException.class)
        .isThrownBy(() -> rig.guard.run(GuardKey.of("h", new ByMistake("r-1")), tx -> 1))
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.BUSINESS_KEY_INVALID))
        .withMessageContaining("no-such-thing");
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void withoutAKeyTheContentCanBeOne(TestDatabase database) {
    open(database, options -> options.missingKey(OnMissingKey.HASH_CONTENT));

    assertThat(rig.guard.run(GuardRig.key(null).request("a"), tx -> 1))
        .isInstanceOf(Guarded.Ran.class);
    assertThat(rig.guard.run(GuardRig.key(null).request("b"), tx -> 2))
        .isInstanceOf(Guarded.Ran.class);
    assertThat(rig.guard.run(GuardRig.key(null).request("a"), tx -> 3))
        .isInstanceOf(Guarded.Repeat.class);
    assertThatExceptionOfType(MissingKeyException.class)
        .isThrownBy(() -> rig.guard.run(GuardRig.key(null), tx -> 4));
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void v5_t5_aKeyThatIsTooLongIsRefusedBeforeAnythingRuns(TestDatabase database) {
    open(database);
    assertThatExceptionOfType(InboxException.class)
        .isThrownBy(
            () ->
                rig.guard.run(
                    GuardRig.key("x".repeat(201)),
                    tx -> {
                      throw new AssertionError("ran");
                    }))
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.ID_TOO_LONG));
    String longType = "x".repeat(250);
    assertThatExceptionOfType(InboxException.class)
        .isThrownBy(
            () ->
                rig.guard.run(
                    GuardKey.of("h", longType, "k-1"),
                    tx -> {
                      throw new AssertionError("ran");
                    }))
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.SOURCE_INVALID));
  }

  /** Another class with the name of the one above. */
  private static final class Elsewhere {
    record ByItself(String reference) implements IdempotentMessage {
      @Override
      public String idempotencyKey() {
        return reference;
      }
    }
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void m3_twoClassesWithOneSimpleNameAreNotTakenForOne(TestDatabase database) {
    open(database);
    rig.guard.run(GuardKey.of("h", new ByItself("r-1", 1)), tx -> 1);

    for (GuardKey key :
        new GuardKey[] {
          GuardKey.of("h", new Elsewhere.ByItself("r-1")),
          GuardKey.of("h", Elsewhere.ByItself.class, "r-1")
        }) {
      assertThatExceptionOfType(ConfigurationException.class)
          .isThrownBy(() -> rig.guard.run(key, tx -> 2))
          .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.TYPE_NAME_TAKEN))
          .withMessageContaining(ByItself.class.getName())
          .withMessageContaining(Elsewhere.ByItself.class.getName());
    }
    assertThat(rig.guard.run(GuardKey.of("h", "elsewhere", "r-1"), tx -> 3))
        .isEqualTo(new Guarded.Ran<>(3));
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void m8_anErrorOfTheDatabaseIsNoRepeatAndNotBusy(TestDatabase database) {
    open(database);
    // For MariaDB a check that fails is of the same kind (23000) as a key that is there.
    database.execute(
        "ALTER TABLE %s ADD CONSTRAINT refusing CHECK (id <> 'refused')"
            .formatted(GuardRig.table(database, "message")));

    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(
            () ->
                rig.guard.run(
                    GuardRig.key("refused"),
                    tx -> {
                      throw new AssertionError("ran");
                    }))
        .satisfies(e -> assertThat(e.kind()).isEqualTo(StoreException.Kind.PERMANENT));
    assertThat(rig.counts.of(InboxEvent.GuardFailed.class, GuardRig.HANDLER)).isOne();
    assertThat(rig.guard.run(GuardRig.key("k-1"), tx -> 1)).isInstanceOf(Guarded.Ran.class);
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void t6_dur03_d123_anErrorThatTheBodySwallowsRollsBack(TestDatabase database) {
    open(database);
    assertThatExceptionOfType(InboxException.class)
        .isThrownBy(
            () ->
                rig.guard.run(
                    GuardRig.key("k-1"),
                    tx -> {
                      GuardRig.write(tx, "k-1");
                      try (Statement statement = tx.connection().createStatement()) {
                        statement.executeUpdate("INSERT INTO no_such_table VALUES (1)");
                      } catch (SQLException e) {
                        return "it will be all right";
                      }
                      return null;
                    }))
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.TX_SQL_ERROR_SWALLOWED));
    assertUntouched("k-1");
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void pg02_aBodyThatTakesTooLongIsRolledBack(TestDatabase database) throws SQLException {
    open(database, options -> options.timeLimit(Duration.ofMillis(300)));

    assertThatExceptionOfType(InboxException.class)
        .isThrownBy(
            () ->
                rig.guard.run(
                    GuardRig.key("k-1"),
                    tx -> {
                      // Goes on until its connection is taken away, but not for ever.
                      while (tx.timeLeft().orElseThrow().toSeconds() > -60) {
                        GuardRig.write(tx, "k-1");
                      }
                      return null;
                    }))
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.GUARD_TIME_LIMIT))
        .withCauseInstanceOf(SQLException.class);

    assertUntouched("k-1");
    GuardRig patient = rig.through(rig.dataSource, options -> options);
    assertThat(patient.guard.run(GuardRig.key("k-1"), tx -> 2)).isInstanceOf(Guarded.Ran.class);
    patient.guard.close();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void theIdempotencyKeyIsTheSameOnEveryRunAndAnotherForEachHandler(TestDatabase database) {
    open(database);
    String[] seen = new String[4];
    assertThatThrownBy(
            () ->
                rig.guard.run(
                    GuardRig.key("k-1"),
                    tx -> {
                      seen[0] = tx.idempotencyKey();
                      throw new IllegalStateException("once more");
                    }))
        .isInstanceOf(IllegalStateException.class);
    rig.guard.run(GuardRig.key("k-1"), tx -> seen[1] = tx.idempotencyKey());
    rig.guard.run(GuardKey.of("other", "charge", "k-1"), tx -> seen[2] = tx.idempotencyKey());

    LeaseGuard.on(MemoryGuardStore.create())
        .run(GuardRig.key("k-1"), lease -> seen[3] = lease.idempotencyKey());

    assertThat(seen[1]).isEqualTo(seen[0]).isNotEqualTo(seen[2]);
    assertThat(seen[3]).as("of a lease guard").isEqualTo(seen[0]);
  }

  // ---- waiting

  @ParameterizedTest
  @MethodSource(ALL)
  void b63_m4_aCopyThatComesTooEarlyIsBusyAndDoesNotRun(TestDatabase database) throws Exception {
    open(database, options -> options.waitAtMost(Duration.ofSeconds(1)));
    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch mayEnd = new CountDownLatch(1);
    CompletableFuture<Guarded<Integer>> first =
        CompletableFuture.supplyAsync(
            () ->
                rig.guard.run(
                    GuardRig.key("k-1"),
                    tx -> {
                      inside.countDown();
                      awaitQuietly(mayEnd);
                      return 1;
                    }));
    inside.await();

    assertThat(rig.guard.run(GuardRig.key("k-1"), tx -> 2))
        .isInstanceOfSatisfying(
            Guarded.Busy.class,
            busy -> assertThat(busy.waited()).isGreaterThanOrEqualTo(Duration.ofMillis(900)));
    mayEnd.countDown();
    assertThat(first.get()).isEqualTo(new Guarded.Ran<>(1));
    assertThat(rig.guard.run(GuardRig.key("k-1"), tx -> 3)).isInstanceOf(Guarded.Repeat.class);
    assertThat(rig.counts.of(InboxEvent.GuardBusy.class, GuardRig.HANDLER)).isOne();
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  // ---- in the transaction of a caller

  @ParameterizedTest
  @MethodSource(ALL)
  void ph_tx_06_aConnectionInAutocommitIsRefused(TestDatabase database) throws SQLException {
    open(database);
    try (Connection connection = database.dataSource().getConnection()) {
      assertThatExceptionOfType(StoreException.class)
          .isThrownBy(() -> rig.guard.run(connection, GuardRig.key("k-1"), tx -> 1))
          .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.TX_REQUIRED));
    }
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void jd08_aJoinedRunCommitsAndRollsBackWithItsCaller(TestDatabase database) throws SQLException {
    open(database);
    try (Connection connection = rig.begin()) {
      assertThat(rig.guard.run(connection, GuardRig.key("k-1"), tx -> writing(tx, "k-1")))
          .isInstanceOf(Guarded.Ran.class);
      connection.rollback();
      assertUntouched("k-1");
      assertThat(rig.guard.run(connection, GuardRig.key("k-1"), tx -> writing(tx, "k-1")))
          .isInstanceOf(Guarded.Ran.class);
      connection.commit();
    }
    assertThat(rig.effects("k-1")).isOne();
    assertThat(charge("k-1")).isInstanceOf(Guarded.Repeat.class);
  }

  private static @Nullable Void writing(GuardTransaction tx, String id) throws SQLException {
    GuardRig.write(tx, id);
    return null;
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void t9_aRepeatAndAConflictLeaveTheCallersTransactionUsable(TestDatabase database)
      throws SQLException {
    open(database);
    rig.guard.run(GuardRig.key("k-1").request("a"), tx -> 1);
    try (Connection connection = rig.begin()) {
      GuardRig.write(connection, "before");
      assertThat(rig.guard.run(connection, GuardRig.key("k-1").request("a"), tx -> 2))
          .isInstanceOf(Guarded.Repeat.class);
      assertThat(rig.guard.run(connection, GuardRig.key("k-1").request("b"), tx -> 3))
          .isInstanceOf(Guarded.Conflict.class);
      GuardRig.write(connection, "after");
      connection.commit();
    }
    assertThat(rig.effects("before") + rig.effects("after")).isEqualTo(2);
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void busyLeavesTheCallersTransactionUsable(TestDatabase database) throws Exception {
    open(database, options -> options.waitAtMost(Duration.ofSeconds(1)));
    try (Connection first = rig.begin();
        Connection second = rig.begin()) {
      rig.guard.run(first, GuardRig.key("k-1"), tx -> 1);
      GuardRig.write(second, "before");

      assertThat(rig.guard.run(second, GuardRig.key("k-1"), tx -> 2))
          .isInstanceOf(Guarded.Busy.class);

      GuardRig.write(second, "after");
      second.commit();
      first.commit();
    }
    assertThat(rig.effects("before") + rig.effects("after")).isEqualTo(2);
    assertThat(rig.count("receipt")).isOne();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aJoinedBodyThatFailsTakesItsWritesAndItsReceiptWithIt(TestDatabase database)
      throws SQLException {
    open(database);
    IllegalStateException own = new IllegalStateException("no money");
    try (Connection connection = rig.begin()) {
      GuardRig.write(connection, "mine");
      assertThatThrownBy(
              () ->
                  rig.guard.run(
                      connection,
                      GuardRig.key("k-1"),
                      tx -> {
                        GuardRig.write(tx, "k-1");
                        throw own;
                      }))
          .isSameAs(own);
      connection.commit();
    }
    assertThat(rig.effects("mine")).isOne();
    assertUntouched("k-1");
    assertThat(charge("k-1")).isInstanceOf(Guarded.Ran.class);
  }

  // ---- counting

  @ParameterizedTest
  @MethodSource(ALL)
  void b76_eachEndingIsCountedForItsHandler(TestDatabase database) throws SQLException {
    open(database, options -> options.waitAtMost(Duration.ofSeconds(1)));
    GuardRig lenient =
        rig.through(rig.dataSource, options -> options.missingKey(OnMissingKey.ACCEPT_EVERY_COPY));
    GuardKey key = GuardRig.key("k-1");
    rig.guard.run(key.request("a"), tx -> 1);
    rig.guard.run(key.request("a"), tx -> 1);
    rig.guard.run(key, tx -> 1);
    rig.guard.run(key.request("b"), tx -> 1);
    assertThatThrownBy(() -> rig.guard.run(GuardRig.key(null), tx -> 1))
        .isInstanceOf(MissingKeyException.class);
    lenient.guard.run(GuardRig.key(null), tx -> 1);
    assertThatThrownBy(
            () ->
                rig.guard.run(
                    GuardRig.key("k-2"),
                    tx -> {
                      throw new IllegalStateException("no money");
                    }))
        .isInstanceOf(IllegalStateException.class);
    try (Connection other = rig.begin()) {
      lenient.guard.run(other, GuardRig.key("k-3"), tx -> 1);
      assertThat(rig.guard.run(GuardRig.key("k-3"), tx -> 1)).isInstanceOf(Guarded.Busy.class);
      other.rollback();
    }
    lenient.guard.close();

    assertThat(counted(InboxEvent.GuardRan.class)).isEqualTo(1);
    assertThat(counted(InboxEvent.GuardRepeated.class)).isEqualTo(2);
    assertThat(counted(InboxEvent.GuardConflicted.class)).isEqualTo(1);
    assertThat(counted(InboxEvent.GuardKeyMissing.class)).isEqualTo(1);
    assertThat(counted(InboxEvent.GuardFailed.class)).isEqualTo(1);
    assertThat(counted(InboxEvent.GuardBusy.class)).isEqualTo(1);
    assertThat(counted(InboxEvent.GuardUnguarded.class)).isZero();
    assertThat(lenient.counts.of(InboxEvent.GuardUnguarded.class, GuardRig.HANDLER)).isEqualTo(1);
  }

  private long counted(Class<? extends InboxEvent> kind) {
    return rig.counts.of(kind, GuardRig.HANDLER);
  }

  // ---- options

  @Test
  void d165_aTimeThatMakesNoSenseIsRefused() {
    open(TestDatabases.open(DatabaseKind.H2));
    for (Duration time :
        List.of(
            Duration.ZERO,
            Duration.ofSeconds(-1),
            Duration.ofMillis(500),
            Duration.ofDays(365_250))) {
      assertThatExceptionOfType(ConfigurationException.class)
          .as("%s", time)
          .isThrownBy(() -> Guard.on(rig.store).keepReceipts(time).keepAnswers(time).build())
          .satisfies(
              e ->
                  assertThat(e.problems())
                      .extracting(ConfigurationException.Problem::code)
                      .containsExactly(ErrorCode.RETENTION_INVALID, ErrorCode.RETENTION_INVALID))
          .withMessageContaining("keepReceipts")
          .withMessageContaining("keepAnswers");
    }
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void everyOptionOutOfRangeIsReportedTogether(TestDatabase database) {
    open(database);
    assertThatExceptionOfType(ConfigurationException.class)
        .isThrownBy(
            () ->
                Guard.on(rig.store)
                    .named("not a name")
                    .waitAtMost(Duration.ZERO)
                    .timeLimit(Duration.ofDays(2))
                    .maxAnswer(0)
                    .keepReceipts(Duration.ofMillis(1))
                    .missingKey(OnMissingKey.USE_ID)
                    .build())
        .satisfies(e -> assertThat(e.problems()).hasSize(6));
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aClosedGuardRunsNothing(TestDatabase database) {
    open(database);
    rig.guard.close();
    assertThatThrownBy(() -> rig.guard.run(GuardRig.key("k-1"), tx -> 1))
        .isInstanceOf(IllegalStateException.class);
  }
}
