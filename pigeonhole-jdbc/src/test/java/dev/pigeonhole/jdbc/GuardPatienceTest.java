package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Guard;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.LockWaits;
import dev.pigeonhole.support.TestDatabases;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Callers of one guard, each with a deadline of its own. */
class GuardPatienceTest {
  private final CountDownLatch inside = new CountDownLatch(1);
  private final CountDownLatch mayEnd = new CountDownLatch(1);
  private GuardRig rig;

  private void open(DatabaseKind kind) {
    rig =
        GuardRig.on(
            TestDatabases.open(kind), options -> options.waitAtMost(Duration.ofSeconds(20)));
  }

  @AfterEach
  void close() {
    mayEnd.countDown();
    rig.close();
  }

  private String hold() {
    inside.countDown();
    try {
      mayEnd.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
    return "of the first";
  }

  private static Guarded<String> ask(Guard guard) {
    return guard.answer(GuardRig.key("k-1"), String.class, tx -> "of another");
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void oneCallerIsBusyWhileAnotherGoesOnWaitingAndGetsTheAnswer(DatabaseKind kind)
      throws Exception {
    open(kind);
    CompletableFuture<Guarded<String>> first =
        CompletableFuture.supplyAsync(
            () -> rig.guard.answer(GuardRig.key("k-1"), String.class, tx -> hold()));
    inside.await();
    CompletableFuture<Guarded<String>> patient =
        CompletableFuture.supplyAsync(() -> ask(rig.guard));
    LockWaits.awaitOne(rig.database);

    Guard hasty = rig.guard.waitingAtMost(Duration.ofMillis(50));
    assertThat(ask(hasty)).isInstanceOf(Guarded.Busy.class);
    assertThat(patient).isNotDone();
    hasty.close();
    mayEnd.countDown();

    assertThat(first.get()).isEqualTo(new Guarded.Ran<>("of the first"));
    assertThat(patient.get())
        .isInstanceOfSatisfying(
            Guarded.Repeat.class,
            repeat -> assertThat(repeat.answer().toString()).contains("of the first"));
    assertThat(ask(hasty)).as("closing it has closed nothing").isInstanceOf(Guarded.Repeat.class);
  }

  @Test
  void aDeadlineOutOfRangeIsRefused() {
    open(DatabaseKind.H2);
    for (Duration time : new Duration[] {Duration.ZERO, Duration.ofSeconds(20).plusNanos(1)}) {
      assertThatExceptionOfType(ConfigurationException.class)
          .isThrownBy(() -> rig.guard.waitingAtMost(time))
          .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.RANGE_INVALID))
          .withMessageContaining("waitingAtMost is " + time);
    }
  }

  @Test
  void whatIsClosedIsClosedForCallersWithADeadlineOfTheirOwn() {
    open(DatabaseKind.H2);
    Guard hasty = rig.guard.waitingAtMost(Duration.ofSeconds(1));
    rig.guard.close();
    assertThatThrownBy(() -> ask(hasty)).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> ask(hasty.waitingAtMost(Duration.ofSeconds(2))))
        .isInstanceOf(IllegalStateException.class);
  }
}
