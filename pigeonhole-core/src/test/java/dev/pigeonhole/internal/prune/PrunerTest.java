package dev.pigeonhole.internal.prune;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.internal.dispatch.Events;
import dev.pigeonhole.internal.registry.Registry;
import dev.pigeonhole.store.Maintenance;
import dev.pigeonhole.store.Pruning;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class PrunerTest {
  private static final Duration MINUTE = Duration.ofMinutes(1);

  private int steps;
  private boolean behind;
  private long now;
  private final Pruner pruner =
      new Pruner(
          store(),
          new Retention(
              new Retention.Times(Duration.ofDays(1), null, null),
              new Registry(List.of(), List.of()),
              List.of()),
          new Events("inbox", List.of()),
          () -> behind,
          () -> now);

  private Maintenance store() {
    return (Maintenance)
        Proxy.newProxyInstance(
            getClass().getClassLoader(),
            new Class<?>[] {Maintenance.class},
            (self, method, args) -> {
              steps++;
              return new Pruning.Step(1, 0, false);
            });
  }

  private int stepsInTurns(int turns) {
    int before = steps;
    for (int i = 0; i < turns; i++) {
      pruner.turn();
      now += MINUTE.toNanos();
    }
    return steps - before;
  }

  @Test
  void itWaitsForAHandlerThatIsBehindForAWhile() {
    behind = true;
    assertThat(stepsInTurns(10)).isZero();
  }

  @Test
  void aHandlerThatStaysBehindDoesNotFillTheDisk() {
    behind = true;
    stepsInTurns(10);

    assertThat(stepsInTurns(60)).isEqualTo(60);
  }

  @Test
  void aHandlerThatHasCaughtUpIsWaitedForAgain() {
    behind = true;
    stepsInTurns(20);
    behind = false;
    assertThat(stepsInTurns(1)).isEqualTo(1);

    behind = true;
    assertThat(stepsInTurns(10)).isZero();
  }
}
