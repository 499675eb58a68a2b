package dev.pigeonhole.benchmarks;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What came of a run.
 *
 * @param abouts what each subject says of itself
 * @param missing who has no figures, and why
 */
record Results(
    Options options,
    Plan plan,
    Machine machine,
    List<Series> series,
    Map<String, About> abouts,
    List<Missing> missing) {

  /** A subject in its own words. */
  record About(String dedup, String effects, String settings) {}

  /** Somebody who could not run, or not to the end. */
  record Missing(String subject, String scenario, String reason) {}

  boolean ok() {
    return missing.isEmpty();
  }

  Optional<Series> find(String row, String subject) {
    return series.stream()
        .filter(it -> it.entry().row().equals(row) && it.entry().subject().equals(subject))
        .findFirst();
  }

  /** The rows that have figures. */
  List<Series> measured() {
    return series.stream().filter(it -> it.roundsDone() > 0).toList();
  }

  /** The ratios of the rounds that both have: each was measured beside the other. */
  static List<Double> ratios(Optional<Series> one, Optional<Series> other) {
    if (one.isEmpty() || other.isEmpty()) {
      return List.of();
    }
    Map<Integer, Double> below = other.get().values();
    List<Double> ratios = new ArrayList<>();
    one.get()
        .values()
        .forEach(
            (round, value) -> {
              Double against = below.get(round);
              if (against != null && against > 0) {
                ratios.add(value / against);
              }
            });
    return ratios;
  }

  /** How often one row of ours holds another. */
  List<Double> ratios(String row, String otherRow) {
    return ratios(find(row, Entry.PIGEONHOLE), find(otherRow, Entry.PIGEONHOLE));
  }

  /** How often we hold a subject in the same scenario. */
  List<Double> ratiosTo(String subject, String row) {
    return ratios(find(row, Entry.PIGEONHOLE), find(row, subject));
  }
}
