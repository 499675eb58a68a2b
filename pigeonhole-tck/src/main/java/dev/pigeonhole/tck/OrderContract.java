package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.store.Ahead;
import dev.pigeonhole.store.AheadRead;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NewMessage;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What stands before a delivery in its ordering key. */
abstract class OrderContract extends StoreFixture {
  private HandlerId a;
  private HandlerId b;

  OrderContract(InboxStoreContract contract) {
    super(contract);
  }

  @BeforeEach
  void registerHandlers() {
    a = handler("a");
    b = handler("b");
  }

  @Test
  void theFirstOfAKeyHasNothingBeforeIt() {
    Delivery first = ordered("first", "k");
    ordered("second", "k");

    assertThat(ahead(first)).isEqualTo(new AheadRead(List.of(), Set.of()));
  }

  @Test
  void aFreshRowStandsBeforeItsFollowers() {
    Delivery first = ordered("first", "k");
    Delivery second = ordered("second", "k");
    Delivery third = ordered("third", "k");

    assertThat(ahead(third).open()).containsExactlyInAnyOrder(first, second);
    assertThat(ahead(third).blocked()).isEmpty();
  }

  @Test
  void clm16_aFailedRowKeepsItsKeyClosedBeforeItIsDue() {
    Delivery first = ordered("first", "k");
    Delivery second = ordered("second", "k");
    settle(first, failedFor(Duration.ofHours(1)));

    assertThat(ahead(second).open())
        .singleElement()
        .satisfies(
            row -> {
              assertThat(row.seq()).isEqualTo(first.seq());
              assertThat(row.late()).isTrue();
              assertThat(row.failures()).isEqualTo(1);
            });
  }

  @Test
  void aRowThatWaitsForItsTimeStandsBeforeItsFollowers() {
    long first =
        stored(message("first").ordered("k").notBefore(clock.now().plusSeconds(60)).to(a).build());
    Delivery second = ordered("second", "k");

    assertThat(ahead(second).open()).extracting(Delivery::seq).containsExactly(first);
  }

  @Test
  void aBlockedRowStandsBeforeItsFollowers() {
    Delivery first = ordered("first", "k");
    Delivery second = ordered("second", "k");
    settle(first, blocked());

    assertThat(ahead(second).open()).extracting(Delivery::seq).containsExactly(first.seq());
  }

  @Test
  void aCompletedRowStandsBeforeNobody() {
    Delivery first = ordered("first", "k");
    Delivery second = ordered("second", "k");
    settle(first, completed());

    assertThat(ahead(second)).isEqualTo(new AheadRead(List.of(), Set.of()));
  }

  @Test
  void aPoisonedRowBlocksWhatCameAfterIt() {
    Delivery before = ordered("before", "k");
    Delivery head = ordered("head", "k");
    Delivery after = ordered("after", "k");
    settle(head, poisoned());

    assertThat(ahead(after).blocked()).containsExactly(question(after));
    assertThat(ahead(after).open()).containsExactly(before);
    assertThat(ahead(before).blocked()).isEmpty();
  }

  @Test
  void aRetriedRowBlocksNobodyButStandsBeforeItsFollowers() {
    Delivery head = ordered("head", "k");
    Delivery after = ordered("after", "k");
    settle(head, poisoned());
    store.admin().retry(SOURCE, "head", a.family(), "ada", "fixed");

    assertThat(ahead(after).blocked()).isEmpty();
    assertThat(ahead(after).open()).extracting(Delivery::seq).containsExactly(head.seq());
  }

  @Test
  void aRowThatIsBlockedAfterItsHeadWasRetriedIsDueAtOnce() {
    Delivery head = ordered("head", "k");
    Delivery after = ordered("after", "k");
    settle(head, poisoned());
    store.admin().retry(SOURCE, "head", a.family(), "ada", "fixed");
    settle(after, blocked());

    assertThat(due(a)).extracting(Delivery::seq).containsExactly(head.seq(), after.seq());
  }

  @Test
  void aRowStaysBlockedWhileAnotherPoisonedOneStandsBeforeIt() {
    Delivery first = ordered("first", "k");
    Delivery second = ordered("second", "k");
    Delivery after = ordered("after", "k");
    settle(first, poisoned());
    settle(second, poisoned());
    store.admin().retry(SOURCE, "first", a.family(), "ada", "fixed");
    settle(after, blocked());

    assertThat(due(a)).extracting(Delivery::seq).containsExactly(first.seq());
    assertThat(view("after", a).state()).isEqualTo(DeliveryState.BLOCKED);
  }

  @Test
  void otherKeysHandlersAndLanesDoNotMatter() {
    Delivery otherKey = ordered("other-key", "other");
    stored(message("unordered").to(a).build());
    stored(message("other-handler").ordered("k").to(b).build());
    stored(message("other-lane").inLane(1).ordered("k").to(a).build());
    settle(otherKey, poisoned());
    Delivery row = ordered("m", "k");

    assertThat(ahead(row)).isEqualTo(new AheadRead(List.of(), Set.of()));
  }

  @Test
  void manyQuestionsAreAnsweredAtOnce() {
    List<NewMessage> batch = new ArrayList<>();
    for (int i = 0; i < 400; i++) {
      batch.add(message("m-" + i).inLane(i % 4).ordered("k-" + i % 200).to(a, b).build());
    }
    accept(batch);
    List<Delivery> rows = fresh(a);
    Delivery poisonous = rows.get(0);
    settle(poisonous, poisoned());
    List<Ahead> questions =
        rows.stream().filter(row -> !row.equals(poisonous)).map(OrderContract::question).toList();

    AheadRead read = store.deliveries().ahead(questions);

    // Each key has two rows of this handler in one lane: its second is asked about its first.
    assertThat(Set.copyOf(read.open())).hasSize(199).doesNotContain(poisonous);
    assertThat(read.blocked())
        .singleElement()
        .satisfies(
            question -> {
              assertThat(question.keyHash()).isEqualTo(poisonous.keyHash());
              assertThat(question.seq()).isGreaterThan(poisonous.seq());
            });
  }

  @Test
  void ofALongKeyTheLowestAreTold() {
    List<Delivery> rows = longKey("k");
    Delivery last = rows.get(rows.size() - 1);
    Delivery short1 = ordered("short-1", "other");
    Delivery short2 = ordered("short-2", "other");

    AheadRead read = store.deliveries().ahead(List.of(question(last), question(short2)));

    List<Delivery> told = new ArrayList<>(rows.subList(0, Ahead.MOST));
    told.add(short1);
    assertThat(read.open()).containsExactlyInAnyOrderElementsOf(told);
    assertThat(read.blocked()).isEmpty();
  }

  @Test
  void ofALongKeyTheLowestAreToldWhereverTheyStand() {
    List<Delivery> rows = longKey("k");
    for (int i = 0; i < rows.size(); i += 50) {
      settle(rows.get(i), i % 100 == 0 ? blocked() : failedFor(Duration.ofHours(1)));
    }
    settle(rows.get(Ahead.MOST + 5), poisoned());
    Delivery last = rows.get(rows.size() - 1);

    AheadRead read = ahead(last);

    assertThat(read.open())
        .extracting(Delivery::seq)
        .containsExactlyInAnyOrderElementsOf(
            rows.subList(0, Ahead.MOST).stream().map(Delivery::seq).toList());
    assertThat(read.open()).filteredOn(Delivery::late).hasSize(Ahead.MOST / 50);
    assertThat(read.blocked()).as("however far away the poison").containsExactly(question(last));
  }

  @Test
  void nothingStandsBeforeNothing() {
    assertThat(store.deliveries().ahead(List.of())).isEqualTo(new AheadRead(List.of(), Set.of()));
  }

  @Test
  void keyHashesOfAllSignsAreKeptAsTheyAre() {
    for (int i = 0; i < 8; i++) {
      String key = "k-" + i;
      Delivery first = ordered("first-" + i, key);
      assertThat(first.keyHash()).isEqualTo(MessageBuilder.keyHash(key));
      Delivery second = ordered("second-" + i, key);
      assertThat(ahead(second).open()).containsExactly(first);
    }
  }

  /** More rows of a key than are told, lowest first. */
  private List<Delivery> longKey(String key) {
    List<NewMessage> batch = new ArrayList<>();
    for (int i = 0; i < Ahead.MOST + 20; i++) {
      batch.add(message("long-" + i).ordered(key).to(a).build());
    }
    accept(batch);
    return fresh(a);
  }

  private Delivery ordered(String id, String key) {
    return ready(a, stored(message(id).ordered(key).to(a).build()));
  }

  private AheadRead ahead(Delivery delivery) {
    return store.deliveries().ahead(List.of(question(delivery)));
  }

  private static Ahead question(Delivery delivery) {
    return new Ahead(delivery.cell(), present(delivery.keyHash()), delivery.seq());
  }
}
