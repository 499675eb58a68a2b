package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Failure;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.MarkResult;
import dev.pigeonhole.store.Outcome;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Marks: who was about to run a delivery, and whether it ran alone. */
abstract class MarkContract extends StoreFixture {
  private HandlerId a;
  private long node;

  MarkContract(InboxStoreContract contract) {
    super(contract);
  }

  @BeforeEach
  void joinANode() {
    a = handler("a");
    node = store.nodes().join("node", Set.of(a.family()));
  }

  @Test
  void aMarkNamesTheIncarnationAndTouchesNothingElse() {
    Delivery delivery = failed(delivered("m", a), a, 1);

    assertThat(mark(delivery, false).complete()).isTrue();

    Delivery marked = ready(a, delivery.seq());
    assertThat(marked.mark()).isEqualTo(node);
    assertThat(marked.version()).isEqualTo(delivery.version());
    assertThat(marked.failures()).isEqualTo(1);
    assertThat(marked.crashes()).isZero();
    assertThat(marked.releases()).isZero();
    assertThat(marked.late()).isEqualTo(delivery.late());
  }

  @Test
  void aFreshRowStaysFreshWhenItIsMarked() {
    Delivery delivery = delivered("m", a);
    mark(delivery, false);

    assertThat(fresh(a)).extracting(Delivery::mark).containsExactly(node);
    assertThat(due(a)).isEmpty();
  }

  @Test
  void anAttemptThatWasReadBeforeItsMarkCanBeSettled() {
    Delivery delivery = delivered("m", a);
    mark(delivery, false);
    settle(delivery, completed());

    assertThat(view("m", a).crashes()).isZero();
  }

  @Test
  void aLoneMarkCountsOneCrashAsLongAsItIsNotSettled() {
    Delivery delivery = delivered("m", a);
    mark(delivery, true);

    Delivery found = ready(a, delivery.seq());
    assertThat(found.crashes()).isEqualTo(1);
    assertThat(found.mark()).isEqualTo(node);
    assertThat(found.version()).isEqualTo(delivery.version());
    assertThat(found.attempt()).isEqualTo(2);
  }

  @Test
  void aLoneRunThatComesBackIsNoCrash() {
    Delivery delivery = delivered("m", a);
    mark(delivery, true);
    settle(delivery, completed());

    assertThat(view("m", a).crashes()).isZero();
  }

  @Test
  void b57_aReceiptTellsOfTheLoneRunsThatNeverCameBack() {
    mark(delivered("m", a), true);
    Delivery second = ready(a).get(0);
    mark(second, true);
    Delivery third = ready(a).get(0);
    assertThat(third.crashes()).isEqualTo(2);
    mark(third, true);
    settle(third, completed());

    assertThat(view("m", a).crashes()).isEqualTo(2);
    assertThat(view("m", a).state()).isEqualTo(DeliveryState.COMPLETED);
  }

  @Test
  void b57_aDeliveryPoisonedForItsCrashesTellsHowManyItWere() {
    delivered("m", a);
    for (int i = 0; i < 3; i++) {
      mark(ready(a).get(0), true);
    }
    Failure crashed =
        new Failure(ErrorCode.HANDLER_CRASHED, "", "took its process along", "", "", clock.now());
    settle(ready(a).get(0), new Outcome.Poisoned(crashed, false));

    assertThat(view("m", a).crashes()).isEqualTo(3);
    assertThat(view("m", a).failures()).isZero();
    assertThat(view("m", a).lastFailure()).map(Failure::code).contains(ErrorCode.HANDLER_CRASHED);
  }

  @Test
  void anOrdinaryFailureClearsMarksAndCrashes() {
    mark(delivered("m", a), true);
    Delivery second = ready(a).get(0);
    mark(second, true);
    settle(second, failed());

    Delivery third = ready(a).get(0);
    assertThat(third.crashes()).isZero();
    assertThat(third.mark()).isZero();
    assertThat(third.failures()).isEqualTo(1);
  }

  @Test
  void whateverComesBackClearsItsMarkAndUndoesItsLoneRun() {
    for (Outcome outcome : List.of(laterUncounted(), released())) {
      mark(delivered("m-" + outcome, a), true);
      Delivery second = ready(a).get(0);
      mark(second, true);
      settle(second, outcome);

      Delivery third = ready(a).get(0);
      assertThat(third.mark()).as("mark after %s", outcome).isZero();
      assertThat(third.crashes()).as("crashes after %s", outcome).isEqualTo(1);
      settle(third, completed());
    }
  }

  @Test
  void lateRowsCanBeMarkedAndKeepTheirTime() {
    Delivery delivery = delivered("m", a);
    settle(delivery, failedFor(Duration.ofSeconds(5)));
    clock.advance(Duration.ofSeconds(5));
    Delivery late = due(a).get(0);

    assertThat(mark(late, true).complete()).isTrue();
    assertThat(due(a)).extracting(Delivery::mark).containsExactly(node);
    settle(late, completed());
  }

  @Test
  void whatNoLongerStandsAtItsVersionIsAnswered() {
    Delivery completed = delivered("completed", a);
    settle(completed, completed());
    Delivery old = delivered("old", a);
    settle(old, failed());
    Delivery current = delivered("current", a);

    MarkResult result = store.deliveries().mark(List.of(completed, old, current), node, true);

    assertThat(result).isEqualTo(new MarkResult(Set.of(completed, old), Set.of()));
    assertThat(ready(a, old.seq()).mark()).isZero();
    assertThat(ready(a, old.seq()).crashes()).isZero();
    assertThat(ready(a, current.seq()).mark()).isEqualTo(node);
  }

  @Test
  void aNewIncarnationMayMarkWhatAnOldOneLeft() {
    mark(delivered("m", a), false);
    long next = store.nodes().join("node", Set.of(a.family()));
    Delivery suspect = ready(a).get(0);
    assertThat(suspect.mark()).isEqualTo(node);

    store.deliveries().mark(List.of(suspect), next, true);

    assertThat(ready(a).get(0).mark()).isEqualTo(next);
    assertThat(ready(a).get(0).crashes()).isEqualTo(1);
  }

  @Test
  void markingNothingAnswersNothing() {
    assertThat(store.deliveries().mark(List.of(), node, false).complete()).isTrue();
  }

  private MarkResult mark(Delivery delivery, boolean lone) {
    return store.deliveries().mark(List.of(delivery), node, lone);
  }
}
