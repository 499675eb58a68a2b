package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.transport.Disposition;
import org.junit.jupiter.api.Test;

/** Nothing is acknowledged before it is taken, and nothing that was not taken is lost. */
abstract class AcknowledgeContract extends SourceFixture {

  AcknowledgeContract(SourceContract contract) {
    super(contract);
  }

  @Test
  void nothingIsAcknowledgedBeforeItIsTaken() {
    receiver.close();
    start();
    send("m-1");
    await("the source to hand it in", receiver::busy);
    assertThat(broker.unacknowledged()).isEqualTo(1);

    receiver.open();
    awaitTaken("m-1");
    awaitAcknowledged();
    assertThat(receiver.ids()).containsExactly("m-1");
  }

  @Test
  void whatTheStoreCouldNotTakeComesAgainUntilItCan() {
    receiver.failTimes(3);
    start();
    send("m-1", "m-2");
    awaitTaken("m-1", "m-2");
    awaitAcknowledged();

    assertThat(receiver.failuresLeft()).isZero();
    assertThat(broker.aside()).isEmpty();
  }

  @Test
  void whatIsForLaterComesAgainAndTheOthersGoOn() {
    receiver.answer(
        "slow",
        offer ->
            offer < 4
                ? new Disposition.Later(ErrorCode.HANDLER_FAILED, "PH-HND-01: not yet")
                : new Disposition.Done());
    start();
    send("slow", "m-1", "m-2");
    awaitTaken("m-1", "m-2", "slow");
    awaitAcknowledged();

    assertThat(receiver.offers("slow")).isEqualTo(4);
    assertThat(broker.aside()).isEmpty();
  }

  @Test
  void whatIsForLaterIsNotAcknowledgedMeanwhile() {
    receiver.answer("slow", offer -> new Disposition.Later(ErrorCode.HANDLER_FAILED, "not yet"));
    start();
    send("slow", "m-1");
    awaitTaken("m-1");
    await("it to come again", () -> receiver.offers("slow") > 1);
    await("the other to be acknowledged", () -> broker.unacknowledged() == 1);
    int offers = receiver.offers("slow");
    await("it to come once more", () -> receiver.offers("slow") > offers);

    assertThat(broker.unacknowledged()).isEqualTo(1);
    assertThat(broker.aside()).isEmpty();
  }

  @Test
  void whatIsRefusedIsPutAsideWithItsReasonAndNeverOfferedAgain() {
    receiver.refuse("bad");
    start();
    send("m-1", "bad", "m-2");
    awaitTaken("m-1", "m-2");
    awaitAcknowledged();

    assertThat(receiver.offers("bad")).isEqualTo(1);
    assertThat(broker.aside())
        .singleElement()
        .satisfies(
            it -> {
              assertThat(it.id()).isEqualTo("bad");
              assertThat(it.reason()).startsWith("PH-ID-03");
            });
  }

  @Test
  void manyThatAreRefusedDoNotHoldUpTheRest() {
    int many = Size.of(60, 600);
    for (int i = 0; i < many; i++) {
      if (i % 3 == 0) {
        receiver.refuse("m-" + i);
      }
    }
    start();
    send(many);
    await("the rest to be taken", () -> receiver.taken().size() == many - many / 3);
    awaitAcknowledged();

    assertThat(broker.aside()).hasSize(many / 3);
  }
}
