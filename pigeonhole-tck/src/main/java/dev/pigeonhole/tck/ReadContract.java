package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.DuePosition;
import dev.pigeonhole.store.DueRange;
import dev.pigeonhole.store.DueRead;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.Range;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Fresh work by ranges, late work by its time. */
abstract class ReadContract extends StoreFixture {
  private HandlerId a;
  private HandlerId b;

  ReadContract(InboxStoreContract contract) {
    super(contract);
  }

  @BeforeEach
  void registerHandlers() {
    a = handler("a");
    b = handler("b");
  }

  @Test
  void aRangeIsOpenBelowAndClosedAbove() {
    List<Long> seqs = five();

    assertThat(fresh(new Range(cell(0, a), seqs.get(0), seqs.get(3), MANY)))
        .containsExactlyElementsOf(seqs.subList(1, 4));
    assertThat(fresh(new Range(cell(0, a), 0, seqs.get(0), MANY))).containsExactly(seqs.get(0));
    assertThat(fresh(new Range(cell(0, a), seqs.get(2), seqs.get(2), MANY))).isEmpty();
    assertThat(fresh(Range.after(cell(0, a), seqs.get(4), MANY))).isEmpty();
  }

  @Test
  void clm15_aLimitLetsTheLowestNumbersThroughInOrder() {
    List<Long> seqs = five();

    assertThat(fresh(Range.after(cell(0, a), 0, 2))).containsExactlyElementsOf(seqs.subList(0, 2));
    assertThat(fresh(Range.after(cell(0, a), seqs.get(1), 2)))
        .containsExactlyElementsOf(seqs.subList(2, 4));
  }

  @Test
  void severalRangesAreReadAtOnceEachWithItsOwnLimit() {
    List<Long> odd = new ArrayList<>();
    List<Long> even = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      even.add(stored(message("even-" + i).inLane(0).to(a).build()));
      odd.add(stored(message("odd-" + i).inLane(1).to(a, b).build()));
    }

    List<Delivery> rows =
        store
            .deliveries()
            .fresh(
                List.of(
                    Range.after(cell(1, a), odd.get(0), 2),
                    Range.after(cell(0, a), 0, 3),
                    Range.after(cell(1, b), 0, 1),
                    Range.after(cell(2, a), 0, 5)));

    assertThat(seqsOf(rows, cell(1, a))).containsExactly(odd.get(1), odd.get(2));
    assertThat(seqsOf(rows, cell(0, a))).containsExactlyElementsOf(even.subList(0, 3));
    assertThat(seqsOf(rows, cell(1, b))).containsExactly(odd.get(0));
    assertThat(rows).hasSize(6);
  }

  @Test
  void twoRangesOfOneCellMayBeReadTogether() {
    List<Long> seqs = five();

    List<Delivery> rows =
        store
            .deliveries()
            .fresh(
                List.of(
                    new Range(cell(0, a), 0, seqs.get(0), MANY),
                    new Range(cell(0, a), seqs.get(2), Long.MAX_VALUE, MANY)));

    assertThat(rows)
        .extracting(Delivery::seq)
        .containsExactlyInAnyOrder(seqs.get(0), seqs.get(3), seqs.get(4));
  }

  @Test
  void whatWaitsIsCountedPerFamilyUpToALimit() {
    stored(message("1").inLane(0).to(a, b).build());
    stored(message("2").inLane(1).to(a).build());
    stored(message("3").inLane(2).to(a).build());
    settle(delivered("4", a), failedFor(Duration.ZERO));
    settle(delivered("5", b), completed());
    List<Cell> cells = List.of(cell(0, a), cell(1, a), cell(0, b), cell(1, b));

    assertThat(store.deliveries().waiting(cells, 10))
        .containsEntry(a.family(), 2)
        .containsEntry(b.family(), 1);
    assertThat(store.deliveries().waiting(cells, 1))
        .containsEntry(a.family(), 1)
        .containsEntry(b.family(), 1);
    assertThat(store.deliveries().waiting(List.of(cell(3, a)), 10).getOrDefault(a.family(), 0))
        .isZero();
  }

  @Test
  void nothingIsAskedNothingIsAnswered() {
    five();

    assertThat(store.deliveries().waiting(List.of(), 5)).isEmpty();

    assertThat(store.deliveries().fresh(List.of())).isEmpty();
    assertThat(store.deliveries().due(List.of()).rows()).isEmpty();
    assertThat(store.deliveries().due(List.of()).untilNext()).isEmpty();
  }

  @Test
  void readingTwiceAnswersTheSame() {
    five();

    assertThat(fresh(a)).isEqualTo(fresh(a)).hasSize(5);
  }

  @Test
  void manyRangesAtOnceAreNoProblem() {
    List<Long> seqs = five();
    List<Range> ranges = new ArrayList<>();
    for (int i = 0; i < 400; i++) {
      ranges.add(Range.after(new Cell(i % lanes(), a.family() + 1000 + i), 0, 5));
    }
    ranges.add(200, Range.after(cell(0, a), 0, 3));

    assertThat(store.deliveries().fresh(ranges))
        .extracting(Delivery::seq)
        .containsExactlyElementsOf(seqs.subList(0, 3));
  }

  @Test
  void lateWorkIsNotFreshAndFreshWorkIsNotLate() {
    Delivery late = delivered("late", a);
    Delivery fresh = delivered("fresh", a);
    settle(late, failed());

    assertThat(fresh(a)).containsExactly(fresh);
    assertThat(due(a))
        .singleElement()
        .satisfies(
            row -> {
              assertThat(row.seq()).isEqualTo(late.seq());
              assertThat(row.late()).isTrue();
            });
  }

  @Test
  void b47_theTimeUntilTheNextRowFallsDueMovesWithTheClock() {
    settle(delivered("m", a), failedFor(Duration.ofSeconds(10)));

    assertThat(dueRead(a)).isEqualTo(new DueRead(List.of(), some(10), Map.of()));
    clock.advance(Duration.ofSeconds(4));
    assertThat(dueRead(a)).isEqualTo(new DueRead(List.of(), some(6), Map.of()));
    clock.advance(Duration.ofSeconds(6));
    assertThat(dueRead(a).rows()).hasSize(1);
    assertThat(dueRead(a).untilNext()).isEmpty();
  }

  @Test
  void nothingWaitsForATimeWhenNothingIsLate() {
    delivered("m", a);

    assertThat(dueRead(a)).isEqualTo(new DueRead(List.of(), Optional.empty(), Map.of()));
  }

  @Test
  void theOldestDueTimeComesFirstWhateverTheNumbersSay() {
    long third = late("third", 3);
    long first = late("first", 1);
    long second = late("second", 2);
    clock.advance(Duration.ofSeconds(5));

    assertThat(due(a)).extracting(Delivery::seq).containsExactly(first, second, third);
  }

  @Test
  void theNextIsDueAtOnceWhenTheLimitLeftSomeBehind() {
    long first = late("first", 1);
    long second = late("second", 2);
    late("third", 3);
    late("tomorrow", 86_400);
    clock.advance(Duration.ofSeconds(5));

    DueRead read = store.deliveries().due(List.of(DueRange.fromStart(cell(0, a), 2)));

    assertThat(read.rows()).extracting(Delivery::seq).containsExactly(first, second);
    assertThat(read.untilNext()).contains(Duration.ZERO);
    assertThat(read.cut()).containsOnlyKeys(cell(0, a));
    assertThat(read.cut().values()).extracting(DuePosition::seq).containsExactly(second);
  }

  @Test
  void aLimitThatWasJustEnoughLeavesTheNextTime() {
    late("first", 1);
    late("second", 65);
    clock.advance(Duration.ofSeconds(5));

    DueRead read = store.deliveries().due(List.of(DueRange.fromStart(cell(0, a), 1)));

    assertThat(read.rows()).hasSize(1);
    assertThat(read.untilNext()).isEqualTo(some(60));
    assertThat(read.cut()).isEmpty();
  }

  @Test
  void positionsLeadThroughAllThatIsDueOnce() {
    clock.advance(Duration.ofNanos(123_456_789)); // stores keep microseconds at least
    List<Long> seqs = new ArrayList<>();
    for (int i = 0; i < 9; i++) {
      seqs.add(late("m-" + i, i < 7 ? 1 : 2)); // most share their time, so their numbers tell
    }
    late("tomorrow", 86_400);
    clock.advance(Duration.ofSeconds(5));

    for (int limit = 1; limit <= 10; limit++) {
      List<List<Long>> pages = pages(limit);
      assertThat(pages.stream().flatMap(List::stream).toList())
          .as("in pages of %d", limit)
          .containsExactlyElementsOf(seqs);
      assertThat(pages).as("pages of %d", limit).hasSize((9 + limit - 1) / limit);
    }
  }

  /** What is due in the first cell, read in pages that begin where the one before was cut. */
  private List<List<Long>> pages(int limit) {
    List<List<Long>> pages = new ArrayList<>();
    DueRange next = DueRange.fromStart(cell(0, a), limit);
    while (true) {
      DueRead read = store.deliveries().due(List.of(next));
      pages.add(read.rows().stream().map(Delivery::seq).toList());
      DuePosition cut = read.cut().get(cell(0, a));
      assertThat(read.untilNext().equals(Optional.of(Duration.ZERO))).isEqualTo(cut != null);
      if (cut == null) {
        return pages;
      }
      next = new DueRange(cell(0, a), limit, cut);
    }
  }

  @Test
  void aPositionHoldsThoughItsRowIsGone() {
    late("first", 1);
    long second = late("second", 1);
    long third = late("third", 2);
    clock.advance(Duration.ofSeconds(5));
    DueRead read = store.deliveries().due(List.of(DueRange.fromStart(cell(0, a), 1)));
    DuePosition position = present(read.cut().get(cell(0, a)));
    settle(read.rows().get(0), completed());
    settle(delivered("failed", a), failed());

    DueRead behind = store.deliveries().due(List.of(new DueRange(cell(0, a), 2, position)));
    assertThat(behind.rows()).extracting(Delivery::seq).containsExactly(second, third);
    assertThat(behind.cut()).as("the failed one is due as well").containsOnlyKeys(cell(0, a));
  }

  @Test
  void eachCellBeginsBehindItsOwnPosition() {
    List<Long> ones = new ArrayList<>();
    List<Long> twos = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      ones.add(stored(message("one-" + i).inLane(1).notBefore(at(1)).to(a).build()));
      twos.add(stored(message("two-" + i).inLane(2).notBefore(at(1)).to(a).build()));
    }
    clock.advance(Duration.ofSeconds(5));
    DueRead first =
        store
            .deliveries()
            .due(List.of(DueRange.fromStart(cell(1, a), 2), DueRange.fromStart(cell(2, a), 3)));
    assertThat(seqsOf(first.rows(), cell(1, a))).containsExactlyElementsOf(ones.subList(0, 2));
    assertThat(seqsOf(first.rows(), cell(2, a))).containsExactlyElementsOf(twos);
    assertThat(first.cut()).containsOnlyKeys(cell(1, a));

    DuePosition position = present(first.cut().get(cell(1, a)));
    DueRead second =
        store
            .deliveries()
            .due(List.of(DueRange.fromStart(cell(2, a), 1), new DueRange(cell(1, a), 2, position)));
    assertThat(seqsOf(second.rows(), cell(1, a))).containsExactly(ones.get(2));
    assertThat(seqsOf(second.rows(), cell(2, a))).containsExactly(twos.get(0));
    assertThat(second.cut()).containsOnlyKeys(cell(2, a));
  }

  @Test
  void onlyTheAskedCellsAreReadAndTheSoonestOfThemTellsTheTime() {
    stored(message("lane-1").inLane(1).notBefore(at(20)).to(a, b).build());
    stored(message("lane-2").inLane(2).notBefore(at(10)).to(a).build());
    stored(message("lane-3").inLane(3).notBefore(at(5)).to(a).build());

    List<DueRange> asked =
        List.of(
            DueRange.fromStart(cell(1, a), 5),
            DueRange.fromStart(cell(2, a), 5),
            DueRange.fromStart(cell(1, b), 5));

    assertThat(store.deliveries().due(asked).untilNext()).isEqualTo(some(10));
    clock.advance(Duration.ofSeconds(10));
    assertThat(store.deliveries().due(asked))
        .satisfies(
            read -> {
              assertThat(read.rows()).extracting(Delivery::cell).containsExactly(cell(2, a));
              assertThat(read.untilNext()).isEqualTo(some(10));
            });
    clock.advance(Duration.ofSeconds(10));
    assertThat(store.deliveries().due(asked).rows())
        .extracting(Delivery::cell)
        .containsExactlyInAnyOrder(cell(2, a), cell(1, a), cell(1, b));
  }

  @Test
  void aBlockedRowIsNeverDue() {
    settle(delivered("m", a), blocked());
    clock.advance(Duration.ofDays(1000));

    assertThat(dueRead(a)).isEqualTo(new DueRead(List.of(), Optional.empty(), Map.of()));
  }

  @Test
  void aDueTimeFarInTheFutureIsKept() {
    settle(delivered("m", a), failedFor(Duration.ofDays(365)));

    assertThat(dueRead(a).untilNext()).contains(Duration.ofDays(365));
  }

  @Test
  void jd07_my07_aClockWithNanosecondsNeitherLosesNorHidesARow() {
    clock.advance(Duration.ofNanos(123_456_789));
    settle(delivered("m", a), failedFor(Duration.ofSeconds(1)));
    clock.advance(Duration.ofMillis(1001));

    Delivery row = due(a).get(0);
    settle(row, failedFor(Duration.ofNanos(1)));
    clock.advance(Duration.ofMillis(1));
    settle(due(a).get(0), completed());
  }

  private List<Long> five() {
    return IntStream.range(0, 5).mapToObj(i -> stored(message("m-" + i).to(a).build())).toList();
  }

  private long late(String id, int seconds) {
    return stored(message(id).notBefore(at(seconds)).to(a).build());
  }

  private Instant at(int seconds) {
    return clock.now().plusSeconds(seconds);
  }

  private static Optional<Duration> some(int seconds) {
    return Optional.of(Duration.ofSeconds(seconds));
  }

  private List<Long> fresh(Range range) {
    return store.deliveries().fresh(List.of(range)).stream().map(Delivery::seq).toList();
  }

  private static List<Long> seqsOf(List<Delivery> rows, Cell cell) {
    return rows.stream().filter(row -> row.cell().equals(cell)).map(Delivery::seq).toList();
  }
}
