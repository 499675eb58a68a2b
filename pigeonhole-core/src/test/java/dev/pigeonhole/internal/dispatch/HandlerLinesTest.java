package dev.pigeonhole.internal.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.HandlerKey;
import dev.pigeonhole.Specs;
import dev.pigeonhole.internal.registry.BatchSpec;
import dev.pigeonhole.internal.registry.BoundHandler;
import dev.pigeonhole.internal.registry.HandlerSpec;
import dev.pigeonhole.store.Delivery;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What several handlers may begin in one turn. */
class HandlerLinesTest {
  private static final Events EVENTS = new Events("inbox", List.of());

  private static HandlerLine line(RateLimit rate) {
    BoundHandler handler = Handlers.plain("h", received -> {});
    return new HandlerLine(
        handler,
        2,
        10,
        new ContentBudget(16 << 20),
        rate,
        new Breaker(null),
        Runnable::run,
        () -> false,
        (some, work) -> {},
        () -> {});
  }

  private static HandlerLine waiting(RateLimit rate, long... seqs) {
    HandlerLine line = line(rate);
    for (long seq : seqs) {
      line.waits(Rows.row(seq), 0);
    }
    return line;
  }

  private static RateLimit unlimited() {
    return new RateLimit(null, 1, RateLimit.SAVED, 0);
  }

  /** One attempt, and then none for as long as the node owns no cell. */
  private static RateLimit once() {
    return new RateLimit(1.0, 1, RateLimit.SAVED, System.nanoTime());
  }

  /** A load has a limit: with large messages it may have room for the first row alone. */
  @Test
  void everyTurnBeginsWithAnotherHandler() {
    HandlerLines lines =
        new HandlerLines(
            Map.of(
                1, waiting(unlimited(), 1, 2, 3, 4, 5, 6),
                2, waiting(unlimited(), 11, 12, 13, 14, 15, 16)),
            EVENTS);
    Set<Boolean> firstOfOne = new HashSet<>();
    for (int turn = 0; turn < 2; turn++) {
      List<Delivery> rows = lines.begin(1, row -> true);
      assertThat(rows).hasSize(2);
      firstOfOne.add(rows.get(0).seq() < 10);
    }
    assertThat(firstOfOne).containsExactlyInAnyOrder(true, false);
  }

  /** To be admitted counts: on probation only so many may be under way. */
  @Test
  void whatTheRateHoldsBackIsNotAdmittedEither() {
    HandlerLines lines = new HandlerLines(Map.of(1, waiting(once(), 1, 2)), EVENTS);
    List<Long> admitted = new ArrayList<>();
    for (int turn = 0; turn < 3; turn++) {
      lines.begin(
          10,
          row -> {
            admitted.add(row.seq());
            return true;
          });
    }
    assertThat(admitted).containsExactly(1L);
  }

  /** Otherwise the reader would ask again and again until an attempt ends. */
  @Test
  void whatIsNotAdmittedIsWaitedFor() {
    HandlerLines lines = new HandlerLines(Map.of(1, waiting(unlimited(), 1)), EVENTS);
    assertThat(lines.nanosUntilNext(System.nanoTime(), false)).isZero();
    assertThat(lines.begin(10, row -> false)).isEmpty();
    assertThat(lines.nanosUntilNext(System.nanoTime(), false)).isEqualTo(Long.MAX_VALUE);

    assertThat(lines.begin(10, row -> true)).hasSize(1);
  }

  /** If they took of the rate while they wait for a slot, they would begin all at once. */
  @ParameterizedTest
  @ValueSource(ints = {1, 200})
  void nothingTakesOfTheRateWhileAllSlotsAreBusy(int together) {
    List<Long> beforeSlotIsFree = new ArrayList<>();
    List<Long> afterwards = new ArrayList<>();
    AtomicReference<HandlerLines> lines = new AtomicReference<>();
    RateLimit plenty = new RateLimit(1_000.0, 1, RateLimit.SAVED_FOR_GROUPS, 0);
    plenty.owns(1, System.nanoTime() - RateLimit.SAVED_FOR_GROUPS.toNanos());
    HandlerLine line =
        new HandlerLine(
            Handlers.bound(batches(together)),
            1,
            10,
            new ContentBudget(16 << 20),
            plenty,
            new Breaker(null),
            Runnable::run,
            () -> false,
            (running, work) -> begin(lines.get(), beforeSlotIsFree),
            () -> begin(lines.get(), afterwards));
    lines.set(new HandlerLines(Map.of(1, line), EVENTS));
    line.enqueue(Handlers.work(1, "first"));
    line.waits(Rows.row(2), 0);
    line.wakeWorkers();

    assertThat(beforeSlotIsFree).isEmpty();
    assertThat(afterwards).containsExactly(2L);
  }

  private static void begin(HandlerLines lines, List<Long> begun) {
    lines.begin(10, row -> true).forEach(row -> begun.add(row.seq()));
  }

  private static HandlerSpec batches(int most) {
    BatchSpec batch = new BatchSpec(most, messages -> {}, false);
    HandlerSpec plain = Specs.plain(HandlerKey.of("h"), received -> {});
    return new HandlerSpec(plain.key(), null, null, batch, plain.options());
  }

  @Test
  void aRowThatFoundNoRoomInTheLoadDoesNotCostTheRate() {
    HandlerLine line = waiting(once(), 1, 2);
    HandlerLines lines = new HandlerLines(Map.of(1, line), EVENTS);
    List<Delivery> rows = lines.begin(10, row -> true);
    assertThat(rows).extracting(Delivery::seq).containsExactly(1L);

    line.waitsFirst(rows.get(0));
    assertThat(lines.begin(10, row -> true)).isEqualTo(rows);
    assertThat(lines.begin(10, row -> true)).isEmpty();
  }
}
