package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.OnConflict;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.MessageDetail;
import dev.pigeonhole.store.AdminChange;
import dev.pigeonhole.store.AdminChange.Action;
import dev.pigeonhole.store.AdminChange.Effect;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.EditedContent;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.Operation;
import dev.pigeonhole.store.Place;
import dev.pigeonhole.store.Pruning;
import dev.pigeonhole.store.StoredMessage;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What operators change, one or many, and what only one of several can change. */
abstract class ChangeContract extends StoreFixture {
  private HandlerId a;
  private HandlerId b;

  ChangeContract(InboxStoreContract contract) {
    super(contract);
  }

  @BeforeEach
  void registerHandlers() {
    a = handler("a");
    b = handler("b");
  }

  private Effect replay(String id, HandlerId handler) {
    return store.admin().replay(SOURCE, id, handler, "ada", "once more");
  }

  @Test
  void aCompletedMessageIsReplayedToItsHandlerOnce() {
    Delivery first = delivered("m", a);
    settle(first, completed());

    assertThat(replay("m", a)).isEqualTo(Effect.CHANGED);
    assertThat(replay("m", a)).isEqualTo(Effect.OPEN);

    Delivery again = ready(a, first.seq());
    assertThat(again.follows(first)).isTrue();
    assertThat(again.attempt()).isEqualTo(1);
    assertThat(view("m", a).state()).isEqualTo(DeliveryState.PENDING);
    known(message("m").to(a).build()); // a repeat finds it standing
    assertThat(ready(a)).hasSize(1);
    settle(again, completed());
    assertThat(view("m", a).state()).isEqualTo(DeliveryState.COMPLETED);
  }

  @Test
  void whoeverStillHoldsTheFormerLifeCannotSettleTheNewOne() {
    long seq = stored(message("m").notBefore(clock.now().plusSeconds(1)).to(a).build());
    clock.advance(Duration.ofSeconds(2));
    Delivery zombie = ready(a, seq); // stood in later, with the lowest version there is
    settle(zombie, completed());
    replay("m", a);

    refused(zombie, completed());
    settle(ready(a, seq), completed());
    replay("m", a);
    refused(zombie, completed());
    assertThat(ready(a)).hasSize(1);
  }

  @Test
  void aMessageIsReplayedToAHandlerThatNeverHadIt() {
    settle(delivered("handled", a), completed());
    long nobodys = stored(message("nobodys").build());

    assertThat(replay("handled", b)).isEqualTo(Effect.CHANGED);
    assertThat(replay("nobodys", b)).isEqualTo(Effect.CHANGED);

    assertThat(ready(b)).hasSize(2);
    assertThat(view("handled", a).state()).isEqualTo(DeliveryState.COMPLETED);
    settle(ready(b, nobodys), completed());
  }

  @Test
  void whatIsOpenOrPoisonedIsNotReplayed() {
    delivered("pending", a);
    settle(delivered("scheduled", a), failedFor(Duration.ofHours(1)));
    settle(delivered("poisoned", a), poisoned());

    assertThat(replay("pending", a)).isEqualTo(Effect.OPEN);
    assertThat(replay("scheduled", a)).isEqualTo(Effect.OPEN);
    assertThat(replay("poisoned", a)).isEqualTo(Effect.POISONED);
    assertThat(replay("missing", a)).isEqualTo(Effect.GONE);
    assertThat(view("poisoned", a).state()).isEqualTo(DeliveryState.POISONED);
    assertThat(store.admin().audit(10)).isEmpty();
  }

  @Test
  void aHandlerThatGotANewNameHasHadWhatItHadUnderTheOldOne() {
    settle(delivered("m", a), completed());
    List<HandlerId> both = family("b", "a"); // had numbers of their own before

    assertThat(replay("m", both.get(0))).isEqualTo(Effect.CHANGED);
    assertThat(replay("m", both.get(1))).isEqualTo(Effect.OPEN);
    assertThat(concat(ready(a), ready(b)))
        .as("under the key that its first life had, which the idempotency key is made of")
        .extracting(Delivery::keyId)
        .containsExactly(a.keyId());
  }

  @Test
  void aMessageThatWasReplayedUnderANewNameKeepsTheNameThatItWasHandledUnder() {
    HandlerId old = handler("old");
    settle(delivered("m", old), completed());
    HandlerId renamed = family("new", "old").get(0);

    assertThat(replay("m", renamed)).isEqualTo(Effect.CHANGED);
    Delivery again = ready(renamed).get(0);
    assertThat(again.keyId()).isEqualTo(old.keyId()).isNotEqualTo(renamed.keyId());
    settle(again, completed());
    assertThat(replay("m", renamed)).isEqualTo(Effect.CHANGED);
    assertThat(ready(renamed).get(0).keyId()).isEqualTo(old.keyId());
  }

  @Test
  void aReplayThatIsRefusedTakesNothingAway() {
    settle(delivered("m", a), completed());
    known(message("m").to(a, b).build()); // b has it, too, and is still open
    List<HandlerId> both = family("a", "b"); // had numbers of their own before

    assertThat(replay("m", both.get(0))).isEqualTo(Effect.OPEN);

    assertThat(ready(b)).hasSize(1);
    assertThat(view("m", a).state()).isEqualTo(DeliveryState.COMPLETED);
  }

  @Test
  void aStepChangesWhatWasChosenAndNothingThatOnlyCountsAsTheSame() {
    long seq = stored(message("m").to(a, b).build());
    settle(ready(a, seq), poisoned());
    settle(ready(b, seq), poisoned());
    Place ofA = new Place(seq, a.family());
    family("a", "b"); // had numbers of their own before
    store.admin().step(begin("first"), change(Action.RETRY), List.of(ofA), true);

    Operation second =
        store.admin().step(begin("second"), change(Action.DISCARD), List.of(ofA), true);

    assertThat(second.skipped()).isEqualTo(Map.of(Effect.NOT_POISONED, 1L));
    assertThat(store.admin().poisoned(null, 10)).hasSize(1);
  }

  private boolean edit(String id, String content) {
    return edit(id, a, content);
  }

  private boolean edit(String id, HandlerId handler, String content) {
    byte[] bytes = content.getBytes(StandardCharsets.UTF_8);
    byte[] hash = new byte[16];
    hash[0] = (byte) content.length();
    return store
        .admin()
        .edit(SOURCE, id, handler.family(), new EditedContent(bytes, hash), "ada", "it was broken");
  }

  @Test
  void editedContentIsForOneHandlerAndWhatCameStays() {
    long seq = stored(message("m").content("broken").to(a, b).build());
    settle(ready(a, seq), poisoned());
    settle(ready(b, seq), poisoned());

    assertThat(edit("m", "mended")).isTrue();
    assertThat(edit("m", "too late")).isFalse();

    StoredMessage loaded = load(seq);
    assertThat(text(loaded)).isEqualTo("broken");
    assertThat(text(loaded.as(a.family()))).isEqualTo("mended");
    assertThat(loaded.as(a.family()).contentHash()[0]).isEqualTo((byte) 6);
    assertThat(text(loaded.as(b.family()))).isEqualTo("broken");
    MessageDetail.Edit shown =
        store.admin().message(SOURCE, "m").orElseThrow().deliveries().get(0).edit().orElseThrow();
    assertThat(shown.by()).isEqualTo("ada");
    assertThat(shown.reason()).isEqualTo("it was broken");
    assertThat(shown.at()).isEqualTo(clock.now());
    assertThat(shown.content().bytes()).asString(StandardCharsets.UTF_8).isEqualTo("mended");
    known(message("m").content("broken").to(a).build()); // no conflict: what came is compared

    settle(ready(a, seq), poisoned());
    assertThat(edit("m", "mended again")).isTrue();
    assertThat(text(load(seq).as(a.family()))).isEqualTo("mended again");
    assertThat(view("m", b).state()).isEqualTo(DeliveryState.POISONED);
  }

  @Test
  void editedContentFollowsAReplayToTheHandlersOtherName() {
    long seq = stored(message("m").content("broken").to(a).build());
    settle(ready(a, seq), poisoned());
    edit("m", "mended");
    settle(ready(a, seq), completed());
    List<HandlerId> both = family("b", "a"); // had numbers of their own before

    assertThat(replay("m", both.get(0))).isEqualTo(Effect.CHANGED);

    assertThat(text(load(seq).as(b.family()))).isEqualTo("mended");
    assertThat(text(load(seq))).isEqualTo("broken");
    MessageDetail.Delivery shown =
        store.admin().message(SOURCE, "m").orElseThrow().deliveries().get(0);
    assertThat(shown.view().handler()).as("the key it was completed under").isEqualTo("a");
    assertThat(shown.edit().orElseThrow().by()).isEqualTo("ada");
    settle(ready(b, seq), completed());
    assertThat(replay("m", both.get(0))).isEqualTo(Effect.CHANGED);
    assertThat(text(load(seq).as(b.family()))).as("once more").isEqualTo("mended");
  }

  @Test
  void whatWasEditedUnderTheNameThatIsAskedForComesFirst() {
    long seq = stored(message("m").content("broken").to(a, b).build());
    for (HandlerId each : List.of(b, a)) {
      settle(ready(each, seq), poisoned());
      edit("m", each, "for " + each.key());
      settle(ready(each, seq), completed());
      clock.advance(Duration.ofSeconds(1));
    }
    HandlerId third = handler("third");
    List<HandlerId> all = family("b", "a", "third");

    assertThat(replay("m", all.get(0))).isEqualTo(Effect.CHANGED);
    assertThat(text(load(seq).as(b.family()))).isEqualTo("for b");
    settle(ready(b, seq), completed());
    assertThat(replay("m", all.get(2))).isEqualTo(Effect.CHANGED);
    assertThat(text(load(seq).as(third.family()))).as("the newest").isEqualTo("for a");
  }

  private static @Nullable String text(StoredMessage message) {
    byte[] content = message.content();
    return content == null ? null : new String(content, StandardCharsets.UTF_8);
  }

  @Test
  void whatIsNotPoisonedIsNotEdited() {
    long seq = stored(message("m").content("fine").to(a).build());

    assertThat(edit("m", "other")).isFalse();
    assertThat(edit("missing", "other")).isFalse();
    assertThat(text(load(seq).as(a.family()))).isEqualTo("fine");
  }

  private static AdminChange change(Action action) {
    return new AdminChange(action, null, "ada", "because");
  }

  private Operation begin(String name) {
    return store.admin().begin(Operation.begun(name, "what"), "ada", "because");
  }

  private Place place(Delivery delivery) {
    return new Place(delivery.seq(), delivery.cell().handler());
  }

  private static Place message(long seq) {
    return new Place(seq, 0);
  }

  @Test
  void finishedMessagesArePurgedAndTheOthersAreToldApart() {
    Delivery finished = delivered("finished", a);
    settle(failed(finished, a, 2), completed());
    long nobodys = stored(message("nobodys").build());
    long open = stored(message("open").to(a).build());
    Delivery poisoned = delivered("poisoned", a);
    settle(poisoned, poisoned());
    Delivery disputed = delivered("disputed", a);
    settle(disputed, completed());
    accept(message("disputed").content("other").onConflict(OnConflict.KEEP).to(a).build());

    Operation done =
        store
            .admin()
            .step(
                begin("purge"),
                change(Action.PURGE),
                List.of(
                    message(finished.seq()),
                    message(nobodys),
                    message(open),
                    message(poisoned.seq()),
                    message(disputed.seq()),
                    message(999_999_999)),
                true);

    assertThat(done.matched()).isEqualTo(6);
    assertThat(done.changed()).isEqualTo(2);
    assertThat(done.skipped())
        .isEqualTo(
            Map.of(Effect.OPEN, 1L, Effect.POISONED, 1L, Effect.CONFLICTS, 1L, Effect.GONE, 1L));
    assertThat(store.admin().messages()).isEqualTo(3);
    assertThat(store.admin().message(SOURCE, "finished")).isEmpty();
    assertThat(store.admin().audit(10)).hasSize(2);
    stored(message("finished").to(a).build()); // new again
    assertThat(view("finished", a).failures()).isZero();
  }

  @Test
  void anOperationRemembersHowFarItHasCome() {
    List<Place> places = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      Delivery delivery = delivered("m-" + i, a);
      settle(delivery, i == 1 ? completed() : poisoned());
      places.add(place(delivery));
    }
    assertThat(store.admin().operation("op")).isEmpty();
    Operation begun = begin("op");

    Operation half = store.admin().step(begun, change(Action.RETRY), places.subList(0, 3), false);
    assertThat(half.at()).isEqualTo(places.get(2));
    assertThat(half.changed()).isEqualTo(2);
    assertThat(half.skipped()).isEqualTo(Map.of(Effect.NOT_POISONED, 1L));
    assertThat(store.admin().operation("op")).contains(half);
    assertThat(begin("op")).isEqualTo(half);

    // Whoever knows less does nothing.
    assertThat(store.admin().step(begun, change(Action.DISCARD), places, true)).isEqualTo(half);

    Operation whole = store.admin().step(half, change(Action.RETRY), places.subList(3, 5), true);
    assertThat(whole.finished()).isTrue();
    assertThat(whole.changed()).isEqualTo(4);
    assertThat(store.admin().step(whole, change(Action.DISCARD), places, true)).isEqualTo(whole);
    assertThat(ready(a)).hasSize(4);
    assertThat(store.admin().audit(10)).hasSize(4);
  }

  @Test
  void manyAreCompletedOrDiscardedOrReplayed() {
    Delivery one = delivered("one", a);
    Delivery other = delivered("other", a);
    settle(one, poisoned());
    settle(other, poisoned());

    store.admin().step(begin("c"), change(Action.COMPLETE), List.of(place(one)), true);
    store.admin().step(begin("d"), change(Action.DISCARD), List.of(place(other)), true);
    assertThat(view("one", a).state()).isEqualTo(DeliveryState.COMPLETED);
    assertThat(view("other", a).state()).isEqualTo(DeliveryState.DISCARDED);

    Operation replayed =
        store
            .admin()
            .step(
                begin("r"),
                new AdminChange(Action.REPLAY, b, "ada", "backfill"),
                List.of(message(one.seq()), message(other.seq())),
                true);
    assertThat(replayed.changed()).isEqualTo(2);
    assertThat(ready(b)).hasSize(2);
  }

  @Test
  void clm11_fiftyRetriesAtOnceGiveOneNewDelivery() {
    for (int round = 0; round < Size.of(3, 30); round++) {
      Delivery delivery = delivered("m-" + round, a);
      settle(delivery, poisoned());
      String id = "m-" + round;

      List<Boolean> answers =
          Race.of(
              50, runner -> store.admin().retry(SOURCE, id, a.family(), "op-" + runner, "fixed"));

      assertThat(answers).containsOnlyOnce(true);
      Delivery again = ready(a, delivery.seq());
      assertThat(again.follows(delivery)).isTrue();
      settle(again, completed());
    }
  }

  @Test
  void replaysRepeatsAndSettlesAtOnceNeverMakeTwoOfOne() {
    for (int round = 0; round < Size.of(10, 200); round++) {
      String id = "m-" + round;
      Delivery delivery = delivered(id, a);
      AtomicInteger lives = new AtomicInteger(1);
      List<Callable<Boolean>> work = new ArrayList<>();
      work.add(() -> trySettle(delivery, completed()).isEmpty());
      for (int i = 0; i < 3; i++) {
        work.add(
            () -> {
              boolean changed = replay(id, a) == Effect.CHANGED;
              if (changed) {
                lives.incrementAndGet();
              }
              return changed;
            });
        work.add(
            () -> {
              assertThat(known(message(id).to(a).build()).added()).isEmpty();
              return true;
            });
      }

      Race.of(work);

      // The first life was settled; at most one replay can have followed it.
      assertThat(lives.get()).isLessThanOrEqualTo(2);
      assertThat(ready(a)).hasSize(lives.get() - 1);
      ready(a).forEach(each -> settle(each, completed()));
      assertThat(view(id, a).state()).isEqualTo(DeliveryState.COMPLETED);
    }
  }

  @Test
  void twoThatRunTheSameOperationTakeTurns() {
    List<Place> places = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      Delivery delivery = delivered("m-" + i, a);
      settle(delivery, poisoned());
      places.add(place(delivery));
    }
    begin("op");

    List<Operation> ends =
        Race.of(
            4,
            runner -> {
              Operation operation = begin("op");
              while (!operation.finished()) {
                Place at = operation.at();
                List<Place> left = places.stream().filter(each -> each.compareTo(at) > 0).toList();
                List<Place> next = left.subList(0, Math.min(7, left.size()));
                operation =
                    store
                        .admin()
                        .step(operation, change(Action.RETRY), next, next.size() == left.size());
              }
              return operation;
            });

    assertThat(ends).allMatch(each -> each.changed() == 40 && each.matched() == 40);
    assertThat(ready(a)).hasSize(40);
    assertThat(store.admin().audit(100)).hasSize(40);
  }

  @Test
  void contentThatRetentionHasDroppedIsNotReplayed() {
    Delivery delivery = delivered("m", a);
    settle(delivery, completed());
    store.maintenance().prune(new Judge(message -> Pruning.Fate.DROP_CONTENT, null), 10);

    assertThat(replay("m", a)).isEqualTo(Effect.NO_CONTENT);
    assertThat(view("m", a).state()).isEqualTo(DeliveryState.COMPLETED);
    assertThat(store.admin().message(SOURCE, "m").orElseThrow().view().bytes()).isEmpty();
  }
}
