package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.tck.BrokerTransportContract.TornTarget;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.Sent;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** A connection that is lost costs another try, never a message that was confirmed. */
abstract class TornContract extends TransportFixture {

  TornContract(BrokerTransportContract contract) {
    super(contract);
  }

  private void disconnect() {
    ((TornTarget) target).disconnect();
  }

  @Test
  void itGoesOnAfterATornConnection() {
    sendAndConfirm(envelopes("before"));
    disconnect();
    sendUntilConfirmed(envelopes("after"));
    awaitReceived("before", "after");
  }

  @Test
  void whatWasNotAnsweredOverATornConnectionHasFailed() {
    sendAndConfirm(envelopes("before"));
    target.stall();
    CompletableFuture<List<Sent>> sending =
        CompletableFuture.supplyAsync(
            () -> send(transport, envelopes("m-1"), Duration.ofSeconds(5)));
    for (int i = 0; i < 20; i++) {
      SourceFixture.nap();
    }
    disconnect();

    assertThat(sending.join()).hasOnlyElementsOfType(Sent.Failed.class);
    target.resume();
    sendUntilConfirmed(envelopes("m-1"));
    awaitReceived("m-1");
  }

  @Test
  void aConnectionThatIsTornAgainAndAgainLosesNothingThatWasConfirmed() {
    int rounds = Size.of(10, 100);
    List<String> confirmed = new ArrayList<>();
    for (int i = 0; i < rounds; i++) {
      List<Envelope> three = envelopes("a-" + i, "b-" + i, "c-" + i);
      CompletableFuture<Void> tearing = CompletableFuture.runAsync(this::disconnect);
      List<Sent> outcomes = send(transport, three, Duration.ofSeconds(10));
      tearing.join();
      for (int j = 0; j < three.size(); j++) {
        if (outcomes.get(j) instanceof Sent.Confirmed) {
          confirmed.add(three.get(j).id().orElseThrow());
        }
      }
    }
    sendUntilConfirmed(envelopes("last"));
    confirmed.add("last");

    await("all of them", () -> new HashSet<>(ids()).containsAll(confirmed));
  }
}
