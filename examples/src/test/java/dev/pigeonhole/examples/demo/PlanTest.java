package dev.pigeonhole.examples.demo;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PlanTest {

  private static Plan plan(String... args) throws Exception {
    return new Plan(Options.parse(args));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 999, 10_000})
  void everyOrderIsSentAndTheAskedPartTwice(int messages) throws Exception {
    Plan plan = plan("--messages", "" + messages, "--repeats", "20");
    Map<Integer, Integer> sends = new HashMap<>();
    plan.streams(4).forEach(s -> Arrays.stream(s).forEach(n -> sends.merge(n, 1, Integer::sum)));
    assertThat(sends).hasSize(messages);
    assertThat(sends.values()).allMatch(times -> times <= 2);
    assertThat(sends.values().stream().filter(times -> times == 2)).hasSize(messages / 5);
    assertThat(plan.sends()).isEqualTo(messages + messages / 5);
  }

  @Test
  void aCustomerStandsInOneStreamInTheOrderOfItsNumbers() throws Exception {
    Plan plan = plan("--messages", "5000");
    Map<Integer, Integer> streamOfCustomer = new HashMap<>();
    List<int[]> streams = plan.streams(4);
    for (int i = 0; i < streams.size(); i++) {
      Map<Integer, Integer> newest = new HashMap<>();
      for (int number : streams.get(i)) {
        int customer = plan.customer(number);
        assertThat(streamOfCustomer.computeIfAbsent(customer, c -> -1)).isIn(-1, i);
        streamOfCustomer.put(customer, i);
        // A second sending is behind the first, so it is no news.
        newest.merge(customer, number, Math::max);
        assertThat(newest.get(customer)).isGreaterThanOrEqualTo(number);
      }
    }
  }

  @Test
  void exactlyOneOrderIsPoisonousAndAboutTheAskedPartIsFlaky() throws Exception {
    Plan plan = plan("--messages", "10000", "--fail", "5");
    assertThat(IntStream.range(0, 10_000).filter(plan::isPoisonous)).hasSize(1);
    assertThat(IntStream.range(0, 10_000).map(plan::failures)).allMatch(n -> n >= 0 && n <= 2);
    assertThat(IntStream.range(0, 10_000).filter(n -> plan.failures(n) > 0).count())
        .isBetween(400L, 600L);
  }

  @Test
  void theSameSeedAsksTheSameAndAnotherOneDoesNot() throws Exception {
    assertThat(plan("--seed", "5").streams(1).get(0))
        .isEqualTo(plan("--seed", "5").streams(1).get(0))
        .isNotEqualTo(plan("--seed", "6").streams(1).get(0));
  }

  @Test
  void killsAreSpreadOverTheSends() throws Exception {
    assertThat(plan("--kill", "5").killsAfter()).hasSize(5).isSorted();
    assertThat(plan("--messages", "1", "--kill", "3").killsAfter()).containsExactly(0, 0, 0);
  }

  @Test
  void relaysAndWhatABrokerFeedsAreKilledBeforeTheLastMessages() throws Exception {
    Plan plan = plan("--messages", "500", "--transport", "kafka", "--kill", "20");
    assertThat(plan.relayKillsAfter()).hasSize(5).isSorted();
    assertThat(IntStream.of(plan.relayKillsAfter())).allMatch(n -> n >= 10 && n < 450);
    assertThat(plan.killsAfterArrivals()).hasSize(20).isSorted();
    assertThat(IntStream.of(plan.killsAfterArrivals())).allMatch(n -> n >= 10 && n < 450);
    assertThat(plan("--messages", "1", "--transport", "kafka").relayKillsAfter())
        .containsExactly(0);
  }
}
