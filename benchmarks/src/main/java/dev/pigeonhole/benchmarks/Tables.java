package dev.pigeonhole.benchmarks;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;

/** The rows that people read, as cells: the terminal and the report lay them out. */
final class Tables {

  /** The first column is a text, all others are numbers. */
  record Table(String title, List<String> head, List<List<String>> rows) {}

  private static final List<String> COUNTERS =
      List.of("WAL bytes", "commits", "trips", "dead rows", "client µs", "server µs");

  private final Results results;

  Tables(Results results) {
    this.results = results;
  }

  /** One for every scenario; what is counted, is counted for one message. */
  List<Table> scenarios() {
    Map<String, List<Series>> byScenario = new LinkedHashMap<>();
    for (Series series : results.measured()) {
      if (!series.entry().latency()) {
        byScenario
            .computeIfAbsent(series.entry().scenario(), name -> new ArrayList<>())
            .add(series);
      }
    }
    List<Table> tables = new ArrayList<>();
    byScenario.forEach((name, rows) -> tables.add(scenario(name, rows)));
    return tables;
  }

  private Table scenario(String name, List<Series> all) {
    List<String> head =
        new ArrayList<>(
            List.of("subject", "messages", "msg/s", "least–most", "of floor", "ours ×"));
    head.addAll(COUNTERS);
    return new Table(name, head, all.stream().map(series -> row(name, series)).toList());
  }

  private List<String> row(String scenario, Series series) {
    Entry entry = series.entry();
    String subject =
        entry.row().equals(scenario)
            ? entry.subject()
            : entry.subject() + ", " + entry.row().substring(scenario.length() + 1);
    List<String> cells = new ArrayList<>();
    cells.add(subject);
    cells.add(Numbers.text((double) series.messages()));
    cells.add(Numbers.text(series.median()));
    cells.add(Numbers.text(series.min()) + "–" + Numbers.text(series.max()));
    cells.add(Numbers.text(ofFloor(series)));
    cells.add(Numbers.text(oursOf(scenario, series)));
    cells.add(Numbers.text(series.perMessage("walBytes")));
    cells.add(Numbers.text(series.perMessage("commits")));
    cells.add(Numbers.text(series.roundTripsPerMessage()));
    cells.add(Numbers.text(series.perMessage("deadTuples")));
    cells.add(Numbers.text(micros(series.perMessage("clientCpuSeconds"))));
    cells.add(Numbers.text(micros(series.perMessage("serverCpuSeconds"))));
    return cells;
  }

  private OptionalDouble ofFloor(Series series) {
    return Numbers.median(
        Results.ratios(
            results.find(series.entry().row(), series.entry().subject()),
            results.find(series.entry().row(), Entry.FLOOR)));
  }

  /** How often the scenario of ours holds this row. */
  private OptionalDouble oursOf(String scenario, Series series) {
    return Numbers.median(
        Results.ratios(
            results.find(scenario, Entry.PIGEONHOLE),
            results.find(series.entry().row(), series.entry().subject())));
  }

  private static OptionalDouble micros(OptionalDouble seconds) {
    return seconds.isPresent()
        ? OptionalDouble.of(seconds.getAsDouble() * 1e6)
        : OptionalDouble.empty();
  }

  /** From the call of accept to the begin of the handler. */
  Table latency() {
    List<List<String>> rows = new ArrayList<>();
    for (Series series : results.measured()) {
      if (series.entry().latency()) {
        rows.add(
            List.of(
                series.entry().options().get("rate") + " msg/s",
                String.valueOf(series.entry().options().get("processes")),
                Numbers.text(series.median("p50")),
                Numbers.text(series.median("p99")),
                Numbers.text(series.median("p999"))));
      }
    }
    return new Table("latency", List.of("load", "processes", "p50 ms", "p99 ms", "p99.9 ms"), rows);
  }

  Table targets() {
    List<List<String>> rows = new ArrayList<>();
    for (Target target : Target.of(results)) {
      Boolean met = target.met();
      if (met != null || results.options().whole()) {
        rows.add(
            List.of(
                target.name(),
                (target.atMost() ? "≤ " : "≥ ") + Numbers.text(target.target()),
                Numbers.text(target.value()),
                spread(target.ofRounds()),
                met == null ? "not measured" : met ? "met" : "missed"));
      }
    }
    return new Table("targets", List.of("target", "wanted", "value", "of rounds", ""), rows);
  }

  private static String spread(List<Double> ofRounds) {
    return ofRounds.size() < 2
        ? ofRounds.isEmpty() ? "–" : "one round"
        : Numbers.text(Collections.min(ofRounds)) + "–" + Numbers.text(Collections.max(ofRounds));
  }
}
