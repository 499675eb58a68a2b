package dev.pigeonhole.internal.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.internal.registry.BoundHandler;
import dev.pigeonhole.store.Delivery;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

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
        (some, work) -> {});
  }

  private static HandlerLine waiting(RateLimit rate, long... seqs) {
    HandlerLine line = line(rate);
    for (long seq : seqs) {
      line.waits(Rows.row(seq), 0);
    }
    return line;
  }

  private static RateLimit unlimited() {
    return new RateLimit(null, 1, 0);
  }

  /** One attempt, and then none for as long as the node owns no cell. */
  private static RateLimit once() {
    return new RateLimit(1.0, 1, System.nanoTime());
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
