package dev.pigeonhole.benchmarks;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import org.jspecify.annotations.Nullable;

/**
 * Something we want to reach.
 *
 * @param atMost whether less is better
 * @param value absent where it was not measured
 * @param ofRounds what it is the median of, where it is one of ratios
 */
record Target(
    String name, double target, boolean atMost, OptionalDouble value, List<Double> ofRounds) {

  /** Null where it was not measured. */
  @Nullable Boolean met() {
    if (value.isEmpty()) {
      return null;
    }
    return atMost ? value.getAsDouble() <= target : value.getAsDouble() >= target;
  }

  /** Those of the design that a benchmark can measure. */
  static List<Target> of(Results results) {
    Ratios ratios = new Ratios(results);
    Map<String, List<Double>> all = ratios.ofRounds();
    String others = ratios.bestOther().map(name -> " (" + name + ")").orElse("");
    String guards = ratios.bestGuard().map(name -> " (" + name + ")").orElse("");
    String rows = Numbers.text(results.plan().grownRows());
    List<Target> targets = new ArrayList<>();
    targets.add(least("end to end, of the floor", 0.70, all, "endToEndVsFloor"));
    targets.add(least("end to end, times db-scheduler", 5, all, "endToEndVsDbScheduler"));
    targets.add(
        least("end to end, times the fastest other peer" + others, 10, all, "endToEndVsBestOther"));
    targets.add(least("batched accept, of the floor", 0.80, all, "acceptVsFloor"));
    targets.add(
        least(
            "single accepts of 64 threads, times one commit each",
            4,
            all,
            "groupedAcceptVsPerCommit"));
    targets.add(least("inline guard, times the fastest peer" + guards, 1, ratios.guardVsFastest()));
    targets.add(least("shared commits, times the inline guard", 5, all, "sharedCommitVsGuard"));
    targets.add(
        least(
            "shared commits on 50 hot rows, of single ones", 0.5, ratios.sharedCommitOnHotRows()));
    targets.add(most("accept to handler at 500 msg/s, p50 ms", 5, results, "latency", "p50"));
    targets.add(most("accept to handler at 500 msg/s, p99 ms", 25, results, "latency", "p99"));
    targets.add(most("the same across processes, p99 ms", 250, results, "latency-500-two", "p99"));
    targets.add(least(rows + " finished messages kept, of empty speed", 0.85, all, "grown"));
    targets.add(least(notDue(results) + ", of empty speed", 0.85, all, "notDue"));
    targets.add(least("while retention removes, of normal speed", 0.9, ratios.prune()));
    targets.add(
        least(
            "snapshot held for %d seconds, of normal speed"
                .formatted(results.plan().heldSnapshotSeconds()),
            0.70,
            all,
            "heldSnapshot"));
    targets.add(least("RabbitMQ to handler, of the raw client", 0.70, all, "rabbitVsRaw"));
    targets.add(least("Kafka to handler, of the raw client", 0.70, all, "kafkaVsRaw"));
    backlog(results, targets);
    return targets;
  }

  private static String notDue(Results results) {
    int rows =
        results
            .plan()
            .entry("not-due")
            .map(it -> it.options().getOrDefault("rows", 0))
            .orElse(Plan.ROWS_NOT_DUE);
    return Numbers.text(rows) + " deliveries due tomorrow";
  }

  /** That it has run to its end is the proof that its heap was enough. */
  private static void backlog(Results results, List<Target> targets) {
    Entry backlog = results.plan().entry("backlog").orElse(null);
    if (backlog == null) {
      return;
    }
    OptionalDouble heap = OptionalDouble.of(backlog.heapMegabytes());
    boolean ran = median(results, "backlog", "completed").isPresent();
    targets.add(
        new Target(
            Numbers.text(backlog.messages()) + " pending, delivered with MB of heap",
            heap.getAsDouble(),
            true,
            ran ? heap : OptionalDouble.empty(),
            List.of()));
  }

  private static Target least(
      String name, double target, Map<String, List<Double>> ratios, String key) {
    return least(name, target, ratios.getOrDefault(key, List.of()));
  }

  private static Target least(String name, double target, List<Double> ratios) {
    return new Target(name, target, false, Numbers.median(ratios), ratios);
  }

  private static Target most(
      String name, double target, Results results, String row, String measured) {
    return new Target(name, target, true, median(results, row, measured), List.of());
  }

  private static OptionalDouble median(Results results, String row, String measured) {
    return results
        .find(row, Entry.PIGEONHOLE)
        .map(it -> it.median(measured))
        .orElse(OptionalDouble.empty());
  }
}
