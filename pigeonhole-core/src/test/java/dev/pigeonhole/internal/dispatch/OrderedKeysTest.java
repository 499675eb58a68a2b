package dev.pigeonhole.internal.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.OnPoison;
import dev.pigeonhole.store.Ahead;
import dev.pigeonhole.store.AheadRead;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.Deliveries;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.Versions;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** One handler with room for ten, and a store that has nothing but ordered rows. */
class OrderedKeysTest {
  private static final Cell CELL = new Cell(0, 1);
  private static final int CAPACITY = 10;
  private static final int MOST = 20 * CAPACITY;

  private final HandlerLine line = Handlers.line(2, CAPACITY);
  private final TreeMap<Long, Delivery> stored = new TreeMap<>();
  private final Set<Long> poisoned = new HashSet<>();
  private final List<Long> asked = new ArrayList<>();
  private final Dispatched rows = new Dispatched(line);
  private final OrderedKeys keys = new OrderedKeys(store(), List.of(line), rows);

  /** Stands for the dispatcher. */
  private static final class Dispatched implements OrderedKeys.Rows {
    final HandlerLine line;
    final Set<Delivery> open = new HashSet<>();
    final List<Long> admitted = new ArrayList<>();
    final List<Long> blocked = new ArrayList<>();

    /** Rows that are open in the database, and settled as far as the node knows. */
    final Set<Long> takenForSettled = new HashSet<>();

    int sweeps;

    Dispatched(HandlerLine line) {
      this.line = line;
    }

    @Override
    public HandlerLine line(Cell cell) {
      return line;
    }

    @Override
    public boolean staying(Cell cell) {
      return true;
    }

    @Override
    public boolean isOpen(Delivery row) {
      return open.contains(row);
    }

    @Override
    public boolean open(Delivery row) {
      return !takenForSettled.contains(row.seq()) && open.add(row);
    }

    @Override
    public void forget(Delivery row) {
      open.remove(row);
    }

    @Override
    public void admit(Delivery row) {
      admitted.add(row.seq());
    }

    @Override
    public void block(Delivery row) {
      blocked.add(row.seq());
    }

    @Override
    public void sweepSoon() {
      sweeps++;
    }
  }

  private Deliveries store() {
    return (Deliveries)
        Proxy.newProxyInstance(
            getClass().getClassLoader(),
            new Class<?>[] {Deliveries.class},
            (self, method, args) -> {
              assertThat(method.getName()).isEqualTo("ahead");
              return ahead((List<?>) args[0]);
            });
  }

  private AheadRead ahead(List<?> questions) {
    Set<Delivery> before = new HashSet<>();
    Set<Ahead> blocked = new HashSet<>();
    for (Object each : questions) {
      Ahead question = (Ahead) each;
      asked.add(question.seq());
      stored.headMap(question.seq()).values().stream()
          .filter(row -> Long.valueOf(question.keyHash()).equals(row.keyHash()))
          .limit(Ahead.MOST)
          .forEach(before::add);
      if (poisoned.stream().anyMatch(seq -> seq < question.seq())) {
        blocked.add(question);
      }
    }
    return new AheadRead(List.copyOf(before), blocked);
  }

  private static Delivery row(long seq, long key) {
    return row(seq, key, 0, false);
  }

  private static Delivery row(long seq, long key, long version, boolean late) {
    return new Delivery(CELL, seq, version, 1, 0, 0, 0, key, 0, late);
  }

  private void store(Delivery... some) {
    for (Delivery row : some) {
      stored.put(row.seq(), row);
    }
  }

  private void read(Delivery... some) {
    List<Delivery> fresh = new ArrayList<>();
    for (Delivery row : some) {
      if (rows.open.add(row)) {
        fresh.add(row);
      }
    }
    keys.take(fresh);
  }

  private void end(Delivery row, Outcome outcome) {
    stored.remove(row.seq());
    rows.open.remove(row);
    keys.settled(row, outcome, false);
  }

  @Test
  void rowsOfAKeyRunOneAfterTheOther() {
    store(row(1, 7), row(2, 7), row(3, 8));
    read(row(2, 7), row(1, 7), row(3, 8));
    assertThat(rows.admitted).containsExactlyInAnyOrder(1L, 3L);

    end(row(1, 7), new Outcome.Completed());
    assertThat(rows.admitted).containsExactlyInAnyOrder(1L, 3L, 2L);
  }

  @Test
  void aRowThatCommittedLateIsFoundByAskingAndRunsFirst() {
    store(row(1, 7), row(2, 7));
    read(row(2, 7));

    assertThat(rows.admitted).containsExactly(1L);
  }

  @Test
  void aRowThatIsTakenForSettledButIsOpenKeepsItsFollowersUntilItIsReadAgain() {
    store(row(1, 7), row(2, 7));
    rows.takenForSettled.add(1L);
    read(row(2, 7));
    assertThat(rows.admitted).isEmpty();

    rows.takenForSettled.clear();
    read(row(1, 7));
    assertThat(rows.admitted).containsExactly(1L);
    end(row(1, 7), new Outcome.Completed());
    assertThat(rows.admitted).containsExactly(1L, 2L);
  }

  @Test
  void anOpenRowThatIsTakenForSettledKeepsItsFollowersInAPoisonedKeyToo() {
    store(row(1, 7), row(2, 7), row(4, 7));
    poisoned.add(3L);
    rows.takenForSettled.add(1L);
    read(row(2, 7), row(4, 7));

    assertThat(rows.admitted).isEmpty();
    assertThat(rows.blocked).containsExactly(4L);
  }

  @Test
  void aHeadThatFailedKeepsItsFollowersUntilItIsBack() {
    store(row(1, 7), row(2, 7));
    read(row(1, 7), row(2, 7));
    Outcome.RetryAfter failed =
        new Outcome.RetryAfter(
            Duration.ofSeconds(1), Failures.of(new IllegalStateException(), Instant.EPOCH));
    end(row(1, 7), failed);
    assertThat(rows.admitted).containsExactly(1L);

    Delivery again = row(1, 7, 1, true);
    store(again);
    read(again);
    assertThat(rows.admitted).containsExactly(1L, 1L);
    end(again, new Outcome.Completed());
    assertThat(rows.admitted).containsExactly(1L, 1L, 2L);
  }

  /** During an outage the heads of very many keys may wait for their next attempt. */
  @Test
  void onlySomeKeysWhoseHeadIsNotDueAreKeptAndAllOfThemGoOn() {
    int count = 10 * CAPACITY;
    for (int key = 1; key <= count; key++) {
      store(row(key, key, 1, true), row(1_000 + key, key), row(2_000 + key, key));
    }
    for (int key = 1; key <= count; key++) {
      read(row(1_000 + key, key), row(2_000 + key, key));
    }
    assertThat(rows.admitted).isEmpty();
    assertThat(line.keys).hasSizeLessThanOrEqualTo(2 * CAPACITY);
    assertThat(rows.open).hasSizeLessThanOrEqualTo(2 * 2 * CAPACITY);
    assertThat(line.waitingInKeys).isEqualTo(rows.open.size());

    List<Long> expected = new ArrayList<>();
    for (int key = 1; key <= count; key++) {
      read(row(key, key, 1, true));
      keys.refill();
      end(row(key, key, 1, true), new Outcome.Completed());
      end(row(1_000 + key, key), new Outcome.Completed());
      end(row(2_000 + key, key), new Outcome.Completed());
      expected.addAll(List.of((long) key, 1_000L + key, 2_000L + key));
    }
    assertThat(rows.admitted).isEqualTo(expected);
    assertThat(line.keys).isEmpty();
    assertThat(line.waitingInKeys).isZero();
    assertThat(rows.open).isEmpty();
  }

  @Test
  void aPoisonedHeadBlocksItsFollowers() {
    store(row(1, 7), row(2, 7), row(3, 7));
    read(row(1, 7), row(2, 7));
    poisoned.add(1L);
    end(
        row(1, 7),
        new Outcome.Poisoned(Failures.of(new IllegalStateException(), Instant.EPOCH), true));
    assertThat(rows.blocked).containsExactly(2L);

    read(row(3, 7));
    assertThat(rows.blocked).containsExactly(2L, 3L);
    assertThat(rows.admitted).containsExactly(1L);
  }

  @Test
  void aPoisonedHeadThatIsSkippedMakesWay() {
    store(row(1, 7), row(2, 7));
    read(row(1, 7), row(2, 7));
    end(
        row(1, 7),
        new Outcome.Poisoned(
            Failures.of(new IllegalStateException(), Instant.EPOCH), true, OnPoison.SKIP));

    assertThat(rows.blocked).isEmpty();
    assertThat(rows.admitted).containsExactly(1L, 2L);
    assertThat(line.waitingInKeys).isZero();
  }

  @Test
  void aRefusedSettleForgetsTheKeyAndLooksForItAgain() {
    store(row(1, 7), row(2, 7));
    read(row(1, 7), row(2, 7));
    keys.settled(row(1, 7), new Outcome.Completed(), true);

    assertThat(line.keys).isEmpty();
    assertThat(rows.open).doesNotContain(row(2, 7));
    assertThat(rows.sweeps).isEqualTo(1);
    assertThat(line.waitingInKeys).isZero();
  }

  /** The lower one of two versions may be of the later message. */
  @Test
  void theEndOfAForgottenHeadSaysNothingAboutTheRowThatHasItsNumber() {
    for (long first : List.of(5L, 6L)) {
      Delivery forgotten = row(first, 7, first == 5 ? Versions.first(-1) : 0, false);
      Delivery standing = row(first, 7, first == 5 ? 0 : Versions.first(-1), false);
      rows.admitted.clear();
      store(forgotten);
      read(forgotten);
      store(standing);
      read(standing);
      assertThat(rows.admitted).containsExactly(first);

      rows.open.remove(forgotten);
      keys.settled(forgotten, new Outcome.Completed(), false); // as after a settle in doubt
      assertThat(rows.admitted).containsExactly(first, first);
      end(standing, new Outcome.Completed());
      assertThat(line.keys).isEmpty();
      assertThat(line.waitingInKeys).isZero();
    }
  }

  @Test
  void aForgottenRowThatWaitsMakesWayForTheOneThatHasItsNumber() {
    Delivery forgotten = row(2, 7, Versions.first(-1), false);
    Delivery standing = row(2, 7);
    store(row(1, 7), forgotten);
    read(row(1, 7), forgotten);
    store(standing);
    read(standing);
    assertThat(rows.open).containsExactlyInAnyOrder(row(1, 7), standing);
    assertThat(line.waitingInKeys).isEqualTo(1);

    end(row(1, 7), new Outcome.Completed());
    end(standing, new Outcome.Completed());
    assertThat(rows.admitted).containsExactly(1L, 2L);
    assertThat(line.keys).isEmpty();
    assertThat(line.waitingInKeys).isZero();
  }

  @Test
  void aFullKeyIsNotAskedAboutUntilHalfOfItIsGone() {
    Delivery[] all =
        LongStream.rangeClosed(1, 2 * MOST).mapToObj(seq -> row(seq, 7)).toArray(Delivery[]::new);
    store(all);
    read(all);
    assertThat(rows.open).hasSizeLessThanOrEqualTo(MOST + 2);
    asked.clear();
    for (int i = 0; i < 5; i++) {
      read(all); // as each due read and each sweep brings them
    }
    assertThat(asked).isEmpty();
    assertThat(rows.sweeps).isZero();

    for (int i = 0; asked.isEmpty(); i++) {
      assertThat(line.keys.get(7L).members).hasSizeGreaterThanOrEqualTo(MOST / 2);
      end(all[i], new Outcome.Completed());
      keys.refill();
    }
    assertThat(asked).as("one question, for the lowest of the key").hasSize(1);
    assertThat(line.keys.get(7L).members).hasSizeBetween(MOST, MOST + 2);
    for (int i = rows.admitted.size() - 1; i < all.length; i++) {
      end(all[i], new Outcome.Completed());
      keys.refill();
    }
    assertThat(rows.admitted).hasSize(all.length).isSorted();
    assertThat(line.keys).isEmpty();
    assertThat(rows.sweeps).isZero();
  }

  /** What stands between the told ones and the row is not known, so the row cannot be kept. */
  @Test
  void aRowFarBehindTheToldOnesIsLeftOutAndComesInItsTurn() {
    HandlerLine wide = Handlers.line(2, 1_000);
    Dispatched dispatched = new Dispatched(wide);
    OrderedKeys some = new OrderedKeys(store(), List.of(wide), dispatched);
    Delivery[] all =
        LongStream.rangeClosed(1, 3L * Ahead.MOST)
            .mapToObj(seq -> row(seq, 7))
            .toArray(Delivery[]::new);
    store(all);
    Delivery last = all[all.length - 1];
    dispatched.open.add(last);
    some.take(List.of(last));

    assertThat(dispatched.admitted).containsExactly(1L);
    assertThat(dispatched.open).hasSize(Ahead.MOST).doesNotContain(last);
    for (Delivery row : all) {
      stored.remove(row.seq());
      dispatched.open.remove(row);
      some.settled(row, new Outcome.Completed(), false);
      some.refill();
      assertThat(dispatched.open).hasSizeLessThanOrEqualTo(Ahead.MOST);
    }
    assertThat(dispatched.admitted)
        .containsExactlyElementsOf(LongStream.rangeClosed(1, all.length).boxed().toList());
    assertThat(wide.keys).isEmpty();
    assertThat(wide.waitingInKeys).isZero();
    assertThat(asked).as("questions").hasSizeLessThan(20);
  }

  @Test
  void whatWasLeftOutIsBlockedTooOnceItsHeadIsPoisoned() {
    HandlerLine wide = Handlers.line(2, 1_000);
    Dispatched dispatched = new Dispatched(wide);
    OrderedKeys some = new OrderedKeys(store(), List.of(wide), dispatched);
    Delivery[] all =
        LongStream.rangeClosed(1, 3L * Ahead.MOST)
            .mapToObj(seq -> row(seq, 7))
            .toArray(Delivery[]::new);
    store(all);
    dispatched.open.add(all[all.length - 1]);
    some.take(List.of(all[all.length - 1]));
    poisoned.add(1L);
    stored.remove(1L);
    dispatched.open.remove(all[0]);
    some.settled(
        all[0],
        new Outcome.Poisoned(Failures.of(new IllegalStateException(), Instant.EPOCH), true),
        false);
    for (long seq : dispatched.blocked) {
      stored.put(seq, row(seq, 7, 1, true)); // as the settler moves them
      dispatched.open.remove(row(seq, 7));
    }
    some.refill();
    Delivery next = row(5_000, 7);
    store(next);
    dispatched.open.add(next);
    some.take(List.of(next));

    assertThat(dispatched.admitted).as("nothing runs behind the poison").containsExactly(1L);
    assertThat(dispatched.blocked).contains(2L, (long) Ahead.MOST, 5_000L);
    assertThat(dispatched.sweeps).as("for those that nobody has seen").isPositive();
  }

  @Test
  void aPoisonFarBehindKeepsNobodyBeforeIt() {
    HandlerLine wide = Handlers.line(2, 1_000);
    Dispatched dispatched = new Dispatched(wide);
    OrderedKeys some = new OrderedKeys(store(), List.of(wide), dispatched);
    long poison = 2L * Ahead.MOST + 200;
    for (long seq = 1; seq <= 3L * Ahead.MOST; seq++) {
      if (seq != poison) {
        store(row(seq, 7));
      }
    }
    poisoned.add(poison);
    Delivery last = row(3L * Ahead.MOST, 7);
    dispatched.open.add(last);
    some.take(List.of(last));
    assertThat(dispatched.blocked).containsExactly(last.seq());
    for (long seq = 1; seq < poison; seq++) {
      stored.remove(seq);
      dispatched.open.remove(row(seq, 7));
      some.settled(row(seq, 7), new Outcome.Completed(), false);
      some.refill();
    }

    assertThat(dispatched.admitted)
        .containsExactlyElementsOf(LongStream.range(1, poison).boxed().toList());
    assertThat(dispatched.blocked).contains(poison + 1);
  }

  @Test
  void aFullKeyTakesNobodyElsesRoom() {
    Delivery[] hot =
        LongStream.rangeClosed(1, 2 * MOST).mapToObj(seq -> row(seq, 7)).toArray(Delivery[]::new);
    store(hot);
    read(hot);
    Delivery other = row(5_000, 8);
    store(other);
    read(other);

    assertThat(rows.admitted).containsExactly(1L, 5_000L);
  }

  @Test
  void aKeyBesideAFullOneGoesOnWithoutASweep() {
    Delivery[] hot =
        LongStream.rangeClosed(1, 2 * MOST).mapToObj(seq -> row(seq, 7)).toArray(Delivery[]::new);
    store(hot);
    read(hot);
    Delivery[] others =
        LongStream.rangeClosed(5_000, 5_009).mapToObj(seq -> row(seq, 8)).toArray(Delivery[]::new);
    store(others);
    read(others);
    for (int i = 0; i < 4; i++) {
      end(others[i], new Outcome.Completed());
    }

    assertThat(rows.admitted).contains(5_000L, 5_001L, 5_002L, 5_003L);
    keys.refill();
    assertThat(rows.admitted).as("after asking for those that were left out").contains(5_004L);
    assertThat(rows.sweeps).isZero();
  }

  @Test
  void nothingIsRememberedOfAKeyWhereNobodyCouldRun() {
    for (long seq = 2; seq < 2 + Ahead.MOST; seq++) {
      store(row(seq, 7, 1, true)); // blocked, as the poisoned head has left them
    }
    poisoned.add(1L);
    Delivery next = row(5_000, 7);
    store(next);
    read(next);
    assertThat(rows.blocked).containsExactly(5_000L);
    end(next, new Outcome.Blocked());

    assertThat(line.keys).isEmpty();
    assertThat(line.waitingInKeys).isZero();
    assertThat(rows.admitted).isEmpty();
  }

  @Test
  void aFollowerWaitsForAHeadOfWhichNothingIsRemembered() {
    store(row(1, 7));
    read(row(1, 7));
    end(
        row(1, 7),
        new Outcome.RetryAfter(
            Duration.ofSeconds(1), Failures.of(new IllegalStateException(), Instant.EPOCH)));
    assertThat(line.keys).isEmpty();
    Delivery again = row(1, 7, 1, true);
    store(again, row(2, 7));
    read(row(2, 7));
    assertThat(rows.admitted).containsExactly(1L);

    read(again);
    assertThat(rows.admitted).containsExactly(1L, 1L);
    end(again, new Outcome.Completed());
    assertThat(rows.admitted).containsExactly(1L, 1L, 2L);
    end(row(2, 7), new Outcome.Completed());
    assertThat(line.keys).isEmpty();
    assertThat(line.waitingInKeys).isZero();
  }

  @Test
  void aPoisonedRowBlocksNobodyBeforeIt() {
    store(row(2, 7), row(4, 7));
    read(row(2, 7), row(4, 7));
    store(row(1, 7), row(3, 7)); // 1 has committed late
    read(row(3, 7));
    assertThat(rows.admitted).containsExactly(2L);
    poisoned.add(2L);
    end(
        row(2, 7),
        new Outcome.Poisoned(Failures.of(new IllegalStateException(), Instant.EPOCH), true));

    assertThat(rows.blocked).containsExactlyInAnyOrder(3L, 4L);
    assertThat(rows.admitted).containsExactly(2L, 1L);
    assertThat(line.waitingInKeys).isZero();
  }
}
