package dev.pigeonhole.internal.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.store.Delivery;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class SuspectsTest {
  private static final Duration TICK = Duration.ofSeconds(1);

  private boolean somethingRuns;
  private long now = 5;
  private final Suspects suspects = new Suspects(3, () -> !somethingRuns, () -> now);

  private void pass(Duration time) {
    now += time.toNanos();
  }

  @Test
  void withoutSuspectsNobodyHasToBeQuiet() {
    assertThat(suspects.next()).isNull();
    assertThat(suspects.quiet()).isFalse();
  }

  @Test
  void oneRunsAtATimeAndOnlyWhenNothingElseDoes() {
    Set<Delivery> rows = Set.of(Rows.row(1), Rows.row(2), Rows.row(3));
    rows.forEach(suspects::add);
    somethingRuns = true;
    assertThat(suspects.next()).isNull();
    assertThat(suspects.quiet()).isTrue();

    somethingRuns = false;
    List<Delivery> ran = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      Delivery row = suspects.next();
      assertThat(row).isNotNull();
      assertThat(suspects.next()).isNull();
      assertThat(suspects.quiet()).isTrue();
      ran.add(row);
      suspects.ended(row);
    }
    assertThat(ran).containsExactlyInAnyOrderElementsOf(rows);
    assertThat(suspects.next()).isNull();
    assertThat(suspects.quiet()).isFalse();
  }

  @Test
  void theEndOfAnotherRowIsNoNewsOfTheSuspect() {
    suspects.add(Rows.row(1));
    suspects.add(Rows.row(2));
    assertThat(suspects.next()).isNotNull();
    suspects.ended(Rows.row(99));

    assertThat(suspects.next()).isNull();
  }

  @Test
  void besideAnAttemptThatNeverEndsTheNodeIsQuietLessAndLess() {
    suspects.add(Rows.row(1));
    somethingRuns = true;
    Duration quiet = Duration.ZERO;
    Duration day = Duration.ofDays(1);
    for (Duration passed = Duration.ZERO; passed.compareTo(day) < 0; passed = passed.plus(TICK)) {
      assertThat(suspects.next()).isNull();
      quiet = suspects.quiet() ? quiet.plus(TICK) : quiet;
      pass(TICK);
    }

    assertThat(quiet).isPositive().isLessThan(day.dividedBy(50));
  }

  @Test
  void aSuspectThatTakesForEverLetsOthersGoOn() {
    suspects.add(Rows.row(1));
    suspects.add(Rows.row(2));
    assertThat(suspects.next()).isNotNull();
    somethingRuns = true;
    pass(Suspects.LIMIT.plus(TICK));

    assertThat(suspects.next()).isNull();
    assertThat(suspects.quiet()).isFalse();
    pass(Suspects.FIRST_PAUSE);
    assertThat(suspects.next()).isNull();
    assertThat(suspects.quiet()).isTrue();
  }

  @Test
  void aSuspectThatAnotherDeathWouldPoisonStaysAlone() {
    for (int crashes = 0; crashes < 3; crashes++) {
      Delivery row = crashed(crashes);
      suspects.add(row);
      while (suspects.next() == null) {
        pass(TICK);
      }
      somethingRuns = true;
      pass(Suspects.LIMIT.plus(TICK));
      assertThat(suspects.next()).isNull();
      assertThat(suspects.quiet()).as("after %d deaths", crashes).isEqualTo(crashes == 2);
      somethingRuns = false;
      suspects.ended(row);
    }
  }

  @Test
  void aSuspectThatWouldBePoisonedAndTakesForEverLetsOthersGoOn() {
    suspects.add(crashed(2));
    assertThat(suspects.next()).isNotNull();
    somethingRuns = true;
    pass(Suspects.LAST_LIMIT.plus(TICK));

    assertThat(suspects.next()).isNull();
    assertThat(suspects.quiet()).isFalse();
    pass(Suspects.LAST_LIMIT);
    suspects.add(Rows.row(9));
    assertThat(suspects.next()).isNull();
    assertThat(suspects.quiet()).as("others have twice its time").isFalse();
  }

  private static Delivery crashed(int crashes) {
    Delivery row = Rows.row(1);
    return new Delivery(
        row.cell(), row.seq(), row.version(), row.keyId(), 0, crashes, 0, null, 7, false);
  }

  @Test
  void howeverManySuspectsThereAreTheOthersHaveMostOfTheTime() {
    int crowd = 1_000;
    for (int i = 0; i < crowd; i++) {
      suspects.add(Rows.row(i));
    }
    Duration step = Duration.ofMillis(100);
    Duration quiet = Duration.ZERO;
    Duration longest = Duration.ZERO;
    Duration forOthers = Duration.ZERO;
    int tried = 0;
    while (tried < crowd) {
      Delivery row = suspects.next();
      pass(step);
      if (suspects.quiet()) {
        quiet = quiet.plus(step);
        longest = quiet.compareTo(longest) > 0 ? quiet : longest;
      } else {
        quiet = Duration.ZERO;
        forOthers = forOthers.plus(step);
      }
      if (row != null) {
        tried++;
        suspects.ended(row);
      }
    }

    assertThat(longest).isLessThan(Suspects.TURN.plus(step.multipliedBy(3)));
    Duration all = Duration.ofNanos(now);
    assertThat(forOthers).isGreaterThan(all.dividedBy(2));
  }

  @Test
  void aSuspectThatFailsBeforeItRunsDoesNotKeepTheOthers() {
    suspects.add(Rows.row(1));
    assertThat(suspects.next()).isNotNull();

    suspects.reset(List.of()); // loading it has failed
    suspects.add(Rows.row(1));

    assertThat(suspects.next()).isNull();
    assertThat(suspects.quiet()).isFalse();
    pass(Suspects.TURN);
    assertThat(suspects.next()).isNotNull();
  }

  @Test
  void whatNeverRunsIsNotWaitedFor() {
    suspects.add(Rows.row(1));
    suspects.add(Rows.row(2));
    assertThat(suspects.untried(any -> true)).isEqualTo(2);
    Delivery first = suspects.next();
    assertThat(first).isNotNull();
    assertThat(suspects.untried(any -> true)).isEqualTo(2);
    suspects.ended(first);
    assertThat(suspects.untried(any -> true)).isEqualTo(1);

    suspects.next();
    somethingRuns = true;
    suspects.add(Rows.row(3));
    for (int i = 0; i < 2; i++) {
      quietInVain();
    }
    assertThat(suspects.untried(any -> true)).isZero();
  }

  @Test
  void aSuspectThatCouldRunMakesThePausesShortAgain() {
    suspects.add(Rows.row(1));
    suspects.add(Rows.row(2));
    somethingRuns = true;
    for (int i = 0; i < 5; i++) {
      quietInVain();
    }
    pass(Suspects.LONGEST_PAUSE);
    somethingRuns = false;
    Delivery row = suspects.next();
    assertThat(row).isNotNull();
    suspects.ended(row);
    somethingRuns = true;
    quietInVain();
    pass(Suspects.FIRST_PAUSE);

    assertThat(suspects.next()).isNull();
    assertThat(suspects.quiet()).isTrue();
  }

  private void quietInVain() {
    while (!suspects.quiet()) {
      suspects.next();
      pass(TICK);
    }
    while (suspects.quiet()) {
      suspects.next();
      pass(TICK);
    }
  }

  @Test
  void whatIsWithdrawnDoesNotRun() {
    suspects.add(Rows.row(1));
    suspects.add(Rows.row(2));

    assertThat(suspects.withdraw(row -> row.seq() == 1)).containsExactly(Rows.row(1));
    assertThat(suspects.next()).isEqualTo(Rows.row(2));
  }

  @Test
  void aFreshStartStaysQuietForTheOneThatRuns() {
    suspects.add(Rows.row(1));
    suspects.add(Rows.row(2));
    Delivery alone = suspects.next();
    assertThat(alone).isNotNull();

    suspects.reset(List.of(alone));
    assertThat(suspects.quiet()).isTrue();
    suspects.reset(List.of());
    assertThat(suspects.quiet()).isFalse();
    assertThat(suspects.next()).isNull();
  }
}
