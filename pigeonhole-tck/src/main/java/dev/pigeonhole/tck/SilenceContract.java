package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.InboxException;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.Sent;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** An other side that says nothing has confirmed nothing, and is not waited for without end. */
abstract class SilenceContract extends TransportFixture {

  SilenceContract(TransportContract contract) {
    super(contract);
  }

  @Test
  void withoutAnAnswerInTimeItHasFailed() {
    sendAndConfirm(envelopes("before"));
    target.stall();

    assertThat(send(transport, envelopes("m-1", "m-2"), SHORT))
        .allSatisfy(it -> assertThat(it).isInstanceOf(Sent.Failed.class))
        .allSatisfy(
            it ->
                assertThat(((Sent.Failed) it).cause())
                    .isInstanceOf(InboxException.class)
                    .hasMessageStartingWith("PH-OBX-04"));
  }

  @Test
  void theFirstOfAllMayGetNoAnswerEither() {
    target.stall();

    assertThat(send(transport, envelopes("m-1"), SHORT)).hasOnlyElementsOfType(Sent.Failed.class);
  }

  @Test
  void whatFailedIsConfirmedWhenItIsSentAgain() {
    sendAndConfirm(envelopes("before"));
    target.stall();
    List<Envelope> envelopes = envelopes("m-1", "m-2");
    assertThat(send(transport, envelopes, SHORT)).hasOnlyElementsOfType(Sent.Failed.class);
    target.resume();
    sendUntilConfirmed(envelopes);
    awaitReceived("m-1", "m-2");

    assertThat(ids()).containsOnly("before", "m-1", "m-2");
  }

  @Test
  void aLateAnswerIsNobodyElsesAnswer() {
    sendAndConfirm(envelopes("before"));
    target.stall();
    for (int i = 0; i < 3; i++) {
      assertThat(send(transport, envelopes("late-" + i), SHORT))
          .hasOnlyElementsOfType(Sent.Failed.class);
    }
    target.resume();
    List<Envelope> many = IntStream.range(0, 50).mapToObj(i -> envelope("m-" + i).build()).toList();
    sendUntilConfirmed(many);
    awaitReceived(many.stream().map(each -> each.id().orElseThrow()).toArray(String[]::new));
  }

  @Test
  void oneThatIsInterruptedEnds() throws InterruptedException {
    sendAndConfirm(envelopes("before"));
    target.stall();
    AtomicReference<Object> end = new AtomicReference<>();
    Thread sender =
        new Thread(
            () -> {
              try {
                end.set(transport.send(envelopes("m-1"), PATIENCE.multipliedBy(10)));
              } catch (InterruptedException | RuntimeException e) {
                end.set(e);
              }
            });
    sender.start();
    for (int i = 0; i < 20; i++) {
      SourceFixture.nap(); // so that it usually waits for the other side; before that is as good
    }
    sender.interrupt();
    sender.join(PATIENCE.toMillis());

    assertThat(end.get()).as("how it ended").isNotNull();
    if (end.get() instanceof List<?> outcomes) {
      assertThat(outcomes).hasOnlyElementsOfType(Sent.Failed.class);
    }
    target.resume();
    sendUntilConfirmed(envelopes("after"));
  }
}
