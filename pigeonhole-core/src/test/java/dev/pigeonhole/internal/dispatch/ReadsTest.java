package dev.pigeonhole.internal.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Failure;
import dev.pigeonhole.store.Ahead;
import dev.pigeonhole.store.AheadRead;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellLimit;
import dev.pigeonhole.store.CellRow;
import dev.pigeonhole.store.Deliveries;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.DuePosition;
import dev.pigeonhole.store.DueRange;
import dev.pigeonhole.store.DueRead;
import dev.pigeonhole.store.Loaded;
import dev.pigeonhole.store.MarkResult;
import dev.pigeonhole.store.Range;
import dev.pigeonhole.store.SettleResult;
import dev.pigeonhole.store.Settlement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** Drives the reader's clock by hand against a store that only has numbers. */
class ReadsTest {
  private static final long MILLI = Duration.ofMillis(1).toNanos();
  private static final Cell CELL = new Cell(0, 1);

  /** Fresh rows of one cell, and what was asked for. */
  private static final class Fake implements Deliveries {
    final TreeSet<Long> rows = new TreeSet<>();

    /** Rows of an ordering key that have been due since the same moment. */
    final TreeSet<Long> keyed = new TreeSet<>();

    final List<Range> asked = new ArrayList<>();
    final List<DueRange> askedDue = new ArrayList<>();
    final List<CellLimit> askedPlaced = new ArrayList<>();
    List<Delivery> due = List.of();
    List<Delivery> placed = List.of();
    Optional<Duration> untilNext = Optional.empty();
    Map<Cell, DuePosition> cut = Map.of();

    @Override
    public List<Delivery> fresh(List<Range> ranges) {
      asked.addAll(ranges);
      List<Delivery> found = new ArrayList<>();
      for (Range range : ranges) {
        rows.subSet(range.after(), false, range.upTo(), true).stream()
            .limit(range.limit())
            .forEach(seq -> found.add(Rows.row(range.cell(), seq)));
      }
      return found;
    }

    @Override
    public Map<Integer, Integer> waiting(List<Cell> cells, int atMost) {
      return Map.of(CELL.handler(), Math.min(rows.size(), atMost));
    }

    @Override
    public DueRead due(List<DueRange> ranges) {
      askedDue.addAll(ranges);
      if (keyed.isEmpty()) {
        return new DueRead(due, untilNext, cut);
      }
      List<Delivery> found = new ArrayList<>();
      Map<Cell, DuePosition> more = new HashMap<>();
      for (DueRange range : ranges) {
        DuePosition after = range.after();
        List<Long> seqs =
            keyed.tailSet(after == null ? 0 : after.seq(), false).stream()
                .limit(range.limit() + 1L)
                .toList();
        seqs.stream()
            .limit(range.limit())
            .forEach(seq -> found.add(Rows.keyedLate(range.cell(), seq)));
        if (seqs.size() > range.limit()) {
          more.put(range.cell(), new DuePosition(Instant.EPOCH, seqs.get(range.limit() - 1)));
        }
      }
      return new DueRead(
          found, more.isEmpty() ? Optional.empty() : Optional.of(Duration.ZERO), more);
    }

    @Override
    public List<Delivery> placed(List<CellLimit> cells) {
      askedPlaced.addAll(cells);
      return placed;
    }

    @Override
    public AheadRead ahead(List<Ahead> asking) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Loaded load(List<Long> seqs, long bytes) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Map<Delivery, Failure> lastFailures(List<Delivery> deliveries) {
      throw new UnsupportedOperationException();
    }

    @Override
    public SettleResult settle(List<Settlement> settlements) {
      throw new UnsupportedOperationException();
    }

    @Override
    public MarkResult mark(List<Delivery> deliveries, long incarnation, boolean lone) {
      throw new UnsupportedOperationException();
    }
  }

  private final Fake store = new Fake();
  private final CellState cell = new CellState(new CellRow(CELL, 1, 1, false), 0);
  private final HandlerLine line = Handlers.line(8, 100);
  private long now = System.nanoTime(); // stands still from now on, but where a test moves it
  private final Reads reads = reads(List.of(cell));
  private final Set<Delivery> known = new HashSet<>();

  private Reads reads(List<CellState> cells) {
    return new Reads(
        store,
        new Dispatcher.Settings(500, 3, Duration.ofMillis(100), Duration.ofSeconds(1), 1 << 20),
        cells,
        asked -> line,
        () -> now);
  }

  private List<Long> turnAfter(long nanos) {
    now += nanos;
    List<Long> found = new ArrayList<>();
    reads.turn(
        now,
        rows -> {
          rows.forEach(row -> found.add(row.seq()));
          return (int) rows.stream().filter(row -> !known.contains(row)).count();
        });
    return found;
  }

  @Test
  void readsForwardFromItsCursor() {
    store.rows.addAll(List.of(10L, 20L));
    assertThat(turnAfter(0)).containsExactly(10L, 20L);
    assertThat(cell.cursor).isEqualTo(20);
    assertThat(cell.caughtUp).isTrue();

    store.rows.add(30L);
    reads.wake(cell);
    assertThat(reads.nanosUntilNext(now)).isZero();
    assertThat(turnAfter(0)).containsExactly(30L);
    assertThat(store.asked.get(store.asked.size() - 1).after()).isEqualTo(20);
  }

  @Test
  void clm17_aRowThatCommitsLateIsFoundByLookingBack() {
    store.rows.addAll(List.of(10L, 30L));
    turnAfter(0);
    store.rows.remove(10L);
    store.rows.remove(30L);
    store.rows.add(20L); // its number was taken before 30 and committed after

    List<Long> found = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      found.addAll(turnAfter(210 * MILLI));
    }
    assertThat(found).contains(20L);
  }

  @Test
  void aRowThatCommitsVeryLateIsFoundByTheSweep() {
    store.rows.add(1_000L);
    turnAfter(0);
    store.rows.clear();
    for (int i = 0; i < 2 * CellState.TICKS; i++) {
      turnAfter(210 * MILLI); // the look-back has passed it by
    }
    store.rows.add(5L);
    List<Long> found = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      found.addAll(turnAfter(Duration.ofSeconds(1).toNanos()));
    }
    assertThat(found).contains(5L);
  }

  @Test
  void clm08_aSweepGoesThroughEverythingInPieces() {
    cell.cursor = 10_000;
    for (long seq = 1; seq <= 1_000; seq++) {
      store.rows.add(seq);
    }
    reads.lookNow();

    assertThat(turnAfter(Duration.ofSeconds(1).toNanos())).contains(1L, 200L, 201L, 1_000L);
    assertThat(reads.sweptNow()).isTrue();
  }

  /** As behind an ordering key that has no room for them. */
  @Test
  void aLongSweepLetsOtherReadsGoFirst() {
    cell.cursor = 10_000;
    for (long seq = 1; seq <= 5_000; seq++) {
      store.rows.add(seq);
    }
    reads.lookNow();
    assertThat(turnAfter(Duration.ofSeconds(1).toNanos())).contains(1L, 2_000L);
    assertThat(reads.sweptNow()).isFalse();

    store.rows.add(10_001L);
    reads.wake(cell);
    List<Long> found = turnAfter(0);
    assertThat(found).contains(10_001L).doesNotContain(5_000L);
    for (int i = 0; i < 50 && !found.contains(5_000L); i++) {
      found.addAll(turnAfter(Duration.ofSeconds(1).toNanos()));
    }
    assertThat(found).contains(2_001L, 5_000L);
    assertThat(reads.sweptNow()).isTrue();
  }

  @Test
  void aSweepThatIsWantedWhileOneIsUnderWayBeginsAfterIt() {
    cell.cursor = 10_000;
    for (long seq = 1; seq <= 5_000; seq++) {
      store.rows.add(seq);
    }
    reads.lookNow();
    turnAfter(Duration.ofSeconds(1).toNanos());
    reads.sweepSoon();
    boolean over = false;
    for (int i = 0; i < 50 && !over; i++) {
      over = turnAfter(Duration.ofSeconds(1).toNanos()).contains(5_000L);
    }
    assertThat(over).isTrue();
    store.asked.clear();
    turnAfter(Duration.ofSeconds(4).toNanos()); // sooner than without being asked
    assertThat(store.asked)
        .anyMatch(range -> range.after() == 0 && range.upTo() == 10_000 && range.limit() == 200);
  }

  @Test
  void dueRowsThatFindNoRoomInTheirKeyHideNobody() {
    store.due = List.of(Rows.row(1), Rows.row(2), Rows.row(3)); // nobody keeps them
    turnAfter(0);
    int first = store.askedDue.get(store.askedDue.size() - 1).limit();
    turnAfter(Duration.ofSeconds(2).toNanos());
    assertThat(store.askedDue.get(store.askedDue.size() - 1).limit()).isEqualTo(first + 6);

    store.due = List.of();
    turnAfter(Duration.ofSeconds(2).toNanos());
    turnAfter(Duration.ofSeconds(2).toNanos());
    assertThat(store.askedDue.get(store.askedDue.size() - 1).limit()).isEqualTo(first);
  }

  @Test
  void whatIsDueBehindTheRowsOfALongKeyIsFoundWhateverTheirNumber() {
    keyed(2, 20_000); // nobody keeps them
    List<Long> found = new ArrayList<>();
    for (int i = 0; i < 30 && !found.contains(20_000L); i++) {
      found.addAll(turnAfter(Duration.ofSeconds(2).toNanos()));
    }

    assertThat(found).contains(20_000L);
    assertThat(walked()).as("each part begins behind the one before").isSorted();
    assertThat(store.askedDue).extracting(DueRange::limit).allMatch(limit -> limit <= 2_000);
    assertThat(cell.walked).as("it has come to the end").isNull();
  }

  @Test
  void aWalkBeginsAgainAndFindsWhatFellDueBehindIt() {
    keyed(2, 20_000);
    turnAfter(Duration.ofSeconds(2).toNanos());
    long missed = Objects.requireNonNull(cell.walked).seq() - 1; // odd, so nobody was there
    store.keyed.add(missed);
    store.askedDue.clear();
    List<Long> found = new ArrayList<>();
    for (int i = 0; i < 60 && !found.contains(missed); i++) {
      found.addAll(turnAfter(Duration.ofSeconds(2).toNanos()));
    }

    assertThat(found).contains(missed);
    assertThat(found).as("after it had gone through to the end").contains(20_000L);
  }

  @Test
  void aWalkIsOverWhenAllThatIsDueComesAtOnce() {
    keyed(2, 20_000);
    turnAfter(Duration.ofSeconds(2).toNanos());
    assertThat(cell.walked).isNotNull();

    store.keyed.retainAll(Set.of(2L, 4L));
    assertThat(turnAfter(Duration.ofSeconds(2).toNanos())).containsExactly(2L, 4L);
    assertThat(cell.walked).isNull();
  }

  @Test
  void aHandlerThatTheFirstRowsHaveFilledIsNotWalkedFor() {
    keyed(2, 20_000);
    reads.turn(
        now,
        rows -> {
          line.occupancy = line.capacity;
          return rows.size();
        });

    assertThat(store.askedDue).hasSize(1);
    assertThat(walked()).isEmpty();
  }

  /** They run as they come, so those behind them are not hidden but wait for their turn. */
  @Test
  void rowsWithoutAKeyAreReadInTheirOrder() {
    store.due = List.of(Rows.row(1));
    store.untilNext = Optional.of(Duration.ZERO);
    store.cut = Map.of(CELL, new DuePosition(Instant.EPOCH, 1));
    for (int i = 0; i < 5; i++) {
      turnAfter(Duration.ofSeconds(2).toNanos());
    }

    assertThat(store.askedDue).hasSize(5);
    assertThat(walked()).isEmpty();
  }

  private void keyed(long from, long to) {
    for (long seq = from; seq <= to; seq += 2) {
      store.keyed.add(seq);
    }
  }

  /** Where the parts of walks have begun. */
  private List<Long> walked() {
    List<Long> seqs = new ArrayList<>();
    for (DueRange range : store.askedDue) {
      DuePosition after = range.after();
      if (after != null) {
        seqs.add(after.seq());
      }
    }
    return seqs;
  }

  @Test
  void clm18_aFullHandlerIsNotAskedFor() {
    line.occupancy = line.capacity;
    store.rows.add(10L);
    turnAfter(0);

    assertThat(turnAfter(Duration.ofSeconds(10).toNanos())).isEmpty();
    assertThat(store.asked).isEmpty();
    assertThat(store.askedDue).isEmpty();
    line.occupancy = 0;
    reads.roomMade();
    assertThat(turnAfter(Duration.ofSeconds(2).toNanos())).contains(10L);
  }

  @Test
  void whatCameInWhileAHandlerWasFullIsReadOnceThereIsRoom() {
    turnAfter(0); // caught up
    line.occupancy = line.capacity;
    store.rows.add(10L);
    reads.wake(cell);
    assertThat(turnAfter(MILLI)).isEmpty();

    line.occupancy = 0;
    reads.roomMade();
    assertThat(reads.nanosUntilNext(now)).isZero();
    assertThat(turnAfter(MILLI)).containsExactly(10L);
  }

  @Test
  void aCellThatIsLeavingIsNotAskedFor() {
    cell.leaving = true;
    store.rows.add(10L);

    assertThat(turnAfter(Duration.ofSeconds(10).toNanos())).isEmpty();
    assertThat(store.asked).isEmpty();
  }

  @Test
  void clm20_anIdleStoreIsAskedLessOftenUpToTheLongestWait() {
    turnAfter(0);
    List<Long> waits = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      int before = store.asked.size();
      long waited = 0;
      while (store.asked.size() == before) {
        turnAfter(10 * MILLI);
        waited += 10;
      }
      waits.add(waited);
    }
    assertThat(waits).isSorted();
    assertThat(waits.get(0)).isBetween(90L, 210L);
    assertThat(waits.get(waits.size() - 1)).isBetween(990L, 1_010L);
    reads.wake();
    assertThat(reads.nanosUntilNext(now)).isZero();
  }

  @Test
  void lateWorkIsAskedForWhenItIsKnownToBeDue() {
    store.untilNext = Optional.of(Duration.ofMillis(400));
    turnAfter(0);
    store.untilNext = Optional.empty();
    int before = store.askedDue.size();

    turnAfter(399 * MILLI);
    assertThat(store.askedDue).hasSize(before);
    turnAfter(2 * MILLI);
    assertThat(store.askedDue).hasSize(before + 1);
  }

  @Test
  void lateWorkThatIsKnownHereIsAskedForFiveTimesASecond() {
    store.due = List.of(Rows.row(1), Rows.row(2), Rows.row(3));
    known.addAll(store.due);
    store.untilNext = Optional.of(Duration.ZERO); // there is more, and it is due

    assertThat(dueReadsOfASecond()).isLessThan(10);
    assertThat(dueReadsOfASecond()).isBetween(4, 6);
    known.clear();
    dueReadsOfASecond();
    assertThat(dueReadsOfASecond()).isGreaterThan(50);
  }

  private int dueReadsOfASecond() {
    int before = store.askedDue.size();
    for (int i = 0; i < 1_000; i++) {
      turnAfter(MILLI);
    }
    return store.askedDue.size() - before;
  }

  @Test
  void rowsWithAPlaceAreAskedForThoughTheHandlerIsFullOfOthers() {
    line.occupancy = line.capacity;
    store.placed = List.of(Rows.row(7).at(1));

    assertThat(turnAfter(0)).containsExactly(7L);
    assertThat(store.asked).isEmpty();
  }

  @Test
  void nobodyIsAskedForRowsWithAPlaceWhereTheirRoomIsFull() {
    line.placed = line.roomForPlaced();
    turnAfter(0);

    turnAfter(Duration.ofSeconds(10).toNanos());
    assertThat(store.askedPlaced).isEmpty();
    line.paused = true;
    line.placed = 0;
    turnAfter(Duration.ofSeconds(10).toNanos());
    assertThat(store.askedPlaced).isEmpty();
  }

  @Test
  void rowsWithAPlaceThatFoundNoRoomAreReadWhenOthersHaveGone() {
    store.placed = List.of(Rows.row(7).at(1), Rows.row(8).at(2));
    line.placed = 1; // only one of the two was taken
    turnAfter(0);
    int before = store.askedPlaced.size();

    line.placed = 0;
    reads.roomMade();
    assertThat(turnAfter(20 * MILLI)).contains(8L);
    assertThat(store.askedPlaced).hasSize(before + 1);
  }

  @Test
  void whereNobodyUsesPrioritiesTheyAreAskedForOnceASecond() {
    for (int i = 0; i < 5_000; i++) {
      turnAfter(MILLI); // the pace has come down by then
    }
    int before = store.askedPlaced.size();
    for (int i = 0; i < 10_000; i++) {
      reads.roomMade();
      turnAfter(MILLI);
    }
    assertThat(store.askedPlaced.size() - before).isBetween(9, 11);
  }

  @Test
  void withoutCellsThereIsNothingToAsk() {
    Reads none = reads(List.of());

    none.turn(
        now,
        rows -> {
          throw new AssertionError("nobody was asked: " + rows);
        });
    assertThat(none.nanosUntilNext(now)).isPositive();
    assertThat(store.asked).isEmpty();
  }

  /** Lets the handler keep what is found, as the dispatcher does, and half of it be done before. */
  private List<Long> turnWithRoom() {
    line.occupancy /= 2;
    reads.roomMade();
    now += MILLI;
    List<Long> found = new ArrayList<>();
    reads.turn(
        now,
        rows -> {
          line.occupancy += rows.size();
          rows.forEach(row -> found.add(row.seq()));
          return rows.size();
        });
    return found;
  }

  @Test
  void clm23_freshRowsWithoutEndDoNotKeepBackThoseThatAreDue() {
    for (long seq = 1; seq <= 100_000; seq++) {
      store.rows.add(seq);
    }
    turnWithRoom();
    assertThat(store.askedDue).as("while fresh rows fill the handler").isEmpty();
    store.due = List.of(Rows.row(200_000));
    List<Long> found = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      found.addAll(turnWithRoom());
    }

    assertThat(found).contains(200_000L);
  }

  @Test
  void clm23_dueRowsWithoutEndDoNotKeepBackFreshOnes() {
    for (long seq = 1; seq <= 100_000; seq++) {
      store.rows.add(seq);
    }
    turnWithRoom();
    store.due = LongStream.range(200_000, 200_200).mapToObj(Rows::row).toList();
    store.untilNext = Optional.of(Duration.ZERO);
    int dueTurns = 0;
    int freshTurns = 0;
    for (int i = 0; i < 400; i++) {
      List<Long> found = turnWithRoom();
      dueTurns += found.contains(200_000L) ? 1 : 0;
      freshTurns += found.stream().anyMatch(seq -> seq < 200_000) ? 1 : 0;
    }

    assertThat(dueTurns).isGreaterThan(30);
    assertThat(freshTurns).isGreaterThan(30);
  }

  @Test
  void aHandlerThatIsOwedADueReadLetsNobodyAskWithoutEnd() {
    line.occupancy = line.capacity;
    turnAfter(0);
    line.occupancy = 0;
    reads.roomMade();
    assertThat(reads.nanosUntilNext(now)).isZero();
    turnAfter(MILLI);
    turnAfter(MILLI);

    assertThat(store.askedDue).hasSize(1);
    assertThat(reads.nanosUntilNext(now)).isPositive();
  }
}
