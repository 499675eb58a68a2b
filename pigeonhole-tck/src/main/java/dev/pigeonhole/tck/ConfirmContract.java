package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.Sent;
import dev.pigeonhole.transport.Transport;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Nothing is called sent that nobody has, and nothing that nobody takes is called failed. */
abstract class ConfirmContract extends TransportFixture {

  ConfirmContract(TransportContract contract) {
    super(contract);
  }

  @Test
  void whatIsConfirmedIsThere() {
    sendAndConfirm(envelopes("m-1", "m-2", "m-3"));
    awaitReceived("m-1", "m-2", "m-3");
  }

  @Test
  void nothingToSendIsNothingToAnswer() {
    assertThat(send(List.of())).isEmpty();
  }

  @Test
  void manyAreConfirmedEachOfThem() {
    int many = Size.of(300, 3_000);
    sendAndConfirm(IntStream.range(0, many).mapToObj(i -> envelope("m-" + i).build()).toList());
    await("all of them", () -> target.received().size() >= many);

    assertThat(ids()).doesNotHaveDuplicates().hasSize(many);
  }

  @Test
  void whatNobodyTakesIsUnroutableAndSaysWhereItShouldHaveGone() {
    Transport nowhere = use(target.toNowhere());
    List<Sent> outcomes = send(nowhere, envelopes("m-1", "m-2"));

    assertThat(outcomes).hasOnlyElementsOfType(Sent.Unroutable.class);
    assertThat(((Sent.Unroutable) outcomes.get(0)).reason()).contains(nowhere.destination());
    assertThat(ids()).isEmpty();
  }

  @Test
  void whatIsUnroutableStaysSoAndHoldsNobodyUp() {
    Transport nowhere = use(target.toNowhere());
    for (int i = 0; i < 3; i++) {
      assertThat(send(nowhere, envelopes("lost"))).hasOnlyElementsOfType(Sent.Unroutable.class);
      sendAndConfirm(envelopes("m-" + i));
    }
    awaitReceived("m-0", "m-1", "m-2");
  }

  @Test
  void severalThreadsGetTheirOwnAnswers() {
    int threads = 4;
    int rounds = Size.of(10, 100);
    List<CompletableFuture<Void>> all = new ArrayList<>();
    for (int t = 0; t < threads; t++) {
      String own = "t" + t + "-";
      all.add(CompletableFuture.runAsync(() -> sendInRounds(own, rounds)));
    }
    all.forEach(CompletableFuture::join);
    await("all of them", () -> target.received().size() >= threads * rounds * 3);

    assertThat(ids()).doesNotHaveDuplicates().hasSize(threads * rounds * 3);
  }

  private void sendInRounds(String own, int rounds) {
    for (int i = 0; i < rounds; i++) {
      List<Envelope> three = new ArrayList<>();
      for (int j = 0; j < 3; j++) {
        three.add(envelope(own + i + "-" + j).key(own).build());
      }
      sendAndConfirm(three);
    }
  }

  @Test
  void twoTransportsOfOneDestinationDoNotDisturbEachOther() {
    Transport other = use(target.transport());
    sendAndConfirm(envelopes("m-1"));
    assertThat(send(other, envelopes("m-2"))).hasOnlyElementsOfType(Sent.Confirmed.class);
    other.close();
    sendAndConfirm(envelopes("m-3"));
    awaitReceived("m-1", "m-2", "m-3");
  }

  @Test
  void aClosedOneOpensAgain() {
    transport.close();
    sendAndConfirm(envelopes("m-1"));
    transport.close();
    transport.close();
    sendAndConfirm(envelopes("m-2"));
    awaitReceived("m-1", "m-2");
  }
}
