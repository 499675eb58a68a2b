package dev.pigeonhole.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;

class RatiosTest {

  @Test
  void ratioIsTheMedianOfTheRatiosOfTheRounds() throws Exception {
    // A machine that slowed down by half: no round says 1.
    Results results =
        new Samples()
            .rates("end-to-end", "pigeonhole", 40, 20, 20)
            .rates("end-to-end", "floor", 50, 50, 25)
            .results();
    assertThat(new Ratios(results).all().get("endToEndVsFloor").getAsDouble())
        .isEqualTo(0.8, within(1e-9));
  }

  @Test
  void onlyRoundsThatBothHaveAreCompared() throws Exception {
    Results results =
        new Samples()
            .rates("end-to-end", "pigeonhole", 100, 120, 900)
            .rates("end-to-end", "db-scheduler", 10, 10)
            .results();
    assertThat(new Ratios(results).all().get("endToEndVsDbScheduler"))
        .isEqualTo(OptionalDouble.of(11));
  }

  @Test
  void bestOtherIsTheFastestLibraryButDbScheduler() throws Exception {
    Results results =
        new Samples()
            .rates("end-to-end", "pigeonhole", 100)
            .rates("end-to-end", "floor", 120)
            .rates("end-to-end", "db-scheduler", 50)
            .rates("end-to-end", "seed-article", 40)
            .rates("end-to-end", "spring-integration", 5)
            .rates("end-to-end", "transaction-outbox", 10)
            .results();
    Ratios ratios = new Ratios(results);
    assertThat(ratios.bestOther()).isEqualTo(Optional.of("transaction-outbox"));
    assertThat(ratios.all().get("endToEndVsBestOther")).isEqualTo(OptionalDouble.of(10));
  }

  @Test
  void whatWasNotMeasuredHasNoRatio() throws Exception {
    Results results = new Samples().missing("floor", "end-to-end", "it fell over").results();
    assertThat(new Ratios(results).all())
        .containsOnlyKeys(
            "endToEndVsFloor",
            "acceptVsFloor",
            "endToEndVsDbScheduler",
            "endToEndVsBestOther",
            "groupedAcceptVsPerCommit",
            "guardVsEventuate",
            "sharedCommitVsGuard",
            "grown",
            "heldSnapshot",
            "notDue",
            "rabbitVsRaw",
            "kafkaVsRaw")
        .allSatisfy((name, value) -> assertThat(value).isEmpty());
  }

  @Test
  void targetsAreMetOrMissedOrNotMeasured() throws Exception {
    Results results =
        new Samples()
            .rates("accept-batch", "pigeonhole", 80)
            .rates("accept-batch", "floor", 100)
            .rates("grown", "pigeonhole", 84)
            .rates("grown-empty", "pigeonhole", 100)
            .latency("latency", 500, 1, 2, 30, 60)
            .rates("rabbitmq", "pigeonhole", 70)
            .rates("rabbitmq", "floor", 100)
            .results();
    assertThat(met(results, "batched accept")).isTrue();
    assertThat(met(results, "RabbitMQ to handler")).isTrue();
    assertThat(met(results, "Kafka to handler")).isNull();
    assertThat(met(results, "5,000,000 finished")).isFalse();
    assertThat(met(results, "accept to handler at 500 msg/s, p50")).isTrue();
    assertThat(met(results, "accept to handler at 500 msg/s, p99")).isFalse();
    assertThat(met(results, "inline guard")).isNull();
  }

  private static Boolean met(Results results, String name) {
    return Target.of(results).stream()
        .filter(it -> it.name().startsWith(name))
        .findFirst()
        .orElseThrow()
        .met();
  }

  @Test
  void medianOfAnEvenNumberLiesBetween() {
    assertThat(Numbers.median(List.of(4.0, 1.0, 3.0, 2.0))).isEqualTo(OptionalDouble.of(2.5));
    assertThat(Numbers.median(List.of(9.0, 1.0, 3.0))).isEqualTo(OptionalDouble.of(3));
    assertThat(Numbers.median(List.of())).isEmpty();
  }
}
