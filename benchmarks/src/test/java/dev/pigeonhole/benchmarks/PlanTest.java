package dev.pigeonhole.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.benchmarks.Heat.Turn;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PlanTest {

  private static Plan plan(String... args) throws UsageException {
    return Plan.of(Options.parse(args));
  }

  private static Entry entry(Plan plan, String row, String subject) {
    return plan.entries()
        .filter(it -> it.row().equals(row) && it.subject().equals(subject))
        .findFirst()
        .orElseThrow();
  }

  @ParameterizedTest
  @CsvSource({"--quick, 12", "--json, 75"})
  void everyScenarioHasItsPlaceAndTheWholeIsExpectedToFit(String option, int minutes)
      throws Exception {
    Plan plan = plan(option);
    assertThat(plan.entries().map(Entry::scenario).distinct().toList())
        .containsExactlyInAnyOrderElementsOf(
            Plan.SCENARIOS.stream().filter(it -> !Plan.FROM_BROKERS.contains(it)).toList());
    assertThat(plan.seconds()).isLessThan(60 * minutes);
  }

  @Test
  void quickHasThreeRoundsOfFloorAndOursAndTwoOfPeers() throws Exception {
    Plan plan = plan("--quick");
    assertThat(entry(plan, "end-to-end", "floor").rounds()).isEqualTo(3);
    assertThat(entry(plan, "end-to-end", "pigeonhole").rounds()).isEqualTo(3);
    assertThat(entry(plan, "end-to-end", "db-scheduler").rounds()).isEqualTo(2);
    assertThat(entry(plan, "guard", "eventuate").rounds()).isEqualTo(2);
    assertThat(plan.grownRows()).isEqualTo(1_000_000);
    assertThat(plan.heldSnapshotSeconds()).isEqualTo(45);
    Entry backlog = entry(plan, "backlog", "pigeonhole");
    assertThat(backlog.messages()).isEqualTo(100_000);
    assertThat(backlog.heapMegabytes()).isEqualTo(64);
  }

  @Test
  void wholeRunIsLarger() throws Exception {
    Plan plan = plan();
    assertThat(entry(plan, "end-to-end", "dbos").rounds()).isEqualTo(3);
    assertThat(plan.grownRows()).isEqualTo(5_000_000);
    assertThat(plan.heldSnapshotSeconds()).isEqualTo(300);
    Entry backlog = entry(plan, "backlog", "pigeonhole");
    assertThat(backlog.messages()).isEqualTo(1_000_000);
    assertThat(backlog.heapMegabytes()).isEqualTo(256);
  }

  /** A ratio of numbers that were taken minutes apart would measure the machine. */
  @ParameterizedTest
  @CsvSource({
    "end-to-end, pigeonhole, end-to-end, floor",
    "end-to-end, pigeonhole, end-to-end, db-scheduler",
    "accept-batch, pigeonhole, accept-batch, floor",
    "accept-single-64, pigeonhole, accept-single-64, floor",
    "guard, pigeonhole, guard, eventuate",
    "transactional-50, pigeonhole, guard, pigeonhole",
    "transactional-50-hot, pigeonhole, transactional-1-hot, pigeonhole",
    "grown, pigeonhole, grown-empty, pigeonhole",
    "held-snapshot, pigeonhole, held-snapshot-off, pigeonhole",
    "not-due, pigeonhole, not-due-empty, pigeonhole",
    "prune, pigeonhole, prune-nothing, pigeonhole"
  })
  void bothSidesOfARatioTakeTurns(String row, String subject, String otherRow, String other)
      throws Exception {
    Plan plan = plan("--quick");
    assertThat(plan.heats())
        .anySatisfy(
            heat ->
                assertThat(heat.entries())
                    .contains(entry(plan, row, subject), entry(plan, otherRow, other)));
  }

  @Test
  void whatComesFromABrokerIsMeasuredBesideItsClientIfSomebodyAsks() throws Exception {
    for (String scenario : Plan.FROM_BROKERS) {
      Plan plan = plan("--scenario", scenario);
      assertThat(plan.heats())
          .singleElement()
          .satisfies(
              heat ->
                  assertThat(heat.entries())
                      .containsExactly(
                          entry(plan, scenario, "floor"), entry(plan, scenario, "pigeonhole")));
    }
  }

  @Test
  void everybodysFirstRoundComesBeforeAnybodysSecond() {
    Entry a = Entry.of("guard", "floor", 100, 100).rounds(3);
    Entry b = Entry.of("guard", "eventuate", 100, 100).rounds(2);
    assertThat(new Heat(List.of(a, b), 0).turns())
        .containsExactly(
            new Turn(a, 1), new Turn(b, 1), new Turn(b, 2), new Turn(a, 2), new Turn(a, 3));
  }

  @Test
  void aSlowOneIsWarmedInAsManyRunsAsAFastOne() {
    assertThat(Entry.of("end-to-end", "jobrunr", 12_000, 1_000).brief().messages())
        .isEqualTo(2_000);
    assertThat(Entry.of("end-to-end", "floor", 300_000, 40_000).brief().messages())
        .isEqualTo(80_000);
    assertThat(Entry.of("end-to-end", "floor", 300, 40_000).brief().messages()).isEqualTo(300);
    Entry timed = Entry.of("latency", "pigeonhole", 0, 100).lasting(3);
    assertThat(timed.brief()).isEqualTo(timed);
  }

  @Test
  void messagesAndRoundsHoldForEverybodyButTimeStaysTime() throws Exception {
    Plan plan = plan("--quick", "--messages", "500", "--rounds", "1");
    assertThat(plan.entries())
        .allSatisfy(entry -> assertThat(entry.rounds()).isEqualTo(1))
        .filteredOn(entry -> !entry.timed())
        .allSatisfy(entry -> assertThat(entry.messages()).isEqualTo(500));
    assertThat(entry(plan, "latency", "pigeonhole").messages()).isEqualTo(3 * 500);
  }

  @Test
  void onlyWhatWasAskedForIsPlanned() throws Exception {
    Plan plan = plan("--scenario", "guard", "--peers", "camel,jobrunr");
    assertThat(plan.entries().map(Entry::subject)).containsExactly("floor", "pigeonhole", "camel");
    assertThat(plan("--scenario", "grown", "--growth-rows", "77").entries().map(Entry::options))
        .last()
        .isEqualTo(Map.of("rows", 77));
  }

  @Test
  void onOtherStoresOursRunsAlone() throws Exception {
    Set<String> onH2 = scenarios(plan("--store", "h2"));
    assertThat(plan("--store", "h2").entries().map(Entry::subject)).containsOnly("pigeonhole");
    assertThat(onH2).contains("end-to-end", "latency").doesNotContain("workers-1", "grown");
    assertThat(scenarios(plan("--store", "mariadb"))).contains("workers-4");
    assertThat(scenarios(plan("--store", "mariadb", "--scenario", "grown")))
        .containsExactly("grown");
  }

  private static Set<String> scenarios(Plan plan) {
    return plan.entries().map(Entry::scenario).collect(Collectors.toSet());
  }

  @Test
  void warmUpIsSmall() throws Exception {
    Plan plan = plan();
    Entry grown = entry(plan, "grown", "pigeonhole").warmUp();
    assertThat(grown.messages()).isEqualTo(25_000);
    assertThat(grown.options()).containsEntry("rows", 10_000);
    Entry latency = entry(plan, "latency", "pigeonhole").warmUp();
    assertThat(latency.options()).containsEntry("seconds", 2).containsEntry("rate", 500);
    assertThat(latency.messages()).isEqualTo(1_000);
    assertThat(Entry.of("guard", "floor", 300, 100).warmUp().messages()).isEqualTo(300);
  }
}
