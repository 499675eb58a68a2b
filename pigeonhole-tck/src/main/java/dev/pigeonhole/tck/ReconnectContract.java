package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.tck.BrokerSourceContract.TornBroker;
import java.util.HashSet;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** A connection that is lost costs a repeat, never a message. */
abstract class ReconnectContract extends SourceFixture {

  ReconnectContract(BrokerSourceContract contract) {
    super(contract);
  }

  private void disconnect() {
    ((TornBroker) broker).disconnect();
  }

  @Test
  void whatWasHandedOutOverATornConnectionComesAgain() {
    receiver.close();
    start();
    send("m-1");
    await("the source to hand it in", receiver::busy);
    disconnect();
    receiver.open();
    await("it to come again", () -> receiver.offers("m-1") > 1);
    awaitAcknowledged();

    assertThat(receiver.ids()).contains("m-1");
  }

  @Test
  void aFirstDeliveryIsNotCalledRedelivered() {
    start();
    send("m-1");
    awaitTaken("m-1");

    assertThat(receiver.last("m-1").redelivered()).isFalse();
  }

  @Test
  void itGoesOnAfterATornConnection() {
    start();
    send("before");
    awaitTaken("before");
    disconnect();
    send("after");
    awaitTaken("after");
    awaitAcknowledged();
  }

  @Test
  void aConnectionThatIsTornAgainAndAgainLosesNothing() {
    int rounds = Size.of(10, 100);
    start();
    for (int i = 0; i < rounds; i++) {
      receiver.close();
      send("a-" + i);
      // What was torn away in the round before may come first, and alone.
      await("the source to hand something in", receiver::busy);
      send("b-" + i);
      disconnect();
      receiver.open();
    }
    List<String> all =
        IntStream.range(0, rounds)
            .boxed()
            .flatMap(i -> List.of("a-" + i, "b-" + i).stream())
            .toList();
    await("all of them", () -> new HashSet<>(receiver.ids()).containsAll(all));
    awaitAcknowledged();
  }

  @Test
  void twoSourcesOfOneQueueLoseNothing() {
    int many = Size.of(300, 3_000);
    start();
    start();
    send(many);
    await("all of them", () -> receiver.ids().stream().distinct().count() == many);
    awaitAcknowledged();
  }

  @Test
  void manyAreTakenTogether() {
    start();
    int all = 0;
    // A broker may be slow to hand out what it has confirmed; then the next hundred will do.
    while (receiver.largestBatch() <= 10 && all < 20 * 101) {
      receiver.close();
      send(1);
      await("the source to hand it in", receiver::busy);
      send(100);
      receiver.open();
      all += 101;
      int many = all;
      await("all of them", () -> receiver.taken().size() >= many);
    }

    assertThat(receiver.largestBatch()).isGreaterThan(10);
  }

  @Test
  void oneProducersMessagesKeepTheirOrderInOneSource() {
    int many = Size.of(200, 2_000);
    start();
    send(many);
    await("all of them", () -> receiver.taken().size() >= many);

    assertThat(receiver.ids().stream().distinct())
        .containsExactlyElementsOf(IntStream.range(0, many).mapToObj(i -> "m-" + i).toList());
  }
}
