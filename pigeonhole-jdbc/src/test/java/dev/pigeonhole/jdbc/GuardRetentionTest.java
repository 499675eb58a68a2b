package dev.pigeonhole.jdbc;

import static dev.pigeonhole.HandlerOption.inline;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.Guard;
import dev.pigeonhole.GuardBuilder;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.event.InboxListener;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Guards forget what they have run, after their time, and nothing else. */
class GuardRetentionTest {
  private static final String ALL = "dev.pigeonhole.support.TestDatabases#all";
  private static final GuardKey KEY = GuardKey.of("h", "t", "k-1");

  private final AtomicReference<Instant> now =
      new AtomicReference<>(Instant.parse("2026-03-04T05:06:07Z"));

  private JdbcStore store(TestDatabase database) {
    InboxTables.in(database);
    return JdbcStore.of(database.pool(8)).clock(now::get);
  }

  private static long messages(TestDatabase database) {
    return count(database, "message");
  }

  private static long count(TestDatabase database, String table) {
    return database.count("SELECT COUNT(*) FROM " + GuardRig.table(database, table));
  }

  private void passes(Duration time) {
    now.updateAndGet(before -> before.plus(time));
  }

  /** Rounds are counted by the same clock, so one that stands still may stand within a pause. */
  private void soon(String what, BooleanSupplier condition) {
    Eventually.until(
        what,
        Duration.ofMinutes(5),
        () -> {
          passes(Duration.ofMillis(10));
          return condition.getAsBoolean();
        });
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void b71_b72_id11_receiptsAreForgottenAfterTheirTimeAndThenTheBodyRunsAgain(
      TestDatabase database) {
    try (database;
        Guard guard = Guard.on(store(database)).keepReceipts(Duration.ofSeconds(2)).build()) {
      guard.answer(KEY, String.class, tx -> "first");
      passes(Duration.ofSeconds(1));
      assertThat(guard.run(KEY, tx -> 2)).isInstanceOf(Guarded.Repeat.class);
      passes(Duration.ofSeconds(2));

      soon("forgotten", () -> messages(database) == 0);
      assertThat(count(database, "receipt")).isZero();
      assertThat(count(database, "answer")).isZero();
      assertThat(guard.run(KEY, tx -> 3)).isInstanceOf(Guarded.Ran.class);
    }
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void whatAnInboxHasAcceptedIsLeftToTheInbox(TestDatabase database) {
    JdbcStore store = store(database);
    Inbox inbox =
        Inbox.on(store)
            .channel(Channel.named("c").on(String.class).handle("g", text -> {}).build())
            .build();
    try (database;
        Guard guard = Guard.on(store).keepReceipts(Duration.ofSeconds(2)).build()) {
      inbox.accept("c", Message.of("m-1", "hello"));
      inbox.drain();
      guard.run(KEY, tx -> 1);
      passes(Duration.ofDays(30));

      soon("one is left", () -> messages(database) == 1);
      assertThat(inbox.find("c", "m-1", "g")).isPresent();
    }
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void whatAnInboxHasCalledARepeatIsTheInboxsToForget(TestDatabase database) {
    JdbcStore store = store(database);
    Inbox inbox =
        Inbox.on(store)
            .channel(Channel.named("c").on(String.class).handle("g", text -> {}).build())
            .build();
    try (database;
        Guard guard = Guard.on(store).keepReceipts(Duration.ofSeconds(2)).build()) {
      guard.run(GuardKey.ofMessage("g", "c", "m-1"), tx -> 1);
      guard.run(KEY, tx -> 1);
      assertThat(inbox.accept("c", Message.of("m-1", "hello")))
          .isInstanceOf(Acceptance.Repeat.class);
      passes(Duration.ofDays(30));

      soon("one is left", () -> messages(database) == 1);
      assertThat(inbox.accept("c", Message.of("m-1", "hello")))
          .isInstanceOf(Acceptance.Repeat.class);
    }
  }

  /** The inbox is always the first to walk: it looks whenever a second is over. */
  @ParameterizedTest
  @MethodSource(ALL)
  void anInboxAndAGuardForgetEachByTheirOwnTimes(TestDatabase database) {
    JdbcStore store = store(database);
    Inbox inbox =
        Inbox.on(store)
            .channel(Channel.named("c").on(String.class).handle("g", text -> {}).build())
            .keepReceipts(Duration.ofSeconds(2))
            .build();
    try (database;
        Guard guard = Guard.on(store).keepReceipts(Duration.ofSeconds(20)).build();
        RunningInbox running = inbox.start()) {
      guard.run(KEY, tx -> 1);
      inbox.accept("c", Message.of("m-1", "hello"));
      Eventually.until("handled", Duration.ofMinutes(3), () -> count(database, "receipt") == 2);
      passes(Duration.ofSeconds(10));

      soon("the inbox forgets", () -> messages(database) == 1);
      assertThat(guard.run(KEY, tx -> 2)).isInstanceOf(Guarded.Repeat.class);

      Eventually.until(
          "the guard forgets",
          Duration.ofMinutes(5),
          () -> {
            passes(Duration.ofSeconds(1));
            return messages(database) == 0;
          });
    }
  }

  /** The inbox is the first to see one message, and the guard the other. */
  @ParameterizedTest
  @MethodSource(ALL)
  void whatAGuardHasPromisedToKnowOutlivesTheTimeOfTheInbox(TestDatabase database) {
    JdbcStore store = store(database);
    Inbox inbox =
        Inbox.on(store)
            .channel(Channel.named("c").on(String.class).handle("g", text -> {}).build())
            .keepReceipts(Duration.ofDays(1))
            .build();
    List<GuardKey> keys =
        List.of(GuardKey.ofMessage("h", "c", "m-1"), GuardKey.ofMessage("h", "c", "m-2"));
    try (database;
        Guard guard = Guard.on(store).build()) {
      inbox.accept("c", Message.of("m-1", "hello"));
      for (GuardKey key : keys) {
        assertThat(guard.answer(key, String.class, tx -> "first")).isInstanceOf(Guarded.Ran.class);
      }
      inbox.accept("c", Message.of("m-2", "hello"));
      inbox.drain();
      assertThat(count(database, "receipt")).isEqualTo(4);
      passes(Duration.ofDays(7).minusSeconds(1));

      inbox.drain();
      for (GuardKey key : keys) {
        assertThat(guard.answer(key, String.class, tx -> "second"))
            .isInstanceOfSatisfying(
                Guarded.Repeat.class, repeat -> assertThat(repeat.answer()).hasValue("first"));
      }
      passes(Duration.ofHours(2));

      inbox.drain();
      assertThat(messages(database)).isZero();
    }
  }

  /** Whoever forgets first forgets for itself; the two with more time do not even look. */
  @ParameterizedTest
  @MethodSource(ALL)
  void ofSeveralGuardsEachKeepsItsReceiptsForItsOwnTime(TestDatabase database) {
    JdbcStore store = store(database);
    GuardKey ofTwo = GuardKey.of("h", "t", "of two");
    GuardKey longer = GuardKey.of("h", "t", "longer");
    GuardKey always = GuardKey.of("h", "t", "always");
    try (database;
        Guard shortly = Guard.on(store).keepReceipts(Duration.ofSeconds(2)).build()) {
      try (Guard patient = Guard.on(store).keepReceipts(Duration.ofDays(30)).build();
          Guard faithful = Guard.on(store).keepReceiptsForEver().build()) {
        patient.run(longer, tx -> 1);
        patient.run(GuardKey.of("another", "t", "of two"), tx -> 1);
        faithful.run(always, tx -> 1);
      }
      shortly.run(ofTwo, tx -> 1);
      shortly.run(KEY, tx -> 1);
      passes(Duration.ofDays(29));

      soon("one is forgotten", () -> messages(database) < 4);
      for (GuardKey key : List.of(ofTwo, longer, always)) {
        assertThat(shortly.run(key, tx -> 2)).isInstanceOf(Guarded.Repeat.class);
      }
      passes(Duration.ofDays(10_000));

      soon("two more are forgotten", () -> messages(database) < 2);
      assertThat(shortly.run(always, tx -> 2)).isInstanceOf(Guarded.Repeat.class);
    }
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void whatAnInlineHandlerHasFinishedIsTheInboxsToForgetWhoeverSawItFirst(TestDatabase database) {
    JdbcStore store = store(database);
    Inbox inbox =
        Inbox.on(store)
            .channel(
                Channel.named("c")
                    .on(String.class)
                    .keepReceipts(Duration.ofDays(1)) // the guard does not know the type
                    .handle("g", text -> {}, inline())
                    .build())
            .keepReceipts(Duration.ofMinutes(1))
            .build();
    try (database;
        Guard guard = Guard.on(store).keepReceipts(Duration.ofSeconds(2)).build()) {
      guard.run(GuardKey.ofMessage("h", "c", "m-1"), tx -> 1);
      guard.run(KEY, tx -> 1);
      assertThat(inbox.accept("c", Message.of("m-1", "hello")))
          .isInstanceOf(Acceptance.Accepted.class);
      passes(Duration.ofSeconds(10));

      soon("the guard has forgotten its own", () -> messages(database) < 2);
      passes(Duration.ofHours(2));
      inbox.drain();
      assertThat(inbox.accept("c", Message.of("m-1", "hello")))
          .isInstanceOf(Acceptance.Repeat.class);
      passes(Duration.ofDays(1));

      Eventually.until(
          "the inbox forgets",
          Duration.ofMinutes(5),
          () -> {
            passes(Duration.ofHours(2));
            inbox.drain(); // forgets nothing while the guard is at it
            return messages(database) == 0;
          });
    }
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void answersOfReceiptsThatAreKeptForEverGoAfterTheirTime(TestDatabase database) {
    try (database;
        Guard guard =
            Guard.on(store(database))
                .keepAnswers(Duration.ofSeconds(5))
                .keepReceiptsForEver()
                .build()) {
      guard.answer(KEY, String.class, tx -> "first");
      passes(Duration.ofSeconds(6));

      Eventually.until(
          "the answer is gone", Duration.ofMinutes(5), () -> count(database, "answer") == 0);
      assertThat(guard.answer(KEY, String.class, tx -> "second"))
          .isInstanceOfSatisfying(
              Guarded.Repeat.class, repeat -> assertThat(repeat.answer()).isEmpty());
    }
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void answersGoBeforeTheirReceipts(TestDatabase database) {
    try (database;
        Guard guard =
            Guard.on(store(database))
                .keepAnswers(Duration.ofSeconds(5))
                .keepReceipts(Duration.ofSeconds(20))
                .build()) {
      guard.answer(KEY, String.class, tx -> "first");
      passes(Duration.ofSeconds(6));

      soon("the answer is gone", () -> count(database, "answer") == 0);
      assertThat(messages(database)).isOne();
      assertThat(guard.run(KEY, tx -> 2)).isInstanceOf(Guarded.Repeat.class);
    }
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void m9_theTimeBeginsWithTheLastRunAndNotWithTheMessage(TestDatabase database) {
    JdbcStore store = store(database);
    try (database;
        Guard guard = Guard.on(store).keepReceipts(Duration.ofSeconds(20)).build()) {
      guard.run(KEY, tx -> 1);
      guard.run(GuardKey.of("h", "t", "k-2"), tx -> 1);
      passes(Duration.ofSeconds(15));
      guard.run(GuardKey.of("late", "t", "k-1"), tx -> 1);
      passes(Duration.ofSeconds(10));

      soon("the other is forgotten", () -> messages(database) == 1);
      assertThat(guard.run(GuardKey.of("late", "t", "k-1"), tx -> 2))
          .isInstanceOf(Guarded.Repeat.class);
      assertThat(guard.run(KEY, tx -> 2)).isInstanceOf(Guarded.Repeat.class);
    }
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void t8_aReceiptSaysWhenTheBodyHadReturnedAndTheMessageWhenItCame(TestDatabase database) {
    Instant came = now.get();
    try (database;
        Guard guard = Guard.on(store(database)).keepReceiptsForEver().build()) {
      guard.run(
          KEY,
          tx -> {
            passes(Duration.ofSeconds(5));
            return 1;
          });
      passes(Duration.ofSeconds(5));

      assertThat(guard.run(KEY, tx -> 2))
          .isInstanceOfSatisfying(
              Guarded.Repeat.class,
              repeat -> assertThat(repeat.firstRun()).isEqualTo(came.plusSeconds(5)));
    }
  }

  @Test
  void b71_whoeverForgetsNothingHasNobodyWhoLooks() {
    for (boolean forEver : new boolean[] {false, true}) {
      TestDatabase database = TestDatabases.open(DatabaseKind.H2);
      String name = "keeps-for-ever-" + forEver;
      GuardBuilder builder = Guard.on(store(database)).named(name);
      try (database;
          Guard guard = (forEver ? builder.keepReceiptsForEver() : builder).build()) {
        guard.run(KEY, tx -> 1);
        assertThat(Thread.getAllStackTraces().keySet())
            .filteredOn(thread -> thread.getName().equals("pigeonhole-" + name + "-guard"))
            .hasSize(forEver ? 0 : 1);
      }
    }
  }

  /** More than one step has room for, and two guards that want to forget them. */
  @Test
  void t10_receiptsAreForgottenInStepsAndEachOnce() throws SQLException {
    List<Integer> steps = new CopyOnWriteArrayList<>();
    InboxListener counting =
        event -> {
          if (event instanceof InboxEvent.Pruned pruned) {
            steps.add(pruned.deleted());
          }
        };
    TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES);
    JdbcStore store = store(database);
    GuardBuilder builder = Guard.on(store).keepReceipts(Duration.ofSeconds(5)).listener(counting);
    try (database;
        Guard first = builder.build();
        Guard second = builder.build();
        Connection connection = database.dataSource().getConnection()) {
      connection.setAutoCommit(false);
      for (int i = 0; i < 700; i++) {
        first.run(connection, GuardKey.of("h", "t", "k-" + i), tx -> 1);
      }
      connection.commit();
      passes(Duration.ofSeconds(6));

      soon("all are forgotten", () -> messages(database) == 0);
      soon("all steps are told", () -> steps.stream().mapToInt(each -> each).sum() >= 700);
      second.close();
      assertThat(steps).hasSizeGreaterThan(1).allMatch(deleted -> deleted <= 500);
      assertThat(steps.stream().mapToInt(each -> each).sum()).isEqualTo(700);
    }
  }
}
