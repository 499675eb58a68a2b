package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Guard;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.store.Pruning;
import dev.pigeonhole.support.StatementCounter;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.tck.Judge;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import javax.sql.DataSource;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The steps in which guards forget, one by one. */
class GuardWalkTest {
  private static final String ALL = "dev.pigeonhole.support.TestDatabases#all";

  private final AtomicReference<Instant> now =
      new AtomicReference<>(Instant.parse("2026-03-04T05:06:07Z"));
  private JdbcStore store;

  private void open(TestDatabase database, DataSource dataSource) {
    InboxTables.in(database);
    store = JdbcStore.of(dataSource).clock(now::get);
  }

  /** Leaves answers that are old after a day, and nobody who looks for them. */
  private void answers(int count) {
    try (Guard guard =
        Guard.on(store).keepAnswers(Duration.ofDays(1)).keepReceiptsForEver().build()) {
      for (int i = 0; i < count; i++) {
        guard.answer(GuardKey.of("h", "t", "k-" + i), String.class, tx -> "first");
      }
    }
  }

  /** Forgets no message, and walks once an hour. */
  private static Pruning walk(Pruning.Walk walk, Duration youngest) {
    return walk(walk, youngest, message -> Pruning.Fate.KEEP);
  }

  private static Pruning walk(
      Pruning.Walk walk, Duration youngest, Function<Pruning.Finished, Pruning.Fate> judge) {
    return new Judge(judge, null) {
      @Override
      public Walk walk() {
        return walk;
      }

      @Override
      public Duration youngest() {
        return youngest;
      }

      @Override
      public Duration betweenRounds() {
        return Duration.ofHours(1);
      }
    };
  }

  private Pruning.Step step(Pruning pruning) {
    return store.maintenance().prune(pruning, 2);
  }

  private static long answersIn(TestDatabase database) {
    return database.count("SELECT COUNT(*) FROM " + GuardRig.table(database, "answer"));
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void whileOldAnswersFillAStepThereAreMoreAndTheWalkStaysWhereItIs(TestDatabase database) {
    try (database) {
      open(database, database.pool(8));
      answers(5);
      now.updateAndGet(time -> time.plus(Duration.ofDays(2)));
      Pruning young = walk(Pruning.Walk.GUARDS, Duration.ofDays(7));

      assertThat(step(young)).isEqualTo(new Pruning.Step(0, 0, true));
      assertThat(step(young)).isEqualTo(new Pruning.Step(0, 0, true));
      assertThat(answersIn(database)).isOne();
      assertThat(step(young)).isEqualTo(new Pruning.Step(0, 0, false));
      assertThat(answersIn(database)).isZero();
    }
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void whoeverLooksForAnswersAloneLeavesTheWalkOfOthersAsItIs(TestDatabase database) {
    try (database) {
      open(database, database.pool(8));
      answers(5);
      now.updateAndGet(time -> time.plus(Duration.ofHours(1)));
      Pruning others = walk(Pruning.Walk.GUARDS, Duration.ZERO);
      assertThat(step(others).more()).isTrue();

      assertThat(step(walk(Pruning.Walk.ANSWERS, Duration.ofDays(7))))
          .isEqualTo(new Pruning.Step(0, 0, false));
      assertThat(step(others).more()).isTrue();
      assertThat(step(others).more()).as("the fifth is the last").isFalse();
    }
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aGuardThatKeepsReceiptsForLongDoesNotHoldUpOneWithLessTime(TestDatabase database) {
    try (database) {
      open(database, database.pool(8));
      answers(5);
      Pruning patient = walk(Pruning.Walk.GUARDS, Duration.ofDays(30));
      Pruning hasty = walk(Pruning.Walk.GUARDS, Duration.ZERO);

      assertThat(step(patient).more()).as("all are young").isFalse();
      assertThat(step(hasty).more()).isTrue();
      assertThat(step(hasty).more()).isTrue();
      assertThat(step(hasty).more()).isFalse();
      assertThat(step(hasty).more()).as("it rests").isFalse();
    }
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aGuardThatFindsAllTooYoungSendsNobodyBack(TestDatabase database) {
    try (database) {
      open(database, database.pool(8));
      answers(5);
      Pruning patient = walk(Pruning.Walk.GUARDS, Duration.ofDays(30));
      Pruning hasty = walk(Pruning.Walk.GUARDS, Duration.ZERO);

      assertThat(step(hasty).more()).isTrue();
      assertThat(step(patient).more()).as("all are young").isFalse();
      assertThat(step(hasty).more()).isTrue();
      assertThat(step(hasty).more()).as("the fifth is the last").isFalse();
    }
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void anAnswerThatSomebodyIsWritingAnewIsPassedBy(TestDatabase database) throws SQLException {
    try (database) {
      open(database, database.pool(8));
      answers(1);
      now.updateAndGet(time -> time.plus(Duration.ofDays(2)));
      Pruning answers = walk(Pruning.Walk.ANSWERS, Duration.ofDays(7));
      try (Connection writer = database.dataSource().getConnection();
          Statement statement = writer.createStatement()) {
        writer.setAutoCommit(false);
        statement.executeUpdate(
            "UPDATE " + GuardRig.table(database, "answer") + " SET keep_until = NULL");

        assertThat(step(answers)).isEqualTo(new Pruning.Step(0, 0, false));
        writer.commit();
      }
      step(answers);
      assertThat(answersIn(database)).isOne();
    }
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void whoeverFindsSomebodyElseAtItIsToldSo(TestDatabase database) throws SQLException {
    try (database) {
      open(database, database.pool(8));
      answers(1);
      Pruning walk = walk(Pruning.Walk.GUARDS, Duration.ZERO);
      try (Connection other = database.dataSource().getConnection();
          Statement statement = other.createStatement()) {
        other.setAutoCommit(false);
        statement.execute(
            "SELECT id FROM " + GuardRig.table(database, "retention") + " WHERE id = 1 FOR UPDATE");

        assertThat(step(walk)).isEqualTo(Pruning.Step.inTheWay());
        other.rollback();
      }
      assertThat(step(walk)).isEqualTo(new Pruning.Step(0, 0, false));
    }
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aWalkLocksItsOwnMessagesAlone(TestDatabase database) {
    try (database) {
      StatementCounter counter = StatementCounter.on(database, database.pool(8));
      open(database, counter.dataSource());
      Inbox inbox =
          Inbox.on(store)
              .channel(Channel.named("c").on(String.class).handle("g", text -> {}).build())
              .build();
      inbox.accept("c", Message.of("m-1", "hello"));
      inbox.drain();
      answers(1);

      for (Pruning.Walk walk : List.of(Pruning.Walk.INBOX, Pruning.Walk.GUARDS)) {
        counter.reset();
        step(walk(walk, Duration.ZERO));

        boolean ofGuards = walk == Pruning.Walk.GUARDS;
        assertThat(counter.statements())
            .filteredOn(sql -> sql.contains("_message") && sql.contains("FOR UPDATE"))
            .singleElement()
            .asString()
            .contains("IN (" + seq(database, ofGuards ? "=" : "<>") + ")");
      }
    }
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void d125_aReceiptThatWasLeftRunningKeepsNothing(TestDatabase database) throws SQLException {
    try (database) {
      open(database, database.pool(8));
      answers(1);
      database.execute(
          "UPDATE %s SET outcome = 2, keep_until = NULL"
              .formatted(GuardRig.table(database, "receipt")));
      List<Pruning.Finished> judged = new ArrayList<>();

      step(
          walk(
              Pruning.Walk.GUARDS,
              Duration.ZERO,
              message -> {
                judged.add(message);
                return Pruning.Fate.KEEP;
              }));

      assertThat(judged).singleElement().returns(Map.of(), Pruning.Finished::completed);
    }
  }

  private static long seq(TestDatabase database, String is) {
    return database.count(
        "SELECT seq FROM " + GuardRig.table(database, "message") + " WHERE transport " + is + " ?",
        "guard");
  }
}
