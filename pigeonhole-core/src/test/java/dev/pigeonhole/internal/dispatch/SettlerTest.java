package dev.pigeonhole.internal.dispatch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.store.Deliveries;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.SettleResult;
import dev.pigeonhole.store.Settlement;
import dev.pigeonhole.store.StoreException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What becomes of outcomes when the store does not simply take them. */
class SettlerTest {
  private final Set<Long> written = new HashSet<>();
  private final List<Settled> settled = new ArrayList<>();

  private final List<Delivery> aside = new ArrayList<>();

  /** Rows that another transaction holds. */
  private final Set<Long> locked = new HashSet<>();

  private final List<Long> told = new ArrayList<>();

  /** What a settle of these numbers throws instead of writing them; null writes. */
  private Function<List<Long>, @Nullable Throwable> fault = seqs -> null;

  private final Settler settler =
      new Settler(
          store(),
          new Events("inbox", List.of()),
          100,
          settled::addAll,
          (rows, lasting) -> aside.addAll(rows));

  private Deliveries store() {
    return (Deliveries)
        Proxy.newProxyInstance(
            getClass().getClassLoader(),
            new Class<?>[] {Deliveries.class},
            (self, method, args) -> settle(args));
  }

  private SettleResult settle(Object[] args) throws Throwable {
    List<Delivery> rows =
        ((List<?>) args[0]).stream().map(each -> ((Settlement) each).delivery()).toList();
    Throwable thrown = fault.apply(rows.stream().map(Delivery::seq).toList());
    if (thrown != null) {
      throw thrown;
    }
    Set<Delivery> refused = new HashSet<>();
    Set<Delivery> held = new HashSet<>();
    for (Delivery row : rows) {
      if (locked.contains(row.seq())) {
        held.add(row);
      } else if (!written.add(row.seq())) {
        refused.add(row);
      }
    }
    return new SettleResult(refused, held);
  }

  private static StoreException storeFault(StoreException.Kind kind) {
    return new StoreException(kind, ErrorCode.DATABASE_ERROR, "fault", null);
  }

  private void add(long... seqs) {
    for (long seq : seqs) {
      settler.add(new Settlement(Rows.row(seq), new Outcome.Completed()), () -> told.add(seq));
    }
  }

  /** Refuses for good every batch of several, and says of single ones what it is told. */
  private void oneByOne(Function<Long, @Nullable Throwable> single) {
    fault =
        seqs ->
            seqs.size() > 1 ? storeFault(StoreException.Kind.PERMANENT) : single.apply(seqs.get(0));
  }

  @Test
  void anOutcomeThatTheStoreRejectsIsKeptAndDelaysNoOther() {
    StoreException rejection = storeFault(StoreException.Kind.PERMANENT);
    add(1, 2, 3);
    oneByOne(seq -> seq == 2 ? rejection : null);
    assertThatThrownBy(settler::flushAll).isSameAs(rejection);
    assertThat(written).containsExactlyInAnyOrder(1L, 3L);
    assertThat(told).containsExactly(1L, 3L);
    assertThat(settled).as("2 stays open").hasSize(2).noneMatch(Settled::refused);
    assertThat(aside).extracting(Delivery::seq).containsOnly(2L);
    assertThat(settler.idle()).as("worth no wait when the inbox stops").isTrue();

    assertThatThrownBy(settler::flushAll).isSameAs(rejection);
    fault = seqs -> null; // the trigger is gone
    settler.flushAll();
    assertThat(told).containsExactly(1L, 3L, 2L);
    assertThat(settled).noneMatch(Settled::refused);
    assertThat(settler.idle()).isTrue();
  }

  @Test
  void aRejectedOutcomeIsTriedAgainByItself() throws Exception {
    List<List<Long>> tried = new ArrayList<>();
    add(1);
    fault =
        seqs -> {
          tried.add(seqs);
          return seqs.contains(1L) && tried.size() < 6
              ? storeFault(StoreException.Kind.PERMANENT)
              : null;
        };
    while (!told.contains(1L)) {
      add(2 + tried.size());
      settler.turn(10);
    }
    assertThat(tried.stream().filter(seqs -> seqs.contains(1L)).skip(2))
        .allMatch(List.of(1L)::equals);
  }

  /** They may be missing on the table of failures alone. */
  @Test
  void rightsThatAreMissingForOneOutcomeDelayNoOther() {
    StoreException denied =
        new StoreException(
            StoreException.Kind.PERMANENT, ErrorCode.DATABASE_PRIVILEGE, "denied", null);
    add(1, 2, 3);
    fault = seqs -> seqs.contains(2L) ? denied : null;
    assertThatThrownBy(settler::flushAll).isSameAs(denied);
    assertThat(told).containsExactly(1L, 3L);
    fault = seqs -> null;
    settler.flushAll();
    assertThat(told).containsExactly(1L, 3L, 2L);
  }

  /** More of them than a batch has room for. */
  @Test
  void outcomesThatTheStoreCannotTakeForNowDelayNoOther() throws Exception {
    LongStream.rangeClosed(1, 250).forEach(this::add);
    fault =
        seqs ->
            seqs.stream().anyMatch(seq -> seq <= 250)
                ? storeFault(StoreException.Kind.TRANSIENT)
                : null;
    LongStream.rangeClosed(251, 300).forEach(this::add);
    for (int turns = 0; told.size() < 50; turns++) {
      assertThat(turns).as("turns").isLessThan(1_000);
      turnOrFail();
    }
    assertThat(settler.idle()).as("they may be written yet").isFalse();
    fault = seqs -> null;
    while (!settler.idle()) {
      turnOrFail();
    }
    assertThat(told).hasSize(300).doesNotHaveDuplicates();
  }

  private void turnOrFail() throws InterruptedException {
    try {
      settler.turn(10);
    } catch (StoreException e) {
      assertThat(e.kind()).isEqualTo(StoreException.Kind.TRANSIENT);
    }
  }

  @Test
  void aStoreThatTakesNothingForNowIsNotAskedForEver() {
    add(1, 2, 3);
    fault = seqs -> storeFault(StoreException.Kind.TRANSIENT);
    for (int i = 0; i < 3; i++) {
      assertThatThrownBy(settler::flushAll).isInstanceOf(StoreException.class);
    }
    assertThat(settler.idle()).isFalse();
    fault = seqs -> null;
    settler.flushAll();
    assertThat(told).containsExactlyInAnyOrder(1L, 2L, 3L);
  }

  /** It has run, and has not taken the process with it. */
  @Test
  void anErrorWhileAnEventIsToldCostsNoOutcomeAndTellsNothingTwice() {
    List<String> events = new ArrayList<>();
    for (int i = 1; i <= 3; i++) {
      String name = "event " + i;
      settler.add(
          new Settlement(Rows.row(i), new Outcome.Completed()),
          () -> {
            events.add(name);
            if (events.size() == 2) {
              throw new OutOfMemoryError("for the test");
            }
          });
    }
    assertThatThrownBy(settler::flushAll).isInstanceOf(OutOfMemoryError.class);
    assertThat(settler.idle()).isFalse();
    settler.flushAll();

    assertThat(events).containsExactly("event 1", "event 2", "event 3");
    assertThat(settled).as("told once").hasSize(3).noneMatch(Settled::refused);
    assertThat(settler.idle()).isTrue();
    add(4);
    assertThat(settler.idle()).isFalse();
  }

  @Test
  void aBugAmongSingleRowsLosesNoneOfThem() {
    for (Throwable bug : List.of(new IllegalStateException("bug"), new AssertionError("bug"))) {
      written.clear();
      told.clear();
      add(1, 2, 3, 4);
      oneByOne(seq -> seq == 2 ? bug : null);
      assertThatThrownBy(settler::flushAll).isSameAs(bug);
      assertThat(settler.idle()).isFalse();

      fault = seqs -> null;
      settler.flushAll();
      assertThat(written).containsExactlyInAnyOrder(1L, 2L, 3L, 4L);
      assertThat(told).containsExactly(1L, 2L, 3L, 4L);
      assertThat(settler.idle()).isTrue();
    }
  }

  @Test
  void whatTheStoreCannotTakeNowIsWrittenLater() {
    add(1, 2, 3);
    List<Long> failedOnce = new ArrayList<>();
    oneByOne(
        seq -> {
          if (seq == 2 || failedOnce.contains(seq)) {
            return null;
          }
          failedOnce.add(seq);
          return storeFault(StoreException.Kind.TRANSIENT);
        });
    settler.flushAll();

    assertThat(written).containsExactlyInAnyOrder(1L, 2L, 3L);
    assertThat(told).containsExactlyInAnyOrder(1L, 2L, 3L);
    assertThat(settler.idle()).isTrue();
  }

  @Test
  void aRowThatSomebodyKeepsLockedKeepsNobodyElse() {
    add(1, 2, 3);
    fault = seqs -> seqs.contains(2L) ? storeFault(StoreException.Kind.TRANSIENT) : null;
    assertThatThrownBy(settler::flushAll).isInstanceOf(StoreException.class); // it may pass
    assertThatThrownBy(settler::flushAll).isInstanceOf(StoreException.class); // 2 is left, alone

    assertThat(written).containsExactlyInAnyOrder(1L, 3L);
    assertThat(settler.idle()).isFalse();
    fault = seqs -> null;
    settler.flushAll();
    assertThat(written).containsExactlyInAnyOrder(1L, 2L, 3L);
    assertThat(settled).noneMatch(Settled::refused);
  }

  @Test
  void aLockedRowIsSetAsideAndWrittenWhenItIsFree() throws Exception {
    add(1, 2, 3);
    locked.add(2L);
    settler.turn(0);
    assertThat(written).containsExactlyInAnyOrder(1L, 3L);
    assertThat(told).containsExactly(1L, 3L);
    assertThat(aside).extracting(Delivery::seq).containsExactly(2L);
    assertThat(settler.idle()).isFalse();

    add(4);
    settler.turn(0);
    assertThat(written).containsExactlyInAnyOrder(1L, 3L, 4L);

    locked.clear();
    while (!settler.idle()) {
      settler.turn(100);
    }
    assertThat(told).containsExactly(1L, 3L, 4L, 2L);
    assertThat(settled).noneMatch(Settled::refused);
  }

  /** A whole batch may be locked, of a node that was paused in its settle. */
  @Test
  void howeverManyRowsAreLockedThereIsRoomForOthers() throws Exception {
    for (long seq = 1; seq <= 1_000; seq++) {
      locked.add(seq);
      add(seq);
    }
    for (long seq = 1_001; seq <= 1_500; seq++) {
      add(seq);
    }
    for (int turns = 0; written.size() < 500; turns++) {
      assertThat(turns).as("turns").isLessThan(100_000);
      settler.turn(0);
    }
    assertThat(settler.idle()).isFalse();
  }

  @Test
  void drivenByHandItDoesNotWaitForALockForEver() {
    add(1);
    locked.add(1L);
    assertThatThrownBy(settler::flushAll)
        .isInstanceOfSatisfying(
            StoreException.class,
            e -> assertThat(e.kind()).isEqualTo(StoreException.Kind.TRANSIENT));
    locked.clear();
    settler.flushAll();
    assertThat(settler.idle()).isTrue();
  }

  @Test
  void anOutcomeIsKeptWhileARightIsMissing() {
    add(1, 2);
    fault =
        seqs ->
            new StoreException(
                StoreException.Kind.PERMANENT, ErrorCode.DATABASE_PRIVILEGE, "denied", null);
    assertThatThrownBy(settler::flushAll).isInstanceOf(StoreException.class);
    assertThat(settled).isEmpty();

    fault = seqs -> null;
    settler.flushAll();
    assertThat(written).containsExactlyInAnyOrder(1L, 2L);
  }

  @Test
  void aRefusalOfOurOwnFirstTryIsNoRefusalAlsoOneByOne() {
    add(1, 2);
    Set<Long> doubted = new HashSet<>();
    oneByOne(
        seq -> {
          if (seq == 2 && doubted.add(seq)) {
            written.add(seq); // it was done, and the answer was lost
            return storeFault(StoreException.Kind.UNKNOWN);
          }
          return null;
        });
    settler.flushAll();

    assertThat(told).containsExactly(1L, 2L);
    assertThat(settled).noneMatch(Settled::refused);
  }

  @Test
  void aDoubtfulNeighbourMakesNoOtherRefusalOurOwn() {
    add(1);
    fault = seqs -> storeFault(StoreException.Kind.UNKNOWN);
    assertThatThrownBy(settler::flushAll).isInstanceOf(StoreException.class);
    fault = seqs -> null;
    written.add(2L); // by somebody else
    add(2);
    settler.flushAll();

    assertThat(told).containsExactly(1L);
    assertThat(settled).filteredOn(Settled::refused).hasSize(1);
  }
}
