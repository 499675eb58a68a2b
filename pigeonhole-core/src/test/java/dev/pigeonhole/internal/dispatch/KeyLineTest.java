package dev.pigeonhole.internal.dispatch;

import static dev.pigeonhole.internal.dispatch.Rows.row;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.internal.dispatch.KeyLine.Member;
import dev.pigeonhole.store.Cell;
import org.junit.jupiter.api.Test;

class KeyLineTest {
  private final KeyLine line = new KeyLine();

  private void add(long seq, boolean runnable) {
    line.members.put(seq, new Member(row(seq), runnable));
  }

  @Test
  void onlyTheHeadMayRunWhateverCameFirst() {
    add(3, true);
    add(1, true);
    add(2, true);

    assertThat(line.next()).isEqualTo(row(1));
    line.running = row(1);
    assertThat(line.next()).as("the head has not been settled").isNull();
    line.members.remove(1L);
    line.running = null;
    assertThat(line.next()).isEqualTo(row(2));
  }

  @Test
  void aHeadThatWaitsKeepsTheKeyClosed() {
    add(1, false);
    assertThat(line.waitsForHead()).as("nobody waits behind it").isFalse();
    add(2, true);

    assertThat(line.next()).isNull();
    assertThat(line.waitsForHead()).isTrue();
    add(1, true);
    assertThat(line.next()).isEqualTo(row(1));
    assertThat(line.waitsForHead()).isFalse();
  }

  @Test
  void anEmptyLineHasNobody() {
    assertThat(line.next()).isNull();
    assertThat(line.waitsForHead()).isFalse();
  }

  @Test
  void newsOfAnAttemptFromBeforeTheLineWasReadAgainStartsNothingTwice() {
    add(2, true);
    line.running = row(2);

    line.ended(row(1));
    assertThat(line.next()).as("2 runs already").isNull();
    line.leave(row(1));
    assertThat(line.next()).as("2 runs already").isNull();
    line.ended(row(2));
    assertThat(line.next()).isEqualTo(row(2));
  }

  @Test
  void anAttemptThatLeavesDoesNotTakeItsSuccessorAlong() {
    add(1, true);
    line.running = row(new Cell(0, 1), 1, 0);
    line.members.put(
        1L, new Member(row(new Cell(0, 1), 1, 1), true)); // came back as due before the news

    line.leave(row(new Cell(0, 1), 1, 0));

    assertThat(line.next()).isEqualTo(row(new Cell(0, 1), 1, 1));
    line.leave(row(new Cell(0, 1), 1, 1));
    assertThat(line.members).isEmpty();
  }
}
