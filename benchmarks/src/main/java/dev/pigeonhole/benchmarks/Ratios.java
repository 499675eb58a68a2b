package dev.pigeonhole.benchmarks;

import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;

/** The ratios that say most, each the median of the ratios of single rounds. */
final class Ratios {

  private final Results results;

  Ratios(Results results) {
    this.results = results;
  }

  /** The fastest library besides db-scheduler. */
  Optional<String> bestOther() {
    return fastest("end-to-end", List.of(Peer.DB_SCHEDULER.text()));
  }

  /** The fastest library that guards a call. */
  Optional<String> bestGuard() {
    return fastest("guard", List.of());
  }

  private Optional<String> fastest(String row, List<String> without) {
    return results.options().peers().stream()
        .filter(name -> !Peer.named(name).seed() && !without.contains(name))
        .filter(name -> speed(row, name) > 0)
        .max(Comparator.comparingDouble(name -> speed(row, name)));
  }

  private double speed(String row, String subject) {
    return results.find(row, subject).map(it -> it.median().orElse(0)).orElse(0.0);
  }

  /** The medians. */
  Map<String, OptionalDouble> all() {
    Map<String, OptionalDouble> medians = new LinkedHashMap<>();
    ofRounds().forEach((name, ratios) -> medians.put(name, Numbers.median(ratios)));
    return medians;
  }

  /** What they are the medians of. */
  Map<String, List<Double>> ofRounds() {
    Map<String, List<Double>> ratios = new LinkedHashMap<>();
    ratios.put("endToEndVsFloor", results.ratiosTo(Entry.FLOOR, "end-to-end"));
    ratios.put("acceptVsFloor", results.ratiosTo(Entry.FLOOR, "accept-batch"));
    ratios.put("endToEndVsDbScheduler", results.ratiosTo(Peer.DB_SCHEDULER.text(), "end-to-end"));
    ratios.put("endToEndVsBestOther", versus(bestOther(), "end-to-end"));
    ratios.put("groupedAcceptVsPerCommit", results.ratiosTo(Entry.FLOOR, "accept-single-64"));
    ratios.put("guardVsEventuate", results.ratiosTo(Peer.EVENTUATE.text(), "guard"));
    ratios.put("sharedCommitVsGuard", results.ratios("transactional-50", "guard"));
    ratios.put("grown", results.ratios("grown", "grown-empty"));
    ratios.put("heldSnapshot", results.ratios("held-snapshot", "held-snapshot-off"));
    ratios.put("notDue", results.ratios("not-due", "not-due-empty"));
    ratios.put("rabbitVsRaw", results.ratiosTo(Entry.FLOOR, Brokers.RABBITMQ));
    ratios.put("kafkaVsRaw", results.ratiosTo(Entry.FLOOR, Brokers.KAFKA));
    return ratios;
  }

  List<Double> guardVsFastest() {
    return versus(bestGuard(), "guard");
  }

  List<Double> sharedCommitOnHotRows() {
    return results.ratios("transactional-50-hot", "transactional-1-hot");
  }

  /** Empty if nothing was removed meanwhile: retention stands back while handlers are behind. */
  List<Double> prune() {
    boolean removed =
        results
            .find("prune", Entry.PIGEONHOLE)
            .map(it -> it.median("pruned").orElse(0) > 0)
            .orElse(false);
    return removed ? results.ratios("prune", "prune-nothing") : List.of();
  }

  private List<Double> versus(Optional<String> subject, String row) {
    return subject.map(name -> results.ratiosTo(name, row)).orElse(List.of());
  }
}
