package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Failure;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.Settlement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** How attempts end: which row they hit, and what they leave behind. */
abstract class SettleContract extends StoreFixture {
  private HandlerId a;
  private HandlerId b;

  SettleContract(InboxStoreContract contract) {
    super(contract);
  }

  @BeforeEach
  void registerHandlers() {
    a = handler("a");
    b = handler("b");
  }

  private Map<String, Outcome> outcomes() {
    Map<String, Outcome> outcomes = new LinkedHashMap<>();
    outcomes.put("completed", completed());
    outcomes.put("retry", failed());
    outcomes.put("later", laterUncounted());
    outcomes.put("poisoned", poisoned());
    outcomes.put("uncounted-poison", new Outcome.Poisoned(failure("never"), false));
    outcomes.put("released", released());
    outcomes.put("blocked", blocked());
    return outcomes;
  }

  @Test
  void b60_d125_whoNamesAnAttemptFirstWinsAndEverybodyElseIsRefused() {
    outcomes()
        .forEach(
            (first, outcome) -> {
              Delivery attempt = delivered(first, a);
              settle(attempt, outcome);
              DeliveryView after = view(first, a);

              outcomes().values().forEach(second -> refused(attempt, second));
              assertThat(view(first, a)).as("after %s", first).isEqualTo(after);
            });
  }

  @Test
  void aDeliveryThatNeverWasIsRefused() {
    Delivery real = delivered("m", a);
    Delivery elsewhere =
        new Delivery(cell(3, a), real.seq(), real.version(), a.keyId(), 0, 0, 0, null, 0, false);
    Delivery ofOther =
        new Delivery(cell(0, b), real.seq(), real.version(), b.keyId(), 0, 0, 0, null, 0, false);

    outcomes().values().forEach(outcome -> refused(elsewhere, outcome));
    outcomes().values().forEach(outcome -> refused(ofOther, outcome));
    assertThat(fresh(a)).containsExactly(real);
  }

  /** A database that was restored, or promoted behind the others, gives a number twice. */
  @Test
  void anAttemptOfAForgottenMessageIsRefusedWhereAnotherHasItsNumber() {
    Delivery real = delivered("m", a);
    Delivery forgotten = ofAnotherMessage(real, "other");

    outcomes().values().forEach(outcome -> refused(forgotten, outcome));
    assertThat(store.deliveries().mark(List.of(forgotten), 7, true).gone())
        .containsExactly(forgotten);
    assertThat(fresh(a)).contains(real);
    assertThat(view("m", a).failures()).isZero();
    settle(real, completed());
  }

  @Test
  void aForgottenMessageAndTheOneThatHasItsNumberMayBeSettledTogether() {
    for (Outcome outcome : List.of(completed(), failed())) {
      String id = outcome.getClass().getSimpleName();
      Delivery fresh = delivered(id, a);
      Delivery late = failed(delivered(id + " late", a), a, 1);
      Delivery freshForgotten = ofAnotherMessage(fresh, id + " other");
      Delivery lateForgotten = ofAnotherMessage(late, id + " late other");

      List<Settlement> together = new ArrayList<>();
      for (Delivery each : List.of(freshForgotten, fresh, late, lateForgotten)) {
        together.add(new Settlement(each, outcome));
      }
      assertThat(settleAll(together)).containsExactlyInAnyOrder(freshForgotten, lateForgotten);
    }
  }

  /** The row, as if it were of a message that some other call has stored. */
  private Delivery ofAnotherMessage(Delivery row, String id) {
    long version = delivered(id, a).version();
    return new Delivery(
        row.cell(), row.seq(), version, row.keyId(), 0, 0, 0, row.keyHash(), 0, row.late());
  }

  @Test
  void completionLeavesAReceipt() {
    Delivery delivery = delivered("m", a);
    clock.advance(Duration.ofSeconds(5));
    settle(delivery, completed());

    assertThat(ready(a)).isEmpty();
    assertThat(store.admin().open(a.keyId())).isZero();
    DeliveryView view = view("m", a);
    assertThat(view.state()).isEqualTo(DeliveryState.COMPLETED);
    assertThat(view.ended()).contains(clock.now());
    assertThat(view.receivedAt()).isEqualTo(clock.now().minusSeconds(5));
    assertThat(view.handler()).isEqualTo("a");
    assertThat(view.failures()).isZero();
    assertThat(view.lastFailure()).isEmpty();
  }

  @Test
  void b34_aFailureIsCountedAndDueAfterItsDelay() {
    Delivery delivery = delivered("m", a);
    settle(delivery, failedFor(Duration.ofSeconds(2)));

    assertThat(ready(a)).isEmpty();
    DeliveryView view = view("m", a);
    assertThat(view.state()).isEqualTo(DeliveryState.SCHEDULED);
    assertThat(view.failures()).isEqualTo(1);
    assertThat(view.due()).contains(clock.now().plusSeconds(2));
    assertThat(view.ended()).isEmpty();

    clock.advance(Duration.ofSeconds(2));
    Delivery again = ready(a, delivery.seq());
    assertThat(again.follows(delivery)).isTrue();
    assertThat(again.failures()).isEqualTo(1);
    assertThat(again.attempt()).isEqualTo(2);
    assertThat(again.cell()).isEqualTo(delivery.cell());
    assertThat(again.keyId()).isEqualTo(a.keyId());
  }

  @Test
  void aFailureOfOneHandlerDoesNotTouchItsSibling() {
    long seq = stored(message("m").to(a, b).build());
    Delivery sibling = ready(b, seq);
    settle(ready(a, seq), failed());

    assertThat(fresh(b)).containsExactly(sibling);
    settle(sibling, completed());
    assertThat(view("m", a).failures()).isEqualTo(1);
    assertThat(view("m", b).failures()).isZero();
  }

  @Test
  void b50_twoFailuresThenSuccessLeaveAReceiptThatTellsOfBoth() {
    Delivery third = failed(delivered("m", a), a, 2);
    settle(third, completed());

    DeliveryView view = view("m", a);
    assertThat(view.state()).isEqualTo(DeliveryState.COMPLETED);
    assertThat(view.failures()).isEqualTo(2);
    assertThat(view.lastFailure()).isPresent();
  }

  @Test
  void aReceiptKeepsTheReleasesToo() {
    Delivery delivery = delivered("m", a);
    settle(delivery, released());
    settle(ready(a, delivery.seq()), failed());
    settle(ready(a, delivery.seq()), released());
    settle(ready(a, delivery.seq()), completed());

    DeliveryView view = view("m", a);
    assertThat(view.releases()).isEqualTo(2);
    assertThat(view.failures()).isEqualTo(1);
    assertThat(view.crashes()).isZero();
  }

  @Test
  void aDelayWithoutAFailureCountsNone() {
    Delivery delivery = failed(delivered("m", a), a, 1);
    settle(delivery, new Outcome.LaterUncounted(Duration.ofSeconds(3)));

    assertThat(ready(a)).isEmpty();
    clock.advance(Duration.ofSeconds(3));
    Delivery again = ready(a, delivery.seq());
    assertThat(again.failures()).isEqualTo(1);
    assertThat(again.releases()).isZero();
    assertThat(again.follows(delivery)).isTrue();
  }

  @Test
  void anAttemptThatTheDatabaseHasCutShortIsRecordedAndNotCounted() {
    Delivery delivery = failed(delivered("m", a), a, 1);
    Failure reason = failure("the connection was lost");
    settle(delivery, new Outcome.Uncounted(Duration.ofSeconds(3), reason));

    assertThat(ready(a)).isEmpty();
    assertThat(view("m", a).lastFailure()).contains(reason);
    clock.advance(Duration.ofSeconds(3));
    Delivery again = ready(a, delivery.seq());
    assertThat(again.failures()).isEqualTo(1);
    assertThat(again.releases()).isEqualTo(1);
    assertThat(again.version()).isGreaterThan(delivery.version());
  }

  @Test
  void b48_aCountedPoisoningIsTheLastFailure() {
    Delivery fifth = failed(delivered("m", a), a, 4);
    settle(fifth, poisoned());

    clock.advance(Duration.ofDays(1000));
    assertThat(ready(a)).isEmpty();
    assertThat(store.admin().open(a.keyId())).isZero();
    DeliveryView view = view("m", a);
    assertThat(view.state()).isEqualTo(DeliveryState.POISONED);
    assertThat(view.failures()).isEqualTo(5);
    assertThat(view.due()).isEmpty();
    assertThat(view.ended()).contains(clock.now().minus(Duration.ofDays(1000)));
    assertThat(view.lastFailure()).map(Failure::message).contains("never");
  }

  /** Engines escape NUL; if one does not, its attempt can be settled nevertheless. */
  @Test
  void aFailureWithANulInItsTextsIsSettledAllTheSame() {
    Failure odd =
        new Failure(
            ErrorCode.HANDLER_FAILED, "type\0", "text\0end", "at\0end", "print\0", clock.now());
    settle(delivered("retried", a), new Outcome.RetryAfter(Duration.ZERO, odd));
    settle(delivered("poisoned", a), new Outcome.Poisoned(odd, true));
    settle(delivered("uncounted", a), new Outcome.Uncounted(Duration.ofDays(1), odd));

    for (String id : List.of("retried", "poisoned", "uncounted")) {
      Failure kept = view(id, a).lastFailure().orElseThrow();
      assertThat(kept.type()).as(id).startsWith("type");
      assertThat(kept.message()).as(id).startsWith("text").endsWith("end");
      assertThat(kept.stack()).as(id).startsWith("at").endsWith("end");
    }
    assertThat(view("poisoned", a).state()).isEqualTo(DeliveryState.POISONED);
  }

  @Test
  void anUncountedPoisoningLeavesTheFailuresAsTheyWere() {
    Delivery delivery = failed(delivered("m", a), a, 1);
    Failure reason = failure("nobody can read this");
    settle(delivery, new Outcome.Poisoned(reason, false));

    DeliveryView view = view("m", a);
    assertThat(view.failures()).isEqualTo(1);
    assertThat(view.lastFailure()).contains(reason);
  }

  @Test
  void b54_clm10_aReleaseIsOpenAgainAtOnceAndCountsNoFailure() {
    Delivery delivery = delivered("m", a);
    settle(delivery, released());

    Delivery again = ready(a, delivery.seq());
    assertThat(again.failures()).isZero();
    assertThat(again.releases()).isEqualTo(1);
    assertThat(again.follows(delivery)).isTrue();
    assertThat(again.attempt()).isEqualTo(1);
  }

  @Test
  void aBlockedDeliveryWaitsOpenWithoutATime() {
    Delivery delivery = failed(delivered("m", a), a, 1);
    settle(delivery, blocked());

    assertThat(ready(a)).isEmpty();
    assertThat(store.admin().open(a.keyId())).isEqualTo(1);
    DeliveryView view = view("m", a);
    assertThat(view.state()).isEqualTo(DeliveryState.BLOCKED);
    assertThat(view.due()).isEmpty();
    assertThat(view.failures()).isEqualTo(1);
  }

  @Test
  void b60_aZombieCannotTouchARetriedDelivery() {
    Delivery zombie = failed(delivered("m", a), a, 4);
    settle(zombie, poisoned());
    assertThat(store.admin().retry(SOURCE, "m", a.family(), "ada", "fixed")).isTrue();
    Delivery fresh = ready(a, zombie.seq());

    outcomes().values().forEach(outcome -> refused(zombie, outcome));
    assertThat(ready(a)).containsExactly(fresh);
    assertThat(fresh.failures()).isZero();
    settle(fresh, completed());
  }

  @Test
  void b56_oneListMaySettleManyAndRefuseSome() {
    List<Settlement> settlements = new ArrayList<>();
    outcomes().forEach((id, outcome) -> settlements.add(new Settlement(delivered(id, a), outcome)));
    Delivery gone = delivered("gone", a);
    settle(gone, completed());
    Delivery late = failed(delivered("late", a), a, 1);
    Delivery elsewhere = ready(b, stored(message("elsewhere").inLane(2).to(b).build()));

    settlements.add(3, new Settlement(gone, failed()));
    settlements.add(new Settlement(late, completed()));
    settlements.add(new Settlement(elsewhere, poisoned()));

    assertThat(settleAll(settlements)).containsExactly(gone);
    assertThat(view("completed", a).state()).isEqualTo(DeliveryState.COMPLETED);
    assertThat(view("retry", a).failures()).isEqualTo(1);
    assertThat(view("later", a).failures()).isZero();
    assertThat(view("poisoned", a).state()).isEqualTo(DeliveryState.POISONED);
    assertThat(view("uncounted-poison", a).failures()).isZero();
    assertThat(view("released", a).releases()).isEqualTo(1);
    assertThat(view("blocked", a).state()).isEqualTo(DeliveryState.BLOCKED);
    assertThat(view("gone", a).state()).isEqualTo(DeliveryState.COMPLETED);
    assertThat(view("late", a).state()).isEqualTo(DeliveryState.COMPLETED);
    assertThat(view("elsewhere", b).state()).isEqualTo(DeliveryState.POISONED);
  }

  @Test
  void anEmptyListSettlesNothing() {
    assertThat(settleAll(List.of())).isEmpty();
  }

  @Test
  void aLargeListIsSettledAtOnce() {
    int size = Size.of(1_000, 5_000);
    List<NewMessage> batch = new ArrayList<>();
    for (int i = 0; i < size; i++) {
      batch.add(message("m-" + i).inLane(i % 4).to(a, b).build());
    }
    accept(batch);
    List<Settlement> settlements = new ArrayList<>();
    fresh(a).forEach(row -> settlements.add(new Settlement(row, completed())));
    fresh(b).forEach(row -> settlements.add(new Settlement(row, failed())));

    assertThat(settlements).hasSize(2 * size);
    assertThat(settleAll(settlements)).isEmpty();
    assertThat(settleAll(settlements)).hasSize(2 * size);
    assertThat(store.admin().open(a.keyId())).isZero();
    assertThat(due(b)).hasSize(size);
  }

  @Test
  void theNewestFailureIsTheOneThatIsTold() {
    Delivery delivery = delivered("m", a);
    Delivery other = delivered("other", a);
    for (int i = 1; i <= 12; i++) {
      clock.advance(Duration.ofSeconds(1));
      Failure failure = failure("failure " + i);
      settle(delivery, new Outcome.RetryAfter(Duration.ZERO, failure));
      delivery = ready(a, delivery.seq());

      assertThat(store.deliveries().lastFailures(List.of(delivery, other)))
          .containsOnlyKeys(delivery)
          .containsEntry(delivery, failure);
    }
    assertThat(view("m", a).lastFailure()).map(Failure::message).contains("failure 12");
    assertThat(view("m", a).failures()).isEqualTo(12);
  }

  @Test
  void theNewestFailureAfterARetryIsStillTheNewest() {
    Delivery delivery = failed(delivered("m", a), a, 3);
    settle(delivery, poisoned());
    store.admin().retry(SOURCE, "m", a.family(), "ada", "fixed");
    Delivery second = ready(a, delivery.seq());
    assertThat(store.deliveries().lastFailures(List.of(second)).get(second))
        .isEqualTo(failure("never"));

    clock.advance(Duration.ofSeconds(1));
    Failure again = failure("again");
    settle(second, new Outcome.RetryAfter(Duration.ZERO, again));

    Delivery third = ready(a, delivery.seq());
    assertThat(store.deliveries().lastFailures(List.of(third))).containsEntry(third, again);
  }

  @Test
  void nobodyIsAskedNobodyHasFailed() {
    assertThat(store.deliveries().lastFailures(List.of())).isEmpty();
    assertThat(store.deliveries().lastFailures(List.of(delivered("m", a)))).isEmpty();
  }

  @Test
  void pg13_oddErrorTextsAreSavedAsTheyAre() {
    List<String> texts =
        List.of(
            "",
            " ",
            "it's \"quoted\" \\ `so` \\u0000 %s ${x} {0} ?",
            "U+FFFD \uFFFD, U+FFFF \uFFFF, BOM \uFEFF",
            "\uD83D\uDE00".repeat(1000),
            "\u20AC".repeat(2000),
            "x".repeat(2000),
            "line\nbreak\r\n\ttab",
            "'; DROP TABLE delivery;--");
    Delivery delivery = delivered("m", a);
    for (String text : texts) {
      Failure failure =
          new Failure(
              ErrorCode.HANDLER_TIMED_OUT,
              "shop.Odd$1",
              text,
              "at shop.Odd\n".repeat(1000).substring(0, 8192),
              "0123456789abcdef",
              clock.now());
      settle(delivery, new Outcome.RetryAfter(Duration.ZERO, failure));
      delivery = ready(a, delivery.seq());

      assertThat(store.deliveries().lastFailures(List.of(delivery)).get(delivery))
          .isEqualTo(failure);
    }
    Failure last = failure("\uD83D\uDE00'\"\\".repeat(400));
    settle(delivery, new Outcome.Poisoned(last, true));
    assertThat(view("m", a).lastFailure()).contains(last);
  }
}
