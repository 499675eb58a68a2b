package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.OnConflict;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.Versions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** New messages, repeats, conflicts, and the order of numbers. */
abstract class AcceptContract extends StoreFixture {
  private HandlerId a;
  private HandlerId b;
  private HandlerId c;

  AcceptContract(InboxStoreContract contract) {
    super(contract);
  }

  @BeforeEach
  void registerHandlers() {
    a = handler("a");
    b = handler("b");
    c = handler("c");
  }

  @Test
  void b01_anAcceptedMessageHasOneDeliveryForEachOfItsHandlers() {
    long seq = stored(message("m").inLane(2).to(a, b).build());

    assertThat(store.admin().messages()).isEqualTo(1);
    assertThat(fresh(a))
        .containsExactly(
            new Delivery(cell(2, a), seq, version(a), a.keyId(), 0, 0, 0, null, 0, false));
    assertThat(fresh(b)).extracting(Delivery::seq).containsExactly(seq);
    assertThat(fresh(c)).isEmpty();
    assertThat(fresh(a).get(0).attempt()).isEqualTo(1);
  }

  private long version(HandlerId handler) {
    return fresh(handler).get(0).version();
  }

  @Test
  void eachCallHasVersionsOfItsOwn() {
    AcceptResult.Stored one = (AcceptResult.Stored) accept(message("one").to(a).build());
    AcceptResult.Stored other = (AcceptResult.Stored) accept(message("other").to(a).build());

    assertThat(one.version()).isPositive();
    assertThat(Versions.ofOneMessage(one.version(), other.version())).isFalse();
    assertThat(ready(a, one.seq()).version()).isEqualTo(one.version());
    assertThat(load(one.seq()).isOf(ready(a, one.seq()))).isTrue();
    assertThat(load(one.seq()).version()).isEqualTo(one.version());
    Delivery wrong = Delivery.fresh(cell(0, a), one.seq(), other.version(), a.keyId(), null);
    assertThat(load(one.seq()).isOf(wrong)).isFalse();
  }

  /** Due now, later or with a priority, and added by the first accept or by a repeat. */
  @Test
  void allDeliveriesOfAMessageHaveItsVersions() {
    NewMessage later = message("later").notBefore(clock.now().plusSeconds(60)).to(a).build();
    for (NewMessage first :
        List.of(message("now").to(a).build(), later, message("place").at(7).to(a).build())) {
      long version = ((AcceptResult.Stored) accept(first)).version();
      accept(first.to(List.of(b)));
      accept(message(first.id()).to(c).build());
      clock.advance(Duration.ofSeconds(60));

      for (HandlerId handler : List.of(a, b, c)) {
        assertThat(ready(handler))
            .as("%s for %s", first.id(), handler.key())
            .extracting(Delivery::version)
            .contains(version);
      }
    }
  }

  @Test
  void anEmptyListIsAnsweredWithAnEmptyList() {
    assertThat(accept(List.of())).isEmpty();
  }

  @Test
  void aMessageThatNobodyHandlesIsKept() {
    long seq = stored(message("m").build());

    assertThat(store.admin().messages()).isEqualTo(1);
    assertThat(load(seq).id()).isEqualTo("m");
    assertThat(known(message("m").build()).seq()).isEqualTo(seq);
  }

  @Test
  void aMessageThatNobodyHandledIsDeliveredOnceSomebodyDoes() {
    long seq = stored(message("m").build());

    assertThat(known(message("m").to(a).build()).added()).containsExactly(a);
    assertThat(fresh(a)).extracting(Delivery::seq).containsExactly(seq);
  }

  @Test
  void b02_aRepeatChangesNothing() {
    long seq = stored(message("m").to(a, b).build());
    List<Delivery> before = concat(fresh(a), fresh(b));

    assertThat(known(message("m").to(a, b).build()))
        .isEqualTo(new AcceptResult.Known(seq, clock.now(), List.of()));
    assertThat(concat(fresh(a), fresh(b))).isEqualTo(before);
    assertThat(store.admin().messages()).isEqualTo(1);
  }

  @Test
  void aRepeatTellsWhenTheFirstWasReceived() {
    var first = clock.now();
    stored(message("m").to(a).build());
    clock.advance(Duration.ofHours(3));

    assertThat(known(message("m").to(a).build()).firstReceived()).isEqualTo(first);
  }

  @Test
  void id18_aRepeatIsKnownInWhateverStateItsDeliveryIs() {
    delivered("pending", a);
    settle(delivered("scheduled", a), failedFor(Duration.ofHours(1)));
    settle(delivered("blocked", a), blocked());
    settle(delivered("released", a), released());
    settle(delivered("poisoned", a), poisoned());
    settle(delivered("completed", a), completed());
    stored(message("not-before").notBefore(clock.now().plusSeconds(60)).to(a).build());
    long open = store.admin().open(a.keyId());

    for (String id :
        List.of(
            "pending", "scheduled", "blocked", "released", "poisoned", "completed", "not-before")) {
      DeliveryState state = view(id, a).state();
      assertThat(known(message(id).to(a).build()).added()).as(id).isEmpty();
      assertThat(view(id, a).state()).as(id).isEqualTo(state);
    }
    assertThat(store.admin().open(a.keyId())).isEqualTo(open);
  }

  @Test
  void b09_aNewlyDeployedHandlerGetsTheMissingDeliveryAndNobodyElse() {
    Delivery done = delivered("m", a);
    settle(done, completed());

    assertThat(known(message("m").to(a, b).build()).added()).containsExactly(b);
    assertThat(ready(a)).isEmpty();
    assertThat(fresh(b))
        .containsExactly(
            new Delivery(cell(0, b), done.seq(), version(b), b.keyId(), 0, 0, 0, null, 0, false));

    assertThat(known(message("m").to(a, b).build()).added()).isEmpty();
  }

  @Test
  void anAddedDeliveryStandsInTheLaneOfItsMessageWithItsOrderingKey() {
    stored(message("m").inLane(3).ordered("k").to(a).build());
    known(message("m").inLane(3).ordered("k").to(a, b).build());

    assertThat(fresh(b))
        .singleElement()
        .satisfies(
            row -> {
              assertThat(row.cell()).isEqualTo(cell(3, b));
              assertThat(row.keyHash()).isEqualTo(MessageBuilder.keyHash("k"));
            });
  }

  @Test
  void b10_aRepeatRunsNeitherTheFinishedNorTheFailedHandlerTwice() {
    long seq = stored(message("m").to(a, b, c).build());
    settle(ready(a, seq), completed());
    settle(ready(b, seq), failed());

    assertThat(known(message("m").to(a, b, c).build()).added()).isEmpty();
    assertThat(ready(a)).isEmpty();
    assertThat(ready(b)).extracting(Delivery::failures).containsExactly(1);
    assertThat(ready(c)).extracting(Delivery::failures).containsExactly(0);
  }

  @Test
  void id13_theHandlersOfAMessageDoNotShareAReceipt() {
    long seq = stored(message("m").to(a, b).build());
    settle(ready(a, seq), completed());

    assertThat(view("m", a).state()).isEqualTo(DeliveryState.COMPLETED);
    assertThat(view("m", b).state()).isEqualTo(DeliveryState.PENDING);
    settle(ready(b, seq), completed());
    assertThat(view("m", b).state()).isEqualTo(DeliveryState.COMPLETED);
  }

  @Test
  void theSameIdentityTwiceInOneListIsStoredOnce() {
    List<AcceptResult> results =
        accept(
            List.of(
                message("m").to(a).build(),
                message("other").to(a).build(),
                message("m").to(a).build()));

    long seq = storedSeq(results.get(0));
    assertThat(asKnown(results.get(2)).seq()).isEqualTo(seq);
    assertThat(asKnown(results.get(2)).added()).isEmpty();
    assertThat(store.admin().messages()).isEqualTo(2);
    assertThat(fresh(a)).hasSize(2);
  }

  @Test
  void aSecondCopyInOneListAddsAHandlerThatTheFirstDidNotName() {
    List<AcceptResult> results =
        accept(List.of(message("m").to(a).build(), message("m").to(a, b).build()));

    storedSeq(results.get(0));
    assertThat(asKnown(results.get(1)).added()).containsExactly(b);
    assertThat(fresh(a)).hasSize(1);
    assertThat(fresh(b)).hasSize(1);
  }

  @Test
  void oneListMayHoldNewKnownAndDifferingMessages() {
    long known = stored(message("known").to(a).build());
    long differs = stored(message("differs").to(a).build());

    List<AcceptResult> results =
        accept(
            List.of(
                message("new-2").to(a).build(),
                message("known").to(a, b).build(),
                message("differs").content("other").to(a, b).build(),
                message("new-1").to(a).build()));

    long second = storedSeq(results.get(0));
    assertThat(results.get(1)).isEqualTo(new AcceptResult.Known(known, clock.now(), List.of(b)));
    assertThat(results.get(2)).isEqualTo(new AcceptResult.Differs(differs));
    assertThat(storedSeq(results.get(3))).isGreaterThan(second);
    assertThat(fresh(b)).extracting(Delivery::seq).containsExactly(known);
  }

  @Test
  void id08_d21_anotherContentUnderAKnownIdentityIsNotDelivered() {
    for (OnConflict policy : List.of(OnConflict.KEEP, OnConflict.REJECT)) {
      String id = "m-" + policy;
      long seq = stored(message(id).onConflict(policy).content("first").to(a).build());

      assertThat(accept(message(id).onConflict(policy).content("second").to(a, b).build()))
          .isEqualTo(new AcceptResult.Differs(seq));
      assertThat(load(seq).content()).asString().isEqualTo("first");
    }
    assertThat(fresh(a)).hasSize(2);
    assertThat(fresh(b)).isEmpty();
    assertThat(store.admin().messages()).isEqualTo(2);
  }

  @Test
  void aConflictMayComeAgainAndAgain() {
    long seq = stored(message("m").content("first").to(a).build());

    for (int i = 0; i < 3; i++) {
      assertThat(accept(message("m").content("second").to(a).build()))
          .isEqualTo(new AcceptResult.Differs(seq));
    }
    assertThat(known(message("m").content("first").to(a).build()).seq()).isEqualTo(seq);
  }

  @Test
  void d22_anotherContentTypeAloneIsAConflict() {
    long seq = stored(message("m").contentType("application/json").to(a).build());

    assertThat(accept(message("m").contentType("text/plain").to(a).build()))
        .isEqualTo(new AcceptResult.Differs(seq));
  }

  @Test
  void otherHeadersAreNoConflict() {
    stored(message("m").headers(new byte[] {1}).to(a).build());

    assertThat(known(message("m").headers(new byte[] {2}).to(a).build()).added()).isEmpty();
  }

  @Test
  void b16_withPolicyRepeatTheIdentityAloneDecides() {
    long seq = stored(message("m").onConflict(OnConflict.REPEAT).content("first").to(a).build());

    AcceptResult.Known known =
        known(message("m").onConflict(OnConflict.REPEAT).content("second").to(a, b).build());

    assertThat(known.seq()).isEqualTo(seq);
    assertThat(known.added()).containsExactly(b);
    assertThat(load(seq).content()).asString().isEqualTo("first");
  }

  @Test
  void aConflictInsideOneListIsAnsweredForTheSecondCopy() {
    List<AcceptResult> results =
        accept(
            List.of(
                message("m").content("first").to(a).build(),
                message("m").content("second").to(a).build()));

    long seq = storedSeq(results.get(0));
    assertThat(results.get(1)).isEqualTo(new AcceptResult.Differs(seq));
    assertThat(load(seq).content()).asString().isEqualTo("first");
    assertThat(fresh(a)).hasSize(1);
  }

  @Test
  void numbersFollowTheListWhateverTheIds() {
    List<NewMessage> batch =
        List.of(
            message("z-first").to(a).build(),
            message("m-second").to(a).build(),
            message("a-third").to(a).build());

    List<Long> seqs = accept(batch).stream().map(StoreFixture::storedSeq).toList();

    assertThat(seqs).isSorted().doesNotHaveDuplicates();
    assertThat(fresh(a)).extracting(Delivery::seq).containsExactlyElementsOf(seqs);
  }

  @Test
  void aMessageAcceptedAfterAnotherHasTheHigherNumber() {
    List<Long> seqs = new ArrayList<>();
    for (String id : List.of("c", "a", "d", "b")) {
      seqs.add(stored(message(id).to(a).build()));
      known(message(id).to(a).build());
    }

    assertThat(seqs).isSorted().doesNotHaveDuplicates();
  }

  @Test
  void b46_aMessageWithATimeInTheFutureWaitsForIt() {
    long seq = stored(message("m").notBefore(clock.now().plusSeconds(30)).to(a).build());

    assertThat(ready(a)).isEmpty();
    assertThat(dueRead(a).untilNext()).contains(Duration.ofSeconds(30));
    assertThat(view("m", a).state()).isEqualTo(DeliveryState.SCHEDULED);

    clock.advance(Duration.ofSeconds(30));
    assertThat(due(a))
        .singleElement()
        .satisfies(
            row -> {
              assertThat(row.seq()).isEqualTo(seq);
              assertThat(row.late()).isTrue();
              assertThat(row.attempt()).isEqualTo(1);
            });
    assertThat(fresh(a)).isEmpty();
  }

  @Test
  void aMessageWithATimeInThePastIsReady() {
    long seq = stored(message("m").notBefore(clock.now().minusSeconds(30)).to(a).build());

    assertThat(ready(a)).extracting(Delivery::seq).containsExactly(seq);
  }

  @Test
  void pg17_aLargeListIsOneAccept() {
    int size = Size.of(2_500, 20_000);
    List<NewMessage> batch =
        IntStream.range(0, size)
            .mapToObj(i -> message("m-" + (size - i)).inLane(i % 4).to(a, b).build())
            .toList();

    List<Long> seqs = accept(batch).stream().map(StoreFixture::storedSeq).toList();

    assertThat(seqs).isSorted().doesNotHaveDuplicates();
    assertThat(store.admin().messages()).isEqualTo(size);
    assertThat(store.admin().open(a.keyId())).isEqualTo(size);
    assertThat(accept(batch)).allSatisfy(result -> assertThat(asKnown(result).added()).isEmpty());
    assertThat(store.admin().open(b.keyId())).isEqualTo(size);
  }
}
