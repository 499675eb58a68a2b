package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Failure;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.HandlerId;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Handler keys, their families, renames, and keys that nobody knows any more. */
abstract class HandlerKeyContract extends StoreFixture {

  HandlerKeyContract(InboxStoreContract contract) {
    super(contract);
  }

  @Test
  void aKeyKeepsItsNumbers() {
    HandlerId first = handler("a");

    assertThat(first.key()).isEqualTo("a");
    assertThat(handler("a")).isEqualTo(first);
    assertThat(handler("b").family()).isNotEqualTo(first.family());
    assertThat(handler("b").keyId()).isNotEqualTo(first.keyId());
  }

  @Test
  void idsAreAnsweredInTheOrderOfTheKeys() {
    List<List<HandlerId>> ids =
        store.maintenance().register(List.of(List.of("z"), List.of("b", "c"), List.of("a")));

    assertThat(ids.stream().map(family -> family.stream().map(HandlerId::key).toList()))
        .containsExactly(List.of("z"), List.of("b", "c"), List.of("a"));
    assertThat(store.maintenance().handlers())
        .containsExactlyInAnyOrderElementsOf(ids.stream().flatMap(List::stream).toList());
    assertThat(store.maintenance().register(List.of())).isEmpty();
  }

  @Test
  void keysThatDifferByCaseAreTwoHandlers() {
    assertThat(handler("Mailer").family()).isNotEqualTo(handler("mailer").family());
  }

  @Test
  void aLongKeyIsKeptWhole() {
    String key = "k".repeat(199);
    HandlerId one = handler(key + "1");
    HandlerId two = handler(key + "2");

    assertThat(one.family()).isNotEqualTo(two.family());
    assertThat(handler(key + "1")).isEqualTo(one);
  }

  @Test
  void keysKeepTheirNumbersHoweverOftenTheyAreRegistered() {
    Set<HandlerId> ids = new HashSet<>();
    for (int start = 0; start < 20; start++) {
      for (int i = 0; i < 10; i++) {
        ids.add(handler("k-" + i));
      }
    }
    assertThat(ids).hasSize(10);
    assertThat(ids).extracting(HandlerId::keyId).doesNotHaveDuplicates().allMatch(id -> id > 0);
  }

  @Test
  void aKeyAndItsFormerKeysAreOneFamily() {
    HandlerId v1 = handler("v1");
    List<HandlerId> renamed = family("v2", "v1");

    assertThat(renamed.get(0).key()).isEqualTo("v2");
    assertThat(renamed.get(0).family()).isEqualTo(v1.family());
    assertThat(renamed.get(0).keyId()).isNotEqualTo(v1.keyId());
    assertThat(renamed.get(1)).isEqualTo(v1);
  }

  @Test
  void anOldVersionThatStartsLaterFindsItsFamily() {
    List<HandlerId> renamed = family("v2", "v1");

    assertThat(handler("v1")).isEqualTo(renamed.get(1));
    assertThat(handler("v2")).isEqualTo(renamed.get(0));
    assertThat(renamed.get(0).family()).isEqualTo(renamed.get(1).family());
  }

  @Test
  void b27_anOpenDeliveryKeepsTheKeyItWasCreatedUnder() {
    HandlerId v1 = handler("v1");
    Delivery old = delivered("m", v1);
    HandlerId v2 = family("v2", "v1").get(0);

    assertThat(ready(v2)).containsExactly(old);
    settle(old, failed());
    assertThat(ready(v2, old.seq()).keyId()).isEqualTo(v1.keyId());
    assertThat(view("m", v2).handler()).isEqualTo("v1");
    settle(ready(v2, old.seq()), completed());
    assertThat(view("m", v2).handler()).isEqualTo("v1");
  }

  @Test
  void b28_aNewMessageIsDeliveredUnderTheNewKeyOnly() {
    handler("v1");
    HandlerId v2 = family("v2", "v1").get(0);
    Delivery row = delivered("m", v2);

    assertThat(row.keyId()).isEqualTo(v2.keyId());
    assertThat(ready(v2)).hasSize(1);
    assertThat(view("m", v2).handler()).isEqualTo("v2");
  }

  @Test
  void b29_whatWasCompletedUnderTheFormerKeyIsNotRunAgainUnderTheNewOne() {
    HandlerId v1 = handler("v1");
    settle(delivered("m", v1), completed());
    HandlerId v2 = family("v2", "v1").get(0);

    assertThat(known(message("m").to(v2).build()).added()).isEmpty();
    assertThat(ready(v2)).isEmpty();
  }

  @Test
  void id12_duringARollingRenameNeitherVersionCreatesASecondDelivery() {
    HandlerId old = handler("v1");
    HandlerId renamed = family("v2", "v1").get(0);

    stored(message("new-first").to(renamed).build());
    assertThat(known(message("new-first").to(old).build()).added()).isEmpty();
    stored(message("old-first").to(old).build());
    assertThat(known(message("old-first").to(renamed).build()).added()).isEmpty();

    assertThat(ready(renamed)).hasSize(2);
    ready(renamed).forEach(row -> settle(row, completed()));
    assertThat(known(message("new-first").to(old).build()).added()).isEmpty();
    assertThat(known(message("old-first").to(renamed).build()).added()).isEmpty();
  }

  @Test
  void b30_threeGenerationsAreOneFamily() {
    HandlerId v1 = handler("v1");
    long first = stored(message("first").to(v1).build());
    HandlerId v2 = family("v2", "v1").get(0);
    long second = stored(message("second").to(v2).build());
    HandlerId v3 = family("v3", "v2", "v1").get(0);
    long third = stored(message("third").to(v3).build());

    assertThat(v3.family()).isEqualTo(v1.family());
    assertThat(ready(v3)).extracting(Delivery::seq).containsExactly(first, second, third);
    assertThat(ready(v3))
        .extracting(Delivery::keyId)
        .containsExactly(v1.keyId(), v2.keyId(), v3.keyId());
  }

  @Test
  void familiesThatWereRegisteredApartKeepTheirNumbersAndShareTheirMessages() {
    HandlerId v1 = handler("v1");
    HandlerId v2 = handler("v2");
    settle(delivered("done-by-v1", v1), completed());
    delivered("open-for-v1", v1);
    delivered("open-for-v2", v2);

    List<HandlerId> joined = family("v2", "v1");

    assertThat(joined).containsExactly(v2, v1);
    for (String id : List.of("done-by-v1", "open-for-v1", "open-for-v2")) {
      assertThat(known(message(id).to(v2).build()).added()).as("%s to v2", id).isEmpty();
      assertThat(known(message(id).to(v1).build()).added()).as("%s to v1", id).isEmpty();
    }
    assertThat(ready(v1)).hasSize(1);
    assertThat(ready(v2)).hasSize(1);
  }

  @Test
  void operatorsReachFamiliesThatWereRegisteredApartByEitherKey() {
    HandlerId v1 = handler("v1");
    HandlerId v2 = handler("v2");
    HandlerId other = handler("other");
    settle(delivered("of-v1", v1), poisoned());
    clock.advance(Duration.ofSeconds(1));
    settle(delivered("of-v2", v2), poisoned());
    delivered("open", v1);
    settle(delivered("done", v2), completed());
    family("v2", "v1");

    for (HandlerId asked : List.of(v1, v2)) {
      assertThat(view("of-v1", asked).handler()).isEqualTo("v1");
      assertThat(view("open", asked).state()).isEqualTo(DeliveryState.PENDING);
      assertThat(view("done", asked).state()).isEqualTo(DeliveryState.COMPLETED);
      assertThat(store.admin().poisoned(asked.family(), 10))
          .extracting(each -> each.message().id())
          .containsExactly("of-v2", "of-v1");
    }
    assertThat(store.admin().find(SOURCE, "open", other.family())).isEmpty();
    assertThat(store.admin().poisoned(other.family(), 10)).isEmpty();

    assertThat(store.admin().retry(SOURCE, "of-v1", other.family(), "ada", "fixed")).isFalse();
    assertThat(store.admin().retry(SOURCE, "of-v1", v2.family(), "ada", "fixed")).isTrue();
    assertThat(store.admin().retry(SOURCE, "of-v2", v1.family(), "ada", "fixed")).isTrue();
    assertThat(ready(v1)).hasSize(2);
    assertThat(ready(v2)).hasSize(1);
  }

  @Test
  void aMessageThatBothFamiliesGotIsShownForTheOneThatWasAskedFor() {
    HandlerId v1 = handler("v1");
    HandlerId v2 = handler("v2");
    long seq = stored(message("m").to(v1, v2).build());
    settle(ready(v1, seq), poisoned());
    settle(ready(v2, seq), poisoned());
    family("v2", "v1");

    for (HandlerId asked : List.of(v2, v1)) {
      assertThat(view("m", asked).handler()).isEqualTo(asked.key());
      assertThat(store.admin().retry(SOURCE, "m", asked.family(), "ada", "fixed")).isTrue();
      assertThat(ready(asked)).hasSize(1);
    }
    assertThat(store.admin().poisoned(v1.family(), 10)).isEmpty();
  }

  @Test
  void aNewMessageForAPartedFamilyIsDeliveredOnce() {
    handler("v1");
    handler("v2");
    List<HandlerId> joined = family("v2", "v1");
    HandlerId v2 = joined.get(0);
    HandlerId v1 = joined.get(1);

    stored(message("m").to(v2).build());
    assertThat(known(message("m").to(v1).build()).added()).isEmpty();
    assertThat(ready(v2)).hasSize(1);
    assertThat(ready(v1)).isEmpty();
  }

  @Test
  void handlersThatWereNeverJoinedStayApart() {
    HandlerId v1 = handler("v1");
    HandlerId v2 = handler("v2");
    HandlerId other = handler("other");
    family("v2", "v1");
    stored(message("m").to(v1).build());

    assertThat(known(message("m").to(v2, other).build()).added()).containsExactly(other);
  }

  @Test
  void b78_theDrainQueryCountsWhatIsOpenUnderOneExactKey() {
    HandlerId v1 = handler("v1");
    Delivery fresh = delivered("fresh", v1);
    Delivery late = delivered("late", v1);
    settle(late, failedFor(Duration.ofHours(1)));
    Delivery blocked = delivered("blocked", v1);
    settle(blocked, blocked());
    settle(delivered("completed", v1), completed());
    settle(delivered("poisoned", v1), poisoned());
    HandlerId v2 = family("v2", "v1").get(0);
    delivered("new", v2);

    assertThat(store.admin().open(v1.keyId())).isEqualTo(3);
    assertThat(store.admin().open(v2.keyId())).isEqualTo(1);
    settle(fresh, completed());
    assertThat(store.admin().open(v1.keyId())).isEqualTo(2);
    assertThat(store.admin().open(v1.keyId() + 1000)).isZero();
  }

  @Test
  void everyFamilyHasItsCells() {
    HandlerId v1 = handler("v1");
    family("v2", "v1");

    assertThat(store.nodes().cells(Set.of(v1.family()))).hasSize(lanes());
  }

  @Test
  void b31_whatNobodyKnowsIsPoisonedWithoutAFailureAndTheReasonNamesTheKey() {
    HandlerId gone = handler("gone");
    HandlerId other = handler("other");
    stored(message("fresh").inLane(1).to(gone, other).build());
    Delivery late = failed(delivered("late", gone), gone, 2);
    settle(late, failedFor(Duration.ofHours(1)));
    settle(delivered("blocked", gone), blocked());
    Failure reason =
        new Failure(
            ErrorCode.HANDLER_KEY_UNKNOWN, "", "No node knows 'gone'.", "", "", clock.now());

    assertThat(store.maintenance().poisonUnknown(gone.family(), reason, 100)).isEqualTo(3);

    assertThat(store.admin().open(gone.keyId())).isZero();
    for (String id : List.of("fresh", "late", "blocked")) {
      assertThat(view(id, gone).state()).isEqualTo(DeliveryState.POISONED);
      assertThat(view(id, gone).handler()).isEqualTo("gone");
      assertThat(view(id, gone).lastFailure()).contains(reason);
      assertThat(view(id, gone).failures()).isEqualTo(id.equals("late") ? 3 : 0);
    }
    assertThat(view("fresh", other).state()).isEqualTo(DeliveryState.PENDING);
    assertThat(store.maintenance().poisonUnknown(gone.family(), reason, 100)).isZero();
  }

  @Test
  void whatNobodyKnowsIsPoisonedInPortions() {
    HandlerId gone = handler("gone");
    for (int i = 0; i < 5; i++) {
      delivered("m-" + i, gone);
    }
    Failure reason = failure("No node knows 'gone'.");

    assertThat(store.maintenance().poisonUnknown(gone.family(), reason, 3)).isEqualTo(3);
    assertThat(store.admin().open(gone.keyId())).isEqualTo(2);
    assertThat(store.maintenance().poisonUnknown(gone.family(), reason, 3)).isEqualTo(2);
  }

  @Test
  void whatWasPoisonedAsUnknownCanBeRetriedAndRefusesTheOldAttempt() {
    HandlerId gone = handler("gone");
    Delivery old = delivered("m", gone);
    store.maintenance().poisonUnknown(gone.family(), failure("unknown"), 1);

    refused(old, completed());
    assertThat(store.admin().retry(SOURCE, "m", gone.family(), "ada", "deployed")).isTrue();
    refused(old, completed());
    settle(ready(gone, old.seq()), completed());
  }

  @Test
  void openDeliveriesOfAFamilyAreCountedUpToALimit() {
    HandlerId a = handler("a");
    HandlerId b = handler("b");
    HandlerId idle = handler("idle");
    for (int i = 0; i < 3; i++) {
      delivered("fresh-" + i, a);
    }
    settle(delivered("retry", a), failedFor(Duration.ofHours(1)));
    settle(delivered("blocked", a), blocked());
    settle(delivered("done", a), completed());
    settle(delivered("poisoned", a), poisoned());
    delivered("other", b);
    List<Integer> families = List.of(a.family(), b.family(), idle.family());

    Map<Integer, Integer> open = store.maintenance().unsettled(families, 100);

    assertThat(open).containsEntry(a.family(), 5).containsEntry(b.family(), 1);
    assertThat(open.getOrDefault(idle.family(), 0)).isZero();
    for (int most : new int[] {2, 3, 4, 5}) {
      assertThat(store.maintenance().unsettled(families, most)).containsEntry(a.family(), most);
    }
    assertThat(store.maintenance().unsettled(List.of(b.family()), 100))
        .doesNotContainKey(a.family());
    assertThat(store.maintenance().unsettled(List.of(), 100)).isEmpty();
  }
}
