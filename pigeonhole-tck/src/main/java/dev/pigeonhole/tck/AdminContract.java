package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.MessageRef;
import dev.pigeonhole.OnConflict;
import dev.pigeonhole.admin.AuditEntry;
import dev.pigeonhole.admin.ConflictView;
import dev.pigeonhole.admin.Count;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.admin.HandlerCounts;
import dev.pigeonhole.admin.Pause;
import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.SecondCopy;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What operators see and change. */
abstract class AdminContract extends StoreFixture {
  private HandlerId a;
  private HandlerId b;

  AdminContract(InboxStoreContract contract) {
    super(contract);
  }

  @BeforeEach
  void registerHandlers() {
    a = handler("a");
    b = handler("b");
  }

  @Test
  void countsTellWhereTheDeliveriesOfEachKeyStand() {
    delivered("pending-1", a);
    delivered("pending-2", a);
    settle(delivered("scheduled", a), failedFor(Duration.ofHours(1)));
    settle(delivered("due", a), failedFor(Duration.ZERO));
    settle(delivered("blocked", a), blocked());
    for (int i = 0; i < 3; i++) {
      settle(delivered("completed-" + i, a), completed());
    }
    settle(delivered("poisoned", a), poisoned());
    settle(delivered("of-b", b), completed());

    assertThat(counts("a")).isEqualTo(expected("a", 3, 1, 1, 3, 1));
    assertThat(counts("a").open().value()).isEqualTo(5);
    assertThat(counts("b")).isEqualTo(expected("b", 0, 0, 0, 1, 0));
    assertThat(store.admin().messages()).isEqualTo(10);
  }

  @Test
  void countsTellExactKeysApart() {
    delivered("old", a);
    HandlerId renamed = family("a2", "a").get(0);
    delivered("new", renamed);

    assertThat(counts("a").open().value()).isEqualTo(1);
    assertThat(counts("a2").open().value()).isEqualTo(1);
  }

  @Test
  void anEmptyStoreCountsNothing() {
    assertThat(counts("a")).isEqualTo(expected("a", 0, 0, 0, 0, 0));
    assertThat(store.admin().messages()).isZero();
    assertThat(store.admin().poisoned(null, 10)).isEmpty();
  }

  @Test
  void aFreshDeliveryIsPending() {
    delivered("m", a);
    DeliveryView view = view("m", a);

    assertThat(view.message()).isEqualTo(new MessageRef(SOURCE, "m"));
    assertThat(view.handler()).isEqualTo("a");
    assertThat(view.state()).isEqualTo(DeliveryState.PENDING);
    assertThat(view.receivedAt()).isEqualTo(clock.now());
    assertThat(view.due()).isEmpty();
    assertThat(view.ended()).isEmpty();
    assertThat(view.lastFailure()).isEmpty();
  }

  @Test
  void onlyAScheduledDeliveryHasATimeToWaitFor() {
    settle(delivered("m", a), failedFor(Duration.ofHours(1)));
    assertThat(view("m", a).state()).isEqualTo(DeliveryState.SCHEDULED);
    assertThat(view("m", a).due()).contains(clock.now().plusSeconds(3600));

    clock.advance(Duration.ofHours(2));
    assertThat(view("m", a).state()).isEqualTo(DeliveryState.PENDING);
    assertThat(view("m", a).due()).isEmpty();
  }

  @Test
  void nothingIsFoundWhereNothingIs() {
    delivered("m", a);

    assertThat(store.admin().find(SOURCE, "other", a.family())).isEmpty();
    assertThat(store.admin().find("other", "m", a.family())).isEmpty();
    assertThat(store.admin().find(SOURCE, "M", a.family())).isEmpty();
    assertThat(store.admin().find(SOURCE, "m", b.family())).isEmpty();
  }

  @Test
  void poisonedDeliveriesAreListedNewestFirst() {
    Stream.of("first", "second", "third")
        .forEach(
            id -> {
              Delivery delivery = delivered(id, a);
              clock.advance(Duration.ofSeconds(1));
              settle(delivery, new Outcome.Poisoned(failure(id), true));
            });
    Delivery ofB = delivered("of-b", b);
    clock.advance(Duration.ofSeconds(1));
    settle(ofB, poisoned());

    assertThat(ids(store.admin().poisoned(null, 10)))
        .containsExactly("of-b", "third", "second", "first");
    assertThat(ids(store.admin().poisoned(a.family(), 2))).containsExactly("third", "second");
    assertThat(ids(store.admin().poisoned(b.family(), 10))).containsExactly("of-b");
    assertThat(store.admin().poisoned(a.family(), 1))
        .singleElement()
        .isEqualTo(withoutStack(view("third", a)));
  }

  @Test
  void theNewestIsWhatWasPoisonedLastWhateverItsNumber() {
    Delivery first = delivered("first", a);
    Delivery second = delivered("second", a);
    clock.advance(Duration.ofSeconds(1));
    settle(second, poisoned());
    clock.advance(Duration.ofSeconds(1));
    settle(first, poisoned());

    assertThat(ids(store.admin().poisoned(null, 10))).containsExactly("first", "second");
  }

  @Test
  void b74_aRetriedDeliveryIsDueNowAndStartsFromNothing() {
    Delivery delivery = failed(delivered("m", a), a, 4);
    settle(delivery, poisoned());
    clock.advance(Duration.ofHours(1));

    assertThat(retry("m")).isTrue();

    Delivery again = ready(a, delivery.seq());
    assertThat(again.failures()).isZero();
    assertThat(again.crashes()).isZero();
    assertThat(again.mark()).isZero();
    assertThat(again.attempt()).isEqualTo(1);
    assertThat(again.follows(delivery)).isTrue();
    assertThat(again.keyId()).isEqualTo(a.keyId());
    assertThat(view("m", a).state()).isIn(DeliveryState.PENDING, DeliveryState.SCHEDULED);
    assertThat(store.admin().poisoned(null, 10)).isEmpty();
    assertThat(counts("a").open().value()).isEqualTo(1);
    settle(again, completed());
  }

  @Test
  void aDeliveryPoisonedForItsCrashesIsRetriedWithoutThem() {
    Delivery delivery = delivered("m", a);
    store.deliveries().mark(List.of(delivery), 7, true);
    settle(ready(a, delivery.seq()), new Outcome.Poisoned(failure("crashed"), false));
    assertThat(view("m", a).crashes()).isEqualTo(1);

    retry("m");

    assertThat(ready(a, delivery.seq()).crashes()).isZero();
    assertThat(ready(a, delivery.seq()).mark()).isZero();
  }

  @Test
  void clm11_onlyTheFirstRetryHits() {
    settle(delivered("m", a), poisoned());

    assertThat(retry("m")).isTrue();
    assertThat(retry("m")).isFalse();
    assertThat(ready(a)).hasSize(1);
  }

  @Test
  void whatIsNotPoisonedIsNotRetried() {
    delivered("pending", a);
    settle(delivered("scheduled", a), failedFor(Duration.ofHours(1)));
    settle(delivered("completed", a), completed());

    for (String id : List.of("pending", "scheduled", "completed", "missing")) {
      assertThat(retry(id)).as(id).isFalse();
    }
    assertThat(view("completed", a).state()).isEqualTo(DeliveryState.COMPLETED);
    assertThat(view("scheduled", a).state()).isEqualTo(DeliveryState.SCHEDULED);
  }

  @Test
  void aRetryHitsOneHandlerOnly() {
    long seq = stored(message("m").to(a, b).build());
    settle(ready(a, seq), poisoned());
    settle(ready(b, seq), poisoned());

    assertThat(retry("m")).isTrue();
    assertThat(view("m", b).state()).isEqualTo(DeliveryState.POISONED);
  }

  @Test
  void aDeliveryCanBePoisonedAndRetriedAgainAndAgain() {
    Delivery delivery = delivered("m", a);
    for (int i = 0; i < 3; i++) {
      settle(delivery, poisoned());
      assertThat(view("m", a).failures()).isEqualTo(1);
      assertThat(retry("m")).isTrue();
      delivery = ready(a, delivery.seq());
    }
    settle(delivery, completed());
    assertThat(view("m", a).failures()).isZero();
  }

  @Test
  void aRetryReleasesWhatIsBlockedBehindItInItsKey() {
    Delivery head = ordered("head", "k");
    Delivery second = ordered("second", "k");
    Delivery third = ordered("third", "k");
    Delivery otherHead = ordered("other-head", "other");
    Delivery otherKey = ordered("other", "other");
    settle(head, poisoned());
    settle(otherHead, poisoned());
    settle(second, blocked());
    settle(third, blocked());
    settle(otherKey, blocked());

    assertThat(retry("head")).isTrue();

    assertThat(ready(a))
        .extracting(Delivery::seq)
        .containsExactlyInAnyOrder(head.seq(), second.seq(), third.seq());
    assertThat(view("other", a).state()).isEqualTo(DeliveryState.BLOCKED);
    settle(ready(a, second.seq()), completed());
    refused(second, completed());
  }

  @Test
  void aRetryLeavesTheTimesOfOtherRowsOfTheKeyAlone() {
    Delivery head = ordered("head", "k");
    settle(ordered("scheduled", "k"), failedFor(Duration.ofHours(1)));
    settle(head, poisoned());

    retry("head");

    assertThat(ready(a)).extracting(Delivery::seq).containsExactly(head.seq());
    assertThat(view("scheduled", a).due()).contains(clock.now().plusSeconds(3600));
  }

  @Test
  void aPoisonedDeliveryIsCompletedOrDiscardedByHand() {
    settle(failed(delivered("done", a), a, 2), poisoned());
    settle(delivered("useless", a), poisoned());
    clock.advance(Duration.ofMinutes(1));

    assertThat(store.admin().end(SOURCE, "done", a.family(), false, "ada", "sent")).isTrue();
    assertThat(store.admin().end(SOURCE, "useless", a.family(), true, "ada", "a test")).isTrue();

    assertThat(view("done", a).state()).isEqualTo(DeliveryState.COMPLETED);
    assertThat(view("done", a).failures()).isEqualTo(3);
    assertThat(view("done", a).ended()).contains(clock.now());
    assertThat(view("useless", a).state()).isEqualTo(DeliveryState.DISCARDED);
    assertThat(counts("a")).isEqualTo(expected("a", 0, 0, 0, 2, 0));
    for (String id : List.of("done", "useless", "missing")) {
      assertThat(store.admin().end(SOURCE, id, a.family(), true, "bob", "again")).isFalse();
      assertThat(retry(id)).as(id).isFalse();
    }
    known(message("useless").to(a).build());
    assertThat(ready(a)).isEmpty();
  }

  @Test
  void whatIsEndedByHandReleasesItsKey() {
    Delivery head = ordered("head", "k");
    Delivery second = ordered("second", "k");
    settle(head, poisoned());
    settle(second, blocked());

    store.admin().end(SOURCE, "head", a.family(), true, "ada", "not worth it");

    assertThat(ready(a)).extracting(Delivery::seq).containsExactly(second.seq());
  }

  @Test
  void secondCopiesAreListedAndEndedOnce() {
    delivered("m", a);
    clock.advance(Duration.ofSeconds(1));
    for (String content : List.of("other", "third", "other")) {
      assertThat(accept(message("m").content(content).onConflict(OnConflict.KEEP).to(a).build()))
          .isInstanceOf(AcceptResult.Differs.class);
    }

    List<ConflictView> conflicts = store.admin().conflicts(10);

    assertThat(conflicts).hasSize(2).extracting(ConflictView::bytes).containsExactly(5L, 5L);
    assertThat(store.admin().conflicts(1)).containsExactly(conflicts.get(0));
    ConflictView newest = conflicts.get(0);
    assertThat(newest.message()).isEqualTo(new MessageRef(SOURCE, "m"));
    assertThat(newest.receivedAt()).isEqualTo(clock.now());
    SecondCopy copy = store.admin().conflict(newest.conflict()).orElseThrow();
    assertThat(copy.view()).isEqualTo(newest);
    assertThat(copy.content()).asString(StandardCharsets.UTF_8).isEqualTo("third");

    assertThat(store.admin().dismissConflict(newest.conflict(), "ada", "noise")).isTrue();
    assertThat(store.admin().dismissConflict(newest.conflict(), "bob", "noise")).isFalse();
    assertThat(store.admin().conflict(newest.conflict())).isEmpty();
    assertThat(store.admin().conflicts(10)).containsExactly(conflicts.get(1));
  }

  @Test
  void aSecondCopyHasAllThatItCameWith() {
    delivered("m", a);
    byte[] headers = {1, 2, 3};
    accept(
        message("m")
            .content("other")
            .headers(headers)
            .ordered("k")
            .occurredAt(clock.now())
            .onConflict(OnConflict.KEEP)
            .to(a)
            .build());
    accept(message("m").content((byte[]) null).onConflict(OnConflict.KEEP).to(a).build());
    List<ConflictView> conflicts = store.admin().conflicts(10);

    SecondCopy copy = store.admin().conflict(conflicts.get(1).conflict()).orElseThrow();
    assertThat(copy.content()).asString(StandardCharsets.UTF_8).isEqualTo("other");
    assertThat(copy.headers()).isEqualTo(headers);
    assertThat(copy.orderingKey()).isEqualTo("k");
    assertThat(copy.occurredAt()).isEqualTo(clock.now());
    SecondCopy empty = store.admin().conflict(conflicts.get(0).conflict()).orElseThrow();
    assertThat(empty.content()).isNull();
    assertThat(empty.orderingKey()).isNull();
    assertThat(empty.occurredAt()).isNull();
  }

  private long conflict() {
    delivered("m", a);
    accept(message("m").content("other").onConflict(OnConflict.KEEP).to(a).build());
    return store.admin().conflicts(1).get(0).conflict();
  }

  @Test
  void aSecondCopyIsKeptForTheFirstIdThatSomebodyAcceptsItUnder() {
    long conflict = conflict();

    assertThat(claim(conflict, "m-2")).contains("m-2");
    assertThat(claim(conflict, "m-3")).contains("m-2");
    assertThat(claim(conflict, "m-2")).contains("m-2");
    assertThat(store.admin().conflicts(1).get(0).acceptedAs()).contains("m-2");
    assertThat(store.admin().audit(10)).extracting(AuditEntry::action).containsExactly("accept");
    assertThat(store.admin().dismissConflict(conflict, "bob", "too late")).isFalse();

    store.admin().finishConflict(conflict, "m-3");
    assertThat(store.admin().conflict(conflict)).isPresent();
    store.admin().finishConflict(conflict, "m-2");
    assertThat(store.admin().conflict(conflict)).isEmpty();
    assertThat(claim(conflict, "m-2")).isEmpty();
    assertThat(store.admin().audit(10)).hasSize(1);
  }

  @Test
  void aSecondCopyThatCouldNotBeAcceptedIsFreeAgain() {
    long conflict = conflict();
    claim(conflict, "m-2");

    store.admin().unclaimConflict(conflict, "m-3", "bob", "not mine");
    assertThat(store.admin().conflicts(1).get(0).acceptedAs()).contains("m-2");
    store.admin().unclaimConflict(conflict, "m-2", "ada", "rejected");

    assertThat(store.admin().conflicts(1).get(0).acceptedAs()).isEmpty();
    assertThat(store.admin().audit(10))
        .extracting(AuditEntry::action)
        .containsExactly("unaccept", "accept");
    assertThat(claim(conflict, "m-3")).contains("m-3");
  }

  private Optional<String> claim(long conflict, String newId) {
    return store.admin().claimConflict(conflict, newId, "ada", "both were meant");
  }

  @Test
  void aPausedHandlerIsToldToNodesUntilItIsResumed() {
    assertThat(store.nodes().paused()).isEmpty();

    assertThat(store.admin().pause(a.family(), a.keyId(), "ada", "mail is down")).isTrue();

    assertThat(store.nodes().paused()).containsExactly(a.family());
    assertThat(store.admin().paused())
        .containsExactly(new Pause("a", clock.now(), "ada", "mail is down"));
    assertThat(store.admin().resume(b.family(), b.keyId(), "bob", "not that one")).isFalse();
    assertThat(store.admin().resume(a.family(), a.keyId(), "bob", "mail is back")).isTrue();
    assertThat(store.nodes().paused()).isEmpty();
    assertThat(store.admin().paused()).isEmpty();
  }

  @Test
  void onlyTheFirstPauseHitsAndOnlyTheFirstResume() {
    assertThat(store.admin().pause(a.family(), a.keyId(), "ada", "first")).isTrue();
    assertThat(store.admin().pause(a.family(), a.keyId(), "bob", "second")).isFalse();
    assertThat(store.admin().paused()).extracting(Pause::by).containsExactly("ada");

    assertThat(store.admin().resume(a.family(), a.keyId(), "bob", "first")).isTrue();
    assertThat(store.admin().resume(a.family(), a.keyId(), "bob", "second")).isFalse();
  }

  @Test
  void aPauseHoldsForEveryFamilyThatCountsAsTheHandler() {
    List<HandlerId> both = family("a", "b"); // had numbers of their own before

    assertThat(store.admin().pause(both.get(0).family(), both.get(0).keyId(), "ada", "x")).isTrue();

    assertThat(store.nodes().paused()).containsExactlyInAnyOrder(a.family(), b.family());
    assertThat(store.admin().paused()).hasSize(1);
    assertThat(store.admin().pause(b.family(), b.keyId(), "ada", "x")).isFalse();
    assertThat(store.admin().resume(b.family(), b.keyId(), "ada", "x")).isTrue();
    assertThat(store.nodes().paused()).isEmpty();
  }

  @Test
  void anOddReasonIsNoProblem() {
    settle(delivered("m", a), poisoned());

    assertThat(
            store
                .admin()
                .retry(SOURCE, "m", a.family(), "o'neill \uD83D\uDE00", "it's \"fixed\"; \\ --"))
        .isTrue();
  }

  private boolean retry(String id) {
    return store.admin().retry(SOURCE, id, a.family(), "ada", "fixed");
  }

  private Delivery ordered(String id, String key) {
    return ready(a, stored(message(id).ordered(key).to(a).build()));
  }

  private static HandlerCounts expected(
      String key, long pending, long scheduled, long blocked, long completed, long poisoned) {
    return new HandlerCounts(
        key,
        Count.of(pending),
        Count.of(scheduled),
        Count.of(0),
        Count.of(0),
        Count.of(blocked),
        Count.of(completed),
        Count.of(poisoned));
  }

  private HandlerCounts counts(String key) {
    return store.admin().counts(1_000).stream()
        .filter(counts -> counts.handler().equals(key))
        .findFirst()
        .orElse(HandlerCounts.none(key));
  }

  private static List<String> ids(List<DeliveryView> views) {
    return views.stream().map(view -> view.message().id()).toList();
  }
}
