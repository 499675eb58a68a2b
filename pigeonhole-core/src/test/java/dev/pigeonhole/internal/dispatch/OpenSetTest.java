package dev.pigeonhole.internal.dispatch;

import static dev.pigeonhole.internal.dispatch.Rows.row;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.store.Cell;
import org.junit.jupiter.api.Test;

class OpenSetTest {
  private final OpenSet set = new OpenSet();

  @Test
  void aRowIsHandedOutOnceWhileItIsOpen() {
    assertThat(set.offer(row(1))).isTrue();
    assertThat(set.offer(row(1))).isFalse();
    assertThat(set.contains(row(1))).isTrue();
    assertThat(set.offer(row(2))).isTrue();
    assertThat(set.size()).isEqualTo(2);
  }

  @Test
  void theSameMessageOfAnotherHandlerOrVersionIsAnotherRow() {
    Cell cell = new Cell(0, 1);
    assertThat(set.offer(row(cell, 1, 0))).isTrue();
    assertThat(set.offer(row(cell, 1, 1))).isTrue();
    assertThat(set.offer(row(new Cell(0, 2), 1, 0))).isTrue();
  }

  @Test
  void whatWasDroppedMayComeAgain() {
    set.offer(row(1));
    set.dropped(row(1));

    assertThat(set.size()).isZero();
    assertThat(set.offer(row(1))).isTrue();
    assertThat(set.size()).isEqualTo(1);
  }

  @Test
  void whatIsSettledWithoutTicketsLeavesNoTrace() {
    set.offer(row(1));
    set.settled(row(1));

    assertThat(set.size()).isZero();
    assertThat(set.tombstones()).isZero();
  }

  @Test
  void anAcceptThatComesLateFindsTheTombstone() {
    long ticket = set.takeTicket(); // its statement commits; the reader finds the row first
    set.offer(row(1));
    set.settled(row(1));

    assertThat(set.offer(row(1))).as("the accepting thread").isFalse();
    set.returnTicket(ticket);
    assertThat(set.tombstones()).isZero();
  }

  @Test
  void aTombstoneWaitsForTheTicketsThatWereOutAndForNoOthers() {
    long early = set.takeTicket();
    long middle = set.takeTicket();
    set.offer(row(1));
    set.settled(row(1));
    long late = set.takeTicket();
    set.offer(row(2));
    set.settled(row(2));
    assertThat(set.tombstones()).isEqualTo(2);

    set.returnTicket(middle);
    assertThat(set.tombstones()).isEqualTo(2);
    assertThat(set.offer(row(1))).isFalse();
    set.returnTicket(early);
    assertThat(set.tombstones()).as("only the row settled after the late ticket").isEqualTo(1);
    assertThat(set.offer(row(2))).isFalse();
    set.returnTicket(late);
    assertThat(set.tombstones()).isZero();
  }

  @Test
  void anAcceptThatTakesForEverExpiresInsteadOfGatheringTombstones() {
    long slow = set.takeTicket();
    for (int i = 0; i < 3 * OpenSet.MOST_TOMBSTONES; i++) {
      set.offer(row(i));
      set.settled(row(i));
      assertThat(set.tombstones()).isLessThanOrEqualTo(OpenSet.MOST_TOMBSTONES);
    }
    assertThat(set.isValid(slow)).isFalse();

    long next = set.takeTicket();
    assertThat(set.isValid(next)).isTrue();
    set.offer(row(1));
    set.settled(row(1));
    assertThat(set.offer(row(1))).isFalse();
    set.returnTicket(slow);
    assertThat(set.offer(row(1))).as("the next ticket is still out").isFalse();
    set.returnTicket(next);
    assertThat(set.tombstones()).isZero();
  }

  @Test
  void tombstonesDoNotGatherWhileAcceptsOverlapForEver() {
    long previous = set.takeTicket();
    for (int i = 0; i < 10_000; i++) {
      long next = set.takeTicket();
      set.offer(row(i));
      set.settled(row(i));
      set.settled(row(Math.max(0, i - 1))); // told twice: ours, then refused
      set.returnTicket(previous);
      previous = next;
      assertThat(set.tombstones()).isLessThanOrEqualTo(3);
    }
  }
}
