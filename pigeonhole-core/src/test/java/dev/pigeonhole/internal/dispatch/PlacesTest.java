package dev.pigeonhole.internal.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class PlacesTest {
  private static final Instant NOON = Instant.parse("2030-05-05T12:00:00Z");

  private final Places<String> places = new Places<>();

  private void normal(String item, Duration before) {
    places.add(item, Priority.normal(NOON.minus(before)));
  }

  private void placed(String item, int priority, Duration before) {
    places.addPlaced(item, Priority.place(priority, NOON.minus(before)));
  }

  private List<String> all() {
    List<String> all = new ArrayList<>();
    for (String each = places.poll(); each != null; each = places.poll()) {
      all.add(each);
    }
    return all;
  }

  @Test
  void whatHasNoPlaceOfItsOwnComesInOrder() {
    normal("a", Duration.ZERO);
    normal("b", Duration.ofHours(9)); // read later, though it came first
    normal("c", Duration.ZERO);

    assertThat(all()).containsExactly("a", "b", "c");
    assertThat(places.isEmpty()).isTrue();
  }

  @Test
  void theHighestPriorityComesFirstAndEqualsInOrder() {
    normal("normal", Duration.ZERO);
    placed("five", 5, Duration.ZERO);
    placed("nine", 9, Duration.ZERO);
    placed("three", 3, Duration.ZERO);
    placed("nine again", 9, Duration.ZERO);
    placed("zero", 0, Duration.ZERO);

    assertThat(all()).containsExactly("nine", "nine again", "five", "normal", "three", "zero");
  }

  @Test
  void anHourOfWaitingCountsLikeAStep() {
    placed("zero", 0, Duration.ofMinutes(241));
    normal("normal", Duration.ZERO);
    placed("nine", 9, Duration.ZERO);
    assertThat(all()).containsExactly("nine", "zero", "normal");

    normal("normal", Duration.ofMinutes(301));
    placed("nine", 9, Duration.ZERO);
    placed("zero", 0, Duration.ofMinutes(239));
    assertThat(all()).containsExactly("normal", "nine", "zero");

    placed("nine", 9, Duration.ZERO);
    placed("zero", 0, Duration.ofMinutes(541));
    assertThat(all()).containsExactly("zero", "nine");
  }

  @Test
  void whatIsWithdrawnIsGone() {
    normal("a", Duration.ZERO);
    normal("b", Duration.ZERO);
    placed("c", 9, Duration.ZERO);
    placed("d", 9, Duration.ZERO);

    assertThat(places.withdraw(each -> each.equals("b") || each.equals("c")))
        .containsExactlyInAnyOrder("b", "c");
    assertThat(all()).containsExactly("d", "a");
    normal("e", Duration.ZERO);
    assertThat(places.withdraw(any -> true)).containsExactly("e");
    assertThat(places.isEmpty()).isTrue();
  }

  @Test
  void manyWhoTakeAtOnceTakeEachOnce() throws Exception {
    int many = 20_000;
    Set<String> taken = ConcurrentHashMap.newKeySet();
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      Future<?> adding =
          threads.submit(
              () ->
                  IntStream.range(0, many)
                      .forEach(
                          i -> {
                            if (i % 3 == 0) {
                              placed("p" + i, i % 10, Duration.ZERO);
                            } else {
                              normal("n" + i, Duration.ZERO);
                            }
                          }));
      List<Future<Integer>> taking = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        taking.add(
            threads.submit(
                () -> {
                  int count = 0;
                  while (!adding.isDone() || !places.isEmpty()) {
                    String item = places.poll();
                    if (item != null) {
                      taken.add(item);
                      count++;
                    }
                  }
                  return count;
                }));
      }
      int sum = 0;
      for (Future<Integer> each : taking) {
        sum += each.get();
      }
      assertThat(sum).isEqualTo(many);
      assertThat(taken).hasSize(many);
    } finally {
      threads.shutdownNow();
    }
  }

  @Test
  void rowsWithAPlaceHaveRoomOfTheirOwnHalfOfItForTheUrgent() {
    HandlerLine line = Handlers.line(1, 400);
    long normal = Priority.normal(NOON);
    long low = Priority.place(3, NOON);
    long high = Priority.place(5, NOON);
    line.occupancy = 400;

    while (line.takesPlaced(low, normal)) {
      line.entered(Rows.row(1).at(low));
    }
    assertThat(line.placed).isEqualTo(100);
    while (line.takesPlaced(high, normal)) {
      line.entered(Rows.row(1).at(high));
    }
    assertThat(line.placed).isEqualTo(200);
    assertThat(line.roomForPlaced()).isZero();
    assertThat(line.occupancy).isEqualTo(400);

    for (int i = 0; i < 150; i++) {
      assertThat(line.fewPlaced()).isFalse();
      line.left(Rows.row(1).at(high));
    }
    assertThat(line.fewPlaced()).isTrue();
    line.paused = true;
    assertThat(line.takesPlaced(high, normal)).isFalse();
  }

  @Test
  void aRowThatWaitsForItsHandlersRateIsOvertakenToo() {
    HandlerLine line = Handlers.line(1, 400);
    line.waits(Rows.row(1), Priority.normal(NOON));
    line.waits(Rows.row(2).at(Priority.place(9, NOON)), Priority.normal(NOON));

    assertThat(line.ready.poll()).isEqualTo(Rows.row(2).at(Priority.place(9, NOON)));
    assertThat(line.ready.poll()).isEqualTo(Rows.row(1));
  }
}
