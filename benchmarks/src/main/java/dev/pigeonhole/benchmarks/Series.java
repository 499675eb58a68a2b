package dev.pigeonhole.benchmarks;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalDouble;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** All rounds of an entry. One that has failed has no figures. */
final class Series {

  private final Entry entry;
  private final Map<Integer, Map<String, Double>> rounds = new TreeMap<>();
  private OptionalDouble roundTripsPerMessage = OptionalDouble.empty();
  private @Nullable String failure;

  Series(Entry entry) {
    this.entry = entry;
  }

  Entry entry() {
    return entry;
  }

  /** Takes what a run has measured. */
  void add(int round, Map<String, Double> measured) {
    Map<String, Double> kept = new TreeMap<>(measured);
    if (entry.helped()) {
      kept.remove("clientCpuSeconds");
    }
    rounds.put(round, kept);
  }

  /** Takes what a run that counts has measured. */
  void count(Map<String, Double> measured) {
    Double trips = measured.get("roundTrips");
    Double completed = measured.get("completed");
    // None at all were counted of a subject that has a pool of its own.
    if (trips != null && completed != null && trips > 0 && completed > 0) {
      roundTripsPerMessage = OptionalDouble.of(trips / completed);
    }
  }

  void fail(String reason) {
    failure = reason;
    rounds.clear();
  }

  @Nullable String failure() {
    return failure;
  }

  int roundsDone() {
    return rounds.size();
  }

  OptionalDouble roundTripsPerMessage() {
    return roundTripsPerMessage;
  }

  /** What the entry is about, of each round: a rate, or a percentile. */
  Map<Integer, Double> values() {
    Map<Integer, Double> values = new TreeMap<>();
    rounds.forEach((round, measured) -> values.put(round, value(measured)));
    return values;
  }

  double value(int round) {
    return value(rounds.getOrDefault(round, Map.of()));
  }

  /** The same of one run. */
  double value(Map<String, Double> measured) {
    return entry.latency()
        ? Objects.requireNonNull(measured.get("p99"))
        : number(measured, "completed") / number(measured, "seconds");
  }

  OptionalDouble median() {
    return Numbers.median(values().values());
  }

  OptionalDouble min() {
    return extreme(values().values(), true);
  }

  OptionalDouble max() {
    return extreme(values().values(), false);
  }

  private static OptionalDouble extreme(Collection<Double> values, boolean least) {
    var numbers = values.stream().mapToDouble(Double::doubleValue);
    return least ? numbers.min() : numbers.max();
  }

  /** The median of something else that was measured. */
  OptionalDouble median(String name) {
    List<Double> found = new ArrayList<>();
    for (Map<String, Double> measured : rounds.values()) {
      Double value = measured.get(name);
      if (value != null) {
        found.add(value);
      }
    }
    return Numbers.median(found);
  }

  OptionalDouble perMessage(String name) {
    List<Double> found = new ArrayList<>();
    for (Map<String, Double> measured : rounds.values()) {
      Double value = measured.get(name);
      if (value != null && number(measured, "completed") > 0) {
        found.add(value / number(measured, "completed"));
      }
    }
    return Numbers.median(found);
  }

  /** Messages of a round, as they were completed. */
  long messages() {
    return Math.round(median("completed").orElse(entry.messages()));
  }

  private static double number(Map<String, Double> measured, String name) {
    return measured.getOrDefault(name, 0.0);
  }
}
