package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.OnConflict;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellRow;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.NodeRow;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.Settlement;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Several nodes at the same moment. */
abstract class ConcurrencyContract extends StoreFixture {
  private static final int RUNNERS = 8;

  private HandlerId a;
  private HandlerId b;

  ConcurrencyContract(InboxStoreContract contract) {
    super(contract);
  }

  @BeforeEach
  void registerHandlers() {
    a = handler("a");
    b = handler("b");
  }

  @Test
  void operatorsAcceptingOneSecondCopyAtOnceAgreeOnOneId() {
    for (int round = 0; round < Size.of(10, 200); round++) {
      String id = "m-" + round;
      stored(message(id).content("first").to(a).build());
      accept(message(id).content("second").onConflict(OnConflict.KEEP).to(a).build());
      long conflict = store.admin().conflicts(1).get(0).conflict();

      List<Optional<String>> claimed =
          Race.of(
              RUNNERS,
              runner -> store.admin().claimConflict(conflict, id + "-" + runner, "ada", "both"));

      assertThat(claimed).doesNotContain(Optional.empty());
      assertThat(Set.copyOf(claimed)).hasSize(1);
      assertThat(store.admin().audit(1_000)).hasSize(round + 1);
      assertThat(store.admin().conflict(conflict).orElseThrow().view().acceptedAs())
          .isEqualTo(claimed.get(0));
    }
  }

  @Test
  void b04_id15_nodesAcceptingTheSameIdAtOnceStoreItOnce() {
    int rounds = Size.of(25, 500);
    for (int round = 0; round < rounds; round++) {
      NewMessage message = message("m-" + round).to(a, b).build();

      List<AcceptResult> results = Race.of(RUNNERS, runner -> accept(message));

      long seq =
          results.stream()
              .filter(AcceptResult.Stored.class::isInstance)
              .mapToLong(StoreFixture::storedSeq)
              .reduce((one, other) -> fail("stored twice"))
              .orElseThrow();
      assertThat(results)
          .filteredOn(AcceptResult.Known.class::isInstance)
          .hasSize(RUNNERS - 1)
          .allSatisfy(
              result -> {
                assertThat(asKnown(result).seq()).isEqualTo(seq);
                assertThat(asKnown(result).added()).isEmpty();
              });
    }
    assertThat(store.admin().messages()).isEqualTo(rounds);
    assertThat(fresh(a)).hasSize(rounds);
    assertThat(fresh(b)).hasSize(rounds);
  }

  @Test
  void pg07_listsWithTheSameIdsInOtherOrdersAllArrive() {
    int rounds = Size.of(10, 200);
    int size = 30;
    Random random = Size.random("shuffled lists");
    for (int round = 0; round < rounds; round++) {
      List<NewMessage> batch = new ArrayList<>();
      for (int i = 0; i < size; i++) {
        batch.add(message(round + "-" + i).inLane(i % 4).to(a).build());
      }
      List<List<NewMessage>> shuffled = new ArrayList<>();
      for (int runner = 0; runner < 4; runner++) {
        List<NewMessage> copy = new ArrayList<>(batch);
        Collections.shuffle(copy, random);
        shuffled.add(copy);
      }

      List<List<AcceptResult>> results = Race.of(4, runner -> accept(shuffled.get(runner)));

      assertThat(results.stream().flatMap(List::stream))
          .filteredOn(AcceptResult.Stored.class::isInstance)
          .hasSize(size);
      assertThat(store.admin().messages()).isEqualTo((long) size * (round + 1));
      assertThat(fresh(a)).hasSize(size * (round + 1));
    }
  }

  @Test
  void aNewHandlerIsAddedOnceWhileItsDeliveriesAreAlreadyBeingSettled() {
    int rounds = Size.of(10, 200);
    int size = 10;
    AtomicInteger added = new AtomicInteger();
    AtomicInteger settled = new AtomicInteger();
    for (int round = 0; round < rounds; round++) {
      List<NewMessage> known = new ArrayList<>();
      List<NewMessage> repeats = new ArrayList<>();
      for (int i = 0; i < size; i++) {
        known.add(message(round + "-" + i).inLane(i % 4).to(a).build());
        repeats.add(message(round + "-" + i).inLane(i % 4).to(a, b).build());
      }
      accept(known);
      int before = round * size;

      List<Callable<Boolean>> runners = new ArrayList<>();
      for (int runner = 0; runner < 4; runner++) {
        runners.add(
            () -> {
              for (int repeat = 0; repeat < 3; repeat++) {
                for (AcceptResult result : accept(repeats)) {
                  added.addAndGet(asKnown(result).added().size());
                }
              }
              return true;
            });
      }
      for (int runner = 0; runner < 2; runner++) {
        runners.add(
            () -> {
              while (settled.get() < before + size && !Thread.currentThread().isInterrupted()) {
                settled.addAndGet(complete(ready(b)));
              }
              return true;
            });
      }
      Race.of(runners);

      assertThat(added).as("deliveries added").hasValue(before + size);
      assertThat(settled).as("deliveries settled").hasValue(before + size);
      assertThat(ready(b)).isEmpty();
    }
  }

  @Test
  void b59_whateverIsReadByManyIsSettledByOne() {
    int size = Size.of(100, 1_000);
    List<NewMessage> batch =
        IntStream.range(0, size)
            .mapToObj(i -> message("m-" + i).inLane(i % 4).to(a).build())
            .toList();
    accept(batch);
    List<Delivery> rows = fresh(a);
    List<Outcome> outcomes = List.of(completed(), failed(), poisoned(), released());

    List<Set<Delivery>> refused =
        Race.of(
            4,
            runner ->
                settleAll(
                    rows.stream().map(row -> new Settlement(row, outcomes.get(runner))).toList()));

    assertThat(refused.stream().mapToInt(Collection::size).sum()).isEqualTo(3 * size);
    for (Delivery row : rows) {
      assertThat(refused.stream().filter(set -> set.contains(row)).count()).isEqualTo(3);
    }
  }

  @Test
  void clm11_ofFiftyRetriesAtOnceOneHits() {
    Delivery delivery = delivered("m", a);
    for (int round = 0; round < Size.of(2, 20); round++) {
      settle(delivery, poisoned());

      List<Boolean> hits =
          Race.of(50, runner -> store.admin().retry(SOURCE, "m", a.family(), "ada", "fixed"));

      assertThat(hits).containsOnlyOnce(true);
      assertThat(ready(a)).hasSize(1);
      delivery = ready(a).get(0);
    }
  }

  @Test
  void aRetryAndAZombieCannotBothHaveTheDelivery() {
    for (int round = 0; round < Size.of(10, 200); round++) {
      String id = "m-" + round;
      Delivery zombie = delivered(id, a);
      settle(zombie, poisoned());

      Race.of(
          2,
          runner ->
              runner == 0
                  ? store.admin().retry(SOURCE, id, a.family(), "ada", "fixed")
                  : trySettle(zombie, completed()).isEmpty());

      Delivery again = ready(a).get(0);
      assertThat(again.failures()).isZero();
      settle(again, completed());
      assertThat(view(id, a).state()).isEqualTo(DeliveryState.COMPLETED);
    }
  }

  @Test
  void nodesThatTakeTheSameCellsShareThemWithoutOverlap() {
    for (int round = 0; round < Size.of(5, 50); round++) {
      List<Long> nodes = join(4);
      List<Cell> wanted = concat(cells(a), cells(b));

      List<List<CellRow>> taken =
          Race.of(
              4,
              runner -> {
                List<Cell> shuffled = new ArrayList<>(wanted);
                Collections.rotate(shuffled, runner);
                return store.nodes().take(nodes.get(runner), shuffled);
              });

      assertThat(taken.stream().flatMap(List::stream).map(CellRow::cell))
          .containsExactlyInAnyOrderElementsOf(wanted);
      for (int runner = 0; runner < 4; runner++) {
        long node = nodes.get(runner);
        assertThat(taken.get(runner)).allSatisfy(row -> assertThat(row.owner()).isEqualTo(node));
      }
      assertThat(store.nodes().cells(Set.of(a.family(), b.family())))
          .containsExactlyInAnyOrderElementsOf(taken.stream().flatMap(List::stream).toList());
      nodes.forEach(store.nodes()::stopped);
    }
  }

  @Test
  void aNodeIsDeclaredDeadByOneOnly() {
    for (int round = 0; round < Size.of(5, 50); round++) {
      long victim = join(1).get(0);
      store.nodes().take(victim, cells(a));
      List<CellRow> before = store.nodes().cells(Set.of(a.family()));
      long beat = node(victim).beat();

      List<Boolean> hits = Race.of(RUNNERS, runner -> store.nodes().declareDead(victim, beat));

      assertThat(hits).containsOnlyOnce(true);
      assertThat(store.nodes().cells(Set.of(a.family())))
          .containsExactlyInAnyOrderElementsOf(
              before.stream()
                  .map(row -> new CellRow(row.cell(), 0, row.token() + 1, true))
                  .toList());
    }
  }

  @Test
  void aNodeEitherBeatsOrDies() {
    for (int round = 0; round < Size.of(20, 200); round++) {
      long node = join(1).get(0);
      long seen = node(node).beat();

      List<Boolean> hits =
          Race.of(
              2,
              runner ->
                  runner == 0
                      ? store.nodes().beat(node, 0)
                      : store.nodes().declareDead(node, seen));

      assertThat(hits).containsOnlyOnce(true);
      assertThat(node(node).alive()).isEqualTo(hits.get(0));
      store.nodes().stopped(node);
    }
  }

  @Test
  void aNodeThatDiesWhileItTakesCellsOwnsNone() {
    for (int round = 0; round < Size.of(10, 100); round++) {
      long node = join(1).get(0);
      long seen = node(node).beat();

      Race.of(
          2,
          runner ->
              runner == 0
                  ? store.nodes().take(node, cells(a)).isEmpty()
                  : store.nodes().declareDead(node, seen));
      // It may have left alone a node that was taking.
      if (node(node).alive()) {
        assertThat(store.nodes().declareDead(node, seen)).isTrue();
      }

      assertThat(store.nodes().cells(Set.of(a.family())))
          .allSatisfy(row -> assertThat(row.owner()).isNotEqualTo(node));
    }
  }

  @Test
  void d84_nodesThatJoinAtOnceGetIncarnationsOfTheirOwn() {

    assertThat(Race.of(RUNNERS, runner -> join(1).get(0))).doesNotHaveDuplicates();
  }

  @Test
  void nodesThatRegisterTheSameKeysAtOnceAgreeOnTheirNumbers() {
    List<List<String>> families = List.of(List.of("new-2", "new-1"), List.of("x"), List.of("y"));

    List<List<List<HandlerId>>> ids =
        Race.of(RUNNERS, runner -> store.maintenance().register(families));

    assertThat(ids).containsOnly(ids.get(0));
    assertThat(store.maintenance().handlers())
        .extracting(HandlerId::keyId)
        .doesNotHaveDuplicates()
        .hasSize(6);
  }

  private List<Long> join(int count) {
    return IntStream.range(0, count)
        .mapToObj(i -> store.nodes().join("node", Set.of(a.family(), b.family())))
        .toList();
  }

  private NodeRow node(long incarnation) {
    return store.nodes().nodes().stream()
        .filter(row -> row.incarnation() == incarnation)
        .findFirst()
        .orElseThrow();
  }

  /** Completes these and answers how many of them nobody else had. */
  private int complete(List<Delivery> rows) {
    List<Settlement> settlements =
        rows.stream().map(row -> new Settlement(row, completed())).toList();
    return rows.size() - settleAll(settlements).size();
  }

  private static long fail(String complaint) {
    throw new AssertionError(complaint);
  }

  @Test
  void twoWhoPauseOneHandlerByTwoOfItsKeysPauseItOnce() {
    store.maintenance().register(List.of(List.of("b", "a"))); // one handler from now on
    List<HandlerId> keys = List.of(a, b);
    int rounds = Size.of(25, 200);
    for (int round = 0; round < rounds; round++) {
      List<Boolean> paused =
          Race.of(
              2,
              runner -> {
                HandlerId key = keys.get(runner);
                return store.admin().pause(key.family(), key.keyId(), "ada", "at once");
              });

      assertThat(paused).containsExactlyInAnyOrder(true, false);
      assertThat(store.admin().paused()).hasSize(1);
      assertThat(store.admin().resume(b.family(), b.keyId(), "ada", "again")).isTrue();
      assertThat(store.nodes().paused()).isEmpty();
    }
  }
}
