package dev.pigeonhole.internal.rescue;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.store.Cell;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class HandoversTest {
  private static final Cell ONE = new Cell(1, 7);
  private static final Cell TWO = new Cell(2, 7);

  private final Handovers handovers = new Handovers();

  /** Asks for a cell, and answers after how many looks it stays. */
  private int looksUntilItStays(Cell cell) {
    handovers.ask(List.of(cell));
    assertThat(handovers.asked()).containsExactly(cell);
    int looks = 1;
    while (handovers.overdue().isEmpty()) {
      assertThat(++looks).isLessThan(100);
    }
    assertThat(handovers.asked()).isEmpty();
    return looks;
  }

  private int looksUntilItMayBeTriedAgain() {
    int looks = 0;
    while (!handovers.tried().isEmpty()) {
      assertThat(handovers.overdue()).isEmpty();
      assertThat(++looks).isLessThan(1000);
    }
    return looks;
  }

  @Test
  void eachTryIsTwiceAsLongUpToALimitAndThePauseTenTimesAsLong() {
    List<Integer> tries = new ArrayList<>();
    List<Integer> pauses = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      tries.add(looksUntilItStays(ONE));
      pauses.add(looksUntilItMayBeTriedAgain());
    }
    assertThat(tries).containsExactly(2, 4, 8, 16, 16);
    assertThat(pauses).containsExactly(20, 40, 80, 160, 160);
  }

  @Test
  void aTryThatWasLongAgoDoesNotMakeTheNextOneLonger() {
    looksUntilItStays(ONE);
    for (int i = 0; i < 100; i++) {
      handovers.overdue();
    }
    assertThat(looksUntilItStays(ONE)).isEqualTo(2);
  }

  @Test
  void nothingIsRememberedOfACellThatIsGone() {
    looksUntilItStays(ONE);
    handovers.ask(List.of(TWO));
    handovers.retain(Set.of());

    assertThat(handovers.asked()).isEmpty();
    assertThat(handovers.tried()).isEmpty();
    assertThat(looksUntilItStays(ONE)).isEqualTo(2);
  }

  @Test
  void eachCellHasATryOfItsOwn() {
    handovers.ask(List.of(ONE));
    handovers.overdue();
    handovers.ask(List.of(TWO));

    assertThat(handovers.overdue()).containsExactly(ONE);
    assertThat(handovers.asked()).containsExactly(TWO);
    assertThat(handovers.tried()).containsExactly(ONE);
    assertThat(handovers.overdue()).containsExactly(TWO);
  }
}
