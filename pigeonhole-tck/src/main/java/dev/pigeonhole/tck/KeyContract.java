package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.MessageRef;
import dev.pigeonhole.OnPoison;
import dev.pigeonhole.admin.BlockedKey;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.store.Ahead;
import dev.pigeonhole.store.AheadRead;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.Pruning;
import dev.pigeonhole.store.Settlement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a poisoned delivery does to its ordering key, and how operators open it again. */
abstract class KeyContract extends StoreFixture {
  private HandlerId a;
  private HandlerId b;

  KeyContract(InboxStoreContract contract) {
    super(contract);
  }

  @BeforeEach
  void registerHandlers() {
    a = handler("a");
    b = handler("b");
  }

  // Skipping

  @Test
  void aPoisonedRowThatIsSkippedIsInNobodysWay() {
    Delivery head = ordered("head", "k");
    Delivery after = ordered("after", "k");
    settle(head, poisoned(OnPoison.SKIP));

    assertThat(ahead(after)).isEqualTo(new AheadRead(List.of(), Set.of()));
    settle(after, blocked());
    assertThat(due(a)).extracting(Delivery::seq).containsExactly(after.seq());
    assertThat(store.admin().blockedKeys(10)).isEmpty();
  }

  @Test
  void aSkippedRowThatIsRetriedStandsBeforeItsFollowersAgain() {
    Delivery head = ordered("head", "k");
    Delivery after = ordered("after", "k");
    settle(head, poisoned(OnPoison.SKIP));
    retry("head");

    assertThat(ahead(after).open()).extracting(Delivery::seq).containsExactly(head.seq());
    assertThat(ahead(ready(a, head.seq())).open()).isEmpty();
  }

  @Test
  void aSkippedRowHidesNoneThatBlocks() {
    Delivery skipped = ordered("skipped", "k");
    Delivery head = ordered("head", "k");
    Delivery after = ordered("after", "k");
    settle(skipped, poisoned(OnPoison.SKIP));
    settle(head, poisoned());
    settle(after, blocked());

    assertThat(state("after")).isEqualTo(DeliveryState.BLOCKED);
    retry("skipped");
    assertThat(state("after")).isEqualTo(DeliveryState.BLOCKED);
    retry("head");
    assertThat(state("after")).isEqualTo(DeliveryState.PENDING);
  }

  @Test
  void aRowBeforeTheHeadGoesOnThoughOneBehindItIsToldToWaitAtOnce() {
    Delivery first = failed(ordered("first", "k"), a, 1); // has failed once, so it is late
    Delivery head = ordered("head", "k");
    Delivery third = ordered("third", "k");
    settle(head, poisoned());

    assertThat(
            settleAll(List.of(new Settlement(first, blocked()), new Settlement(third, blocked()))))
        .isEmpty();

    assertThat(state("first")).isEqualTo(DeliveryState.PENDING);
    assertThat(state("third")).isEqualTo(DeliveryState.BLOCKED);
  }

  // Holding

  @Test
  void aHeldSequenceWaitsWhateverBecomesOfItsHead() {
    Delivery head = held("head", "k");
    Delivery after = ordered("after", "k");
    settle(after, blocked());
    assertThat(state("after")).isEqualTo(DeliveryState.BLOCKED);

    retry("head");
    assertThat(due(a)).extracting(Delivery::seq).containsExactly(head.seq());
    assertThat(ahead(ready(a, head.seq())).blocked()).isEmpty();
    settle(ready(a, head.seq()), completed());

    assertThat(state("after")).isEqualTo(DeliveryState.BLOCKED);
    assertThat(ready(a)).isEmpty();
    assertThat(release("k")).isTrue();
    assertThat(due(a)).extracting(Delivery::seq).containsExactly(after.seq());
  }

  @Test
  void aHeldSequenceWaitsWhenItsHeadIsEndedByHand() {
    held("head", "k");
    settle(ordered("after", "k"), blocked());

    assertThat(store.admin().end(SOURCE, "head", a.family(), true, "ada", "nobody needs it"))
        .isTrue();

    assertThat(state("after")).isEqualTo(DeliveryState.BLOCKED);
    assertThat(release("k")).isTrue();
    assertThat(state("after")).isEqualTo(DeliveryState.PENDING);
  }

  @Test
  void whatArrivesBetweenTheEndOfAHeadAndTheReleaseWaitsToo() {
    held("head", "k");
    store.admin().end(SOURCE, "head", a.family(), false, "ada", "done by hand");
    Delivery late = ordered("late", "k");

    assertThat(ahead(late).blocked()).containsExactly(question(late));
    settle(late, blocked());
    assertThat(state("late")).isEqualTo(DeliveryState.BLOCKED);

    assertThat(release("k")).isTrue();
    Delivery later = ordered("later", "k");
    assertThat(ahead(later).blocked()).isEmpty();
    assertThat(ahead(later).open()).extracting(Delivery::seq).containsExactly(late.seq());
  }

  @Test
  void aRowBeforeTheClosedOnesGoesOn() {
    Delivery before = ordered("before", "k");
    held("head", "k");
    Delivery after = ordered("after", "k");

    assertThat(ahead(before).blocked()).isEmpty();
    assertThat(ahead(after).blocked()).containsExactly(question(after));
    settle(before, blocked());
    assertThat(state("before")).isEqualTo(DeliveryState.PENDING);
  }

  @Test
  void aKeyThatIsHeldTwiceIsClosedFromTheLowerOneOn() {
    Delivery lower = ordered("lower", "k");
    Delivery between = ordered("between", "k");
    held("higher", "k");
    settle(lower, poisoned(OnPoison.HOLD_SEQUENCE));

    assertThat(ahead(between).blocked()).containsExactly(question(between));
    assertThat(release("k")).isTrue();
    assertThat(ahead(between).blocked()).isEmpty();
  }

  @Test
  void aHeadThatIsPoisonedAgainAfterTheReleaseHoldsAgain() {
    Delivery head = held("head", "k");
    settle(ordered("after", "k"), blocked());
    assertThat(release("k")).isTrue();
    retry("head");
    settle(ready(a, head.seq()), poisoned(OnPoison.HOLD_SEQUENCE));

    Delivery after = due(a).get(0);
    assertThat(ahead(after).blocked()).containsExactly(question(after));
    settle(after, blocked());
    assertThat(state("after")).isEqualTo(DeliveryState.BLOCKED);
  }

  // Releasing

  @Test
  void releasingAKeyPassesOverTheHeadThatBlocksIt() {
    Delivery head = ordered("head", "k");
    Delivery after = ordered("after", "k");
    settle(head, poisoned());
    settle(after, blocked());

    assertThat(release("k")).isTrue();

    assertThat(state("head")).isEqualTo(DeliveryState.POISONED);
    Delivery released = ready(a, after.seq());
    assertThat(ahead(released)).isEqualTo(new AheadRead(List.of(), Set.of()));
    retry("head");
    assertThat(ahead(released).open()).extracting(Delivery::seq).containsExactly(head.seq());
  }

  @Test
  void aKeyIsReleasedOnce() {
    held("head", "k");
    settle(ordered("after", "k"), blocked());

    assertThat(release("k")).isTrue();
    assertThat(release("k")).isFalse();
  }

  @Test
  void thereIsNothingToReleaseWhereNothingWaitsOrBlocks() {
    ordered("open", "k");
    settle(ordered("other", "other"), poisoned());

    assertThat(release("k")).isFalse();
    assertThat(release("unheard of")).isFalse();
    assertThat(release(b, "other")).isFalse();
    assertThat(store.admin().blockedKeys(10)).hasSize(1);
    assertThat(release("other")).isTrue();
  }

  @Test
  void otherKeysAndHandlersAreNotReleased() {
    accept(message("head").ordered("k").to(a, b).build());
    accept(message("after").ordered("k").to(a, b).build());
    for (HandlerId each : List.of(a, b)) {
      settle(ready(each).get(0), poisoned(OnPoison.HOLD_SEQUENCE));
      settle(ready(each).get(0), blocked());
    }
    held("other-head", "other");
    settle(ordered("other-after", "other"), blocked());

    assertThat(release("k")).isTrue();

    assertThat(state("after")).isEqualTo(DeliveryState.PENDING);
    assertThat(view("after", b).state()).isEqualTo(DeliveryState.BLOCKED);
    assertThat(state("other-after")).isEqualTo(DeliveryState.BLOCKED);
  }

  @Test
  void aKeyIsReleasedUnderAnyNameOfItsHandler() {
    held("head", "k");
    settle(ordered("after", "k"), blocked());
    HandlerId apart = handler("apart");
    family("apart", "a"); // declared one only now

    assertThat(release(apart, "k")).isTrue();

    assertThat(state("after")).isEqualTo(DeliveryState.PENDING);
  }

  @Test
  void veryManyAreReleasedInTheirOrder() {
    held("head", "k");
    int many = 2_345;
    List<NewMessage> batch =
        IntStream.range(0, many)
            .mapToObj(i -> message("m-" + i).ordered("k").to(a).build())
            .toList();
    for (int from = 0; from < many; from += 500) {
      accept(batch.subList(from, Math.min(many, from + 500)));
    }
    settleAll(fresh(a).stream().map(row -> new Settlement(row, blocked())).toList());
    assertThat(key("k").waiting()).isEqualTo(many);

    assertThat(release("k")).isTrue();

    assertThat(due(a)).hasSize(many).extracting(Delivery::seq).isSorted();
    assertThat(store.admin().blockedKeys(10)).isEmpty();
    assertThat(release("k")).isFalse();
  }

  @Test
  void veryManyAreReleasedWithTheirHead() {
    Delivery head = ordered("head", "k");
    settle(head, poisoned());
    int many = 2_100;
    for (int from = 0; from < many; from += 525) {
      int first = from;
      accept(
          IntStream.range(first, first + 525)
              .mapToObj(i -> message("m-" + i).ordered("k").to(a).build())
              .toList());
    }
    settleAll(fresh(a).stream().map(row -> new Settlement(row, blocked())).toList());

    retry("head");

    assertThat(due(a)).hasSize(many + 1);
    assertThat(store.admin().blockedKeys(10)).isEmpty();
  }

  @Test
  void whatWaitsForAHeadIsReleasedWhenTheHeadIsForgotten() {
    settle(ordered("head", "k"), poisoned());
    clock.advance(Duration.ofDays(40));
    settle(ordered("after", "k"), blocked());
    assertThat(state("after")).isEqualTo(DeliveryState.BLOCKED);

    Pruning everything = new Judge(message -> Pruning.Fate.DELETE, null);
    assertThat(store.maintenance().prune(everything, 100).deleted()).isEqualTo(1);

    assertThat(state("after")).isEqualTo(DeliveryState.PENDING);
  }

  // Seeing

  @Test
  void blockedKeysAreListedTheLongestFirst() {
    Instant first = clock.now();
    settle(ordered("one", "k-1"), poisoned());
    settle(ordered("waits", "k-1"), blocked());
    clock.advance(Duration.ofSeconds(1));
    held("two", "k-2");
    clock.advance(Duration.ofSeconds(1));
    settle(ordered("three", "k-3"), poisoned());
    clock.advance(Duration.ofSeconds(1));
    settle(ordered("again", "k-1"), poisoned()); // another one of the first key
    settle(ordered("keyless", null), poisoned());

    List<BlockedKey> keys = store.admin().blockedKeys(10);

    assertThat(keys).extracting(BlockedKey::orderingKey).containsExactly("k-1", "k-2", "k-3");
    assertThat(keys.get(0))
        .isEqualTo(
            new BlockedKey(
                "a", "k-1", Optional.of(new MessageRef(SOURCE, "one")), false, 1, first));
    assertThat(keys.get(1))
        .isEqualTo(
            new BlockedKey(
                "a",
                "k-2",
                Optional.of(new MessageRef(SOURCE, "two")),
                true,
                0,
                first.plusSeconds(1)));
    assertThat(store.admin().blockedKeys(2)).isEqualTo(keys.subList(0, 2));
  }

  @Test
  void aKeyWhoseHeadHasBeenDealtWithHasNone() {
    held("head", "k");
    settle(ordered("after", "k"), blocked());
    store.admin().end(SOURCE, "head", a.family(), false, "ada", "done by hand");

    BlockedKey key = key("k");

    assertThat(key.head()).isEmpty();
    assertThat(key.held()).isTrue();
    assertThat(key.waiting()).isEqualTo(1);
  }

  @Test
  void aKeyThatIsBlockedAndHeldIsListedOnce() {
    settle(ordered("blocks", "k"), poisoned());
    held("holds", "k");

    assertThat(store.admin().blockedKeys(10)).hasSize(1);
    assertThat(key("k").head()).contains(new MessageRef(SOURCE, "blocks"));
    assertThat(key("k").held()).isTrue();
    assertThat(release("k")).isTrue();
    assertThat(store.admin().blockedKeys(10)).isEmpty();
  }

  // At the same moment

  @Test
  void ofTwentyReleasesAtOnceOneHits() {
    for (int round = 0; round < Size.of(5, 50); round++) {
      String key = "k-" + round;
      Delivery head = ordered("head-" + round, key);
      settle(head, poisoned(round % 2 == 0 ? OnPoison.HOLD_SEQUENCE : OnPoison.BLOCK_KEY));
      settle(ordered("after-" + round, key), blocked());

      assertThat(Race.of(20, runner -> release(key))).containsOnlyOnce(true);

      assertThat(state("after-" + round)).isEqualTo(DeliveryState.PENDING);
    }
  }

  @Test
  void twoWhoDealWithTwoHeadsOfOneKeyAtOnceLeaveNobodyWaiting() {
    for (int round = 0; round < Size.of(20, 200); round++) {
      String key = "k-" + round;
      List<String> heads = List.of("first-" + round, "second-" + round);
      Delivery first = ordered(heads.get(0), key);
      Delivery second = ordered(heads.get(1), key);
      settle(first, poisoned());
      settle(second, poisoned());
      settle(ordered("after-" + round, key), blocked());

      assertThat(
              Race.of(
                  2,
                  runner ->
                      store.admin().end(SOURCE, heads.get(runner), a.family(), true, "ada", "x")))
          .containsOnly(true);

      assertThat(state("after-" + round)).isEqualTo(DeliveryState.PENDING);
    }
  }

  /**
   * An operator who releases, one who deals with the head, a node that has followers wait and a
   * producer: whoever comes first, nobody waits in a key that is open.
   */
  @Test
  void nobodyWaitsInAKeyThatWasReleasedMeanwhile() {
    for (int round = 0; round < Size.of(20, 200); round++) {
      String key = "k-" + round;
      String prefix = round + "-";
      Delivery head = ordered(prefix + "head", key);
      settle(head, poisoned(round % 2 == 0 ? OnPoison.HOLD_SEQUENCE : OnPoison.BLOCK_KEY));
      List<Delivery> followers = new ArrayList<>();
      for (int i = 0; i < 12; i++) {
        followers.add(ordered(prefix + i, key));
      }
      List<Callable<Boolean>> all = new ArrayList<>();
      for (int half = 0; half < 2; half++) {
        List<Delivery> part = followers.subList(half * 6, half * 6 + 6);
        all.add(
            () -> {
              part.forEach(row -> settle(row, blocked()));
              return true;
            });
      }
      all.add(
          () -> {
            for (int i = 0; i < 5; i++) {
              release(key);
            }
            return true;
          });
      all.add(() -> store.admin().end(SOURCE, prefix + "head", a.family(), true, "ada", "x"));
      all.add(() -> stored(message(prefix + "new").ordered(key).to(a).build()) > 0);

      assertThat(Race.of(all)).containsOnly(true);

      List<Delivery> open = ready(a);
      assertThat(open).as("ready in round %s", round).hasSize(13);
      assertThat(store.admin().blockedKeys(10)).isEmpty();
      Delivery last = open.stream().max(Comparator.comparing(Delivery::seq)).orElseThrow();
      assertThat(ahead(last).open()).hasSize(12);
      settleAll(open.stream().map(r -> new Settlement(r, completed())).toList());
    }
  }

  // Words

  private Outcome poisoned(OnPoison onPoison) {
    return new Outcome.Poisoned(failure("never"), true, onPoison);
  }

  /** Poisons a row so that its key is closed behind it. */
  private Delivery held(String id, String key) {
    Delivery head = ordered(id, key);
    settle(head, poisoned(OnPoison.HOLD_SEQUENCE));
    return head;
  }

  private Delivery ordered(String id, @Nullable String key) {
    MessageBuilder message = message(id).to(a);
    return ready(a, stored((key == null ? message : message.ordered(key)).build()));
  }

  private DeliveryState state(String id) {
    return view(id, a).state();
  }

  private void retry(String id) {
    assertThat(store.admin().retry(SOURCE, id, a.family(), "ada", "fixed")).isTrue();
  }

  private boolean release(String key) {
    return release(a, key);
  }

  private boolean release(HandlerId handler, String key) {
    return store
        .admin()
        .releaseKey(
            handler.family(), handler.keyId(), key, MessageBuilder.keyHash(key), "ada", "go on");
  }

  private BlockedKey key(String key) {
    return store.admin().blockedKeys(10).stream()
        .filter(each -> each.orderingKey().equals(key))
        .findFirst()
        .orElseThrow();
  }

  private AheadRead ahead(Delivery delivery) {
    return store.deliveries().ahead(List.of(question(delivery)));
  }

  private static Ahead question(Delivery delivery) {
    return new Ahead(delivery.cell(), present(delivery.keyHash()), delivery.seq());
  }
}
