package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellLimit;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.DueRange;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NewMessage;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Rows with a place of their own, because of a priority. */
abstract class PlaceContract extends StoreFixture {

  /** As large as times in microseconds are. */
  private static final long FIRST = 1_900_000_000_000_000L;

  private HandlerId a;
  private HandlerId b;

  PlaceContract(InboxStoreContract contract) {
    super(contract);
  }

  @BeforeEach
  void registerHandlers() {
    a = handler("a");
    b = handler("b");
  }

  private long at(String id, long place) {
    return stored(message(id).at(FIRST + place).to(a).build());
  }

  private static List<Long> seqs(List<Delivery> rows) {
    return rows.stream().map(Delivery::seq).toList();
  }

  @Test
  void theLowestPlaceComesFirstOverAllCells() {
    long third = stored(message("3").inLane(0).at(FIRST + 30).to(a).build());
    long first = stored(message("1").inLane(1).at(FIRST + 10).to(a).build());
    long fourth = stored(message("4").inLane(1).at(FIRST + 40).to(a).build());
    long second = stored(message("2").inLane(2).at(FIRST + 20).to(a).build());

    assertThat(seqs(placed(a))).containsExactly(first, second, third, fourth);
    assertThat(placed(a))
        .extracting(Delivery::place)
        .containsExactly(FIRST + 10, FIRST + 20, FIRST + 30, FIRST + 40);
    assertThat(placed(a)).allMatch(Delivery::late);
    assertThat(placed(b)).isEmpty();
  }

  @Test
  void aRowWithAPlaceIsPendingWhateverTheClockSays() {
    ahead = Duration.ofHours(1);
    at("m", 1);
    ahead = Duration.ZERO; // its due time is ahead of the clock now, and nobody goes by that

    assertThat(placed(a)).hasSize(1);
    assertThat(view("m", a).state()).isEqualTo(DeliveryState.PENDING);
  }

  @Test
  void theFirstOfEqualsIsTheOneThatCameFirst() {
    long first = at("z", 1);
    long second = at("y", 1);

    assertThat(seqs(placed(a))).containsExactly(first, second);
  }

  @Test
  void aLimitLetsTheLowestPlacesOfEachCellThrough() {
    at("3", 3);
    long first = at("1", 1);
    long second = at("2", 2);
    long other = stored(message("other").inLane(1).at(FIRST + 9).to(a).build());
    stored(message("more").inLane(1).at(FIRST + 10).to(a).build());

    assertThat(
            seqs(
                store
                    .deliveries()
                    .placed(List.of(new CellLimit(cell(0, a), 2), new CellLimit(cell(1, a), 1)))))
        .containsExactly(first, second, other);
    assertThat(store.deliveries().placed(List.of())).isEmpty();
  }

  @Test
  void suchARowIsNeitherFreshNorDueAndHidesNobodyWhoIs() {
    for (int i = 0; i < 20; i++) {
      at("low-" + i, i);
    }
    clock.advance(Duration.ofSeconds(1));
    Delivery fresh = delivered("fresh", a);
    Delivery failed = delivered("failed", a);
    settle(failed, failed());

    assertThat(fresh(a)).containsExactly(fresh);
    assertThat(seqs(store.deliveries().due(List.of(DueRange.fromStart(cell(0, a), 1))).rows()))
        .containsExactly(failed.seq());
    assertThat(dueRead(a).untilNext()).isEqualTo(Optional.empty());
    assertThat(placed(a)).hasSize(20);
  }

  @Test
  void oneBatchMayHaveAllKinds() {
    List<NewMessage> batch = new ArrayList<>();
    batch.add(message("placed").at(FIRST).to(a, b).build());
    batch.add(message("plain").to(a).build());
    batch.add(message("later").notBefore(clock.now().plusSeconds(5)).to(a).build());
    batch.add(message("nobody").at(FIRST).build());
    List<Long> seqs = accept(batch).stream().map(StoreFixture::storedSeq).toList();

    assertThat(seqs(placed(a))).containsExactly(seqs.get(0));
    assertThat(seqs(placed(b))).containsExactly(seqs.get(0));
    assertThat(seqs(fresh(a))).containsExactly(seqs.get(1));
    assertThat(due(a)).isEmpty();
    clock.advance(Duration.ofSeconds(5));
    assertThat(seqs(due(a))).containsExactly(seqs.get(2));
  }

  @Test
  void itIsShownAsPending() {
    at("m", 1);

    assertThat(view("m", a).state()).isEqualTo(DeliveryState.PENDING);
  }

  @Test
  void itCompletesAndIsKnownAsEveryOther() {
    at("m", 1);
    settle(placed(a).get(0), completed());

    assertThat(placed(a)).isEmpty();
    assertThat(view("m", a).state()).isEqualTo(DeliveryState.COMPLETED);
    assertThat(known(message("m").at(FIRST).to(a).build()).added()).isEmpty();
    assertThat(ready(a)).isEmpty();
  }

  @Test
  void aRepeatBringsItToAHandlerThatHadNone() {
    at("m", 1);

    assertThat(known(message("m").at(FIRST + 7).to(a, b).build()).added()).containsExactly(b);
    assertThat(known(message("m").at(FIRST + 8).to(a, b).build()).added()).isEmpty();
    assertThat(placed(a)).extracting(Delivery::place).containsExactly(FIRST + 1);
    assertThat(placed(b)).extracting(Delivery::place).containsExactly(FIRST + 7);
  }

  @Test
  void aRepeatBringsNoPlaceToWhatIsOrdered() {
    stored(message("m").ordered("k").to(a).build());

    assertThat(known(message("m").at(FIRST).to(a, b).build()).added()).containsExactly(b);
    assertThat(placed(b)).isEmpty();
    assertThat(ready(b)).singleElement().satisfies(row -> assertThat(row.keyHash()).isNotNull());
  }

  @Test
  void afterAFailureItsDueTimeTells() {
    long seq = at("m", 1);
    settle(placed(a).get(0), failed());

    assertThat(placed(a)).isEmpty();
    Delivery again = due(a).get(0);
    assertThat(again.seq()).isEqualTo(seq);
    assertThat(again.place()).isZero();
    settle(again, laterUncounted());
    assertThat(due(a)).extracting(Delivery::place).containsExactly(0L);
  }

  @Test
  void beingReleasedKeepsThePlace() {
    at("m", 1);
    settle(placed(a).get(0), released());

    Delivery again = placed(a).get(0);
    assertThat(again.place()).isEqualTo(FIRST + 1);
    assertThat(again.releases()).isEqualTo(1);
    assertThat(due(a)).isEmpty();
    settle(again, completed());
  }

  @Test
  void aMarkKeepsThePlaceAndOnlyTheFirstWhoNamesItSettlesIt() {
    at("m", 1);
    Delivery row = placed(a).get(0);

    assertThat(store.deliveries().mark(List.of(row), 7, true).complete()).isTrue();
    Delivery marked = placed(a).get(0);
    assertThat(marked.place()).isEqualTo(FIRST + 1);
    assertThat(marked.mark()).isEqualTo(7);
    assertThat(marked.crashes()).isEqualTo(1);
    settle(row, released());
    refused(marked, completed());
  }

  @Test
  void itIsCountedAmongWhatWaits() {
    at("1", 1);
    at("2", 2);
    delivered("3", a);
    List<Cell> cells = cells(a);

    assertThat(store.deliveries().waiting(cells, 10)).containsEntry(a.family(), 3);
    assertThat(store.deliveries().waiting(cells, 2)).containsEntry(a.family(), 2);
  }
}
