package dev.pigeonhole.benchmarks;

import dev.pigeonhole.benchmarks.Results.About;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The results for machines. */
final class JsonReport {

  private final Results results;

  JsonReport(Results results) {
    this.results = results;
  }

  /** A run that came to nothing. */
  static String failed(String error) {
    return Json.of(Map.of("error", error));
  }

  String text() {
    Ratios ratios = new Ratios(results);
    Map<String, @Nullable Object> json = new LinkedHashMap<>();
    json.put("quick", results.options().quick());
    json.put("seed", results.options().seed());
    json.put("machine", machine());
    json.put("scenarios", results.measured().stream().map(this::scenario).toList());
    json.put("ratios", ratios.all());
    json.put("bestOther", ratios.bestOther());
    json.put("grownRows", results.plan().grownRows());
    json.put("heldSnapshotSeconds", results.plan().heldSnapshotSeconds());
    json.put("latencyMs", headline());
    json.put("latency", latency().stream().map(JsonReport::percentiles).toList());
    json.put("targets", Target.of(results).stream().map(JsonReport::target).toList());
    json.put("missing", results.missing().stream().map(JsonReport::missing).toList());
    return Json.of(json);
  }

  private Map<String, @Nullable Object> machine() {
    Machine machine = results.machine();
    Map<String, @Nullable Object> json = new LinkedHashMap<>();
    json.put("cores", machine.cores());
    json.put("memoryGiB", machine.memoryGiB());
    json.put("java", machine.java());
    json.put("database", machine.database());
    json.put("settings", machine.settings());
    return json;
  }

  private Map<String, @Nullable Object> scenario(Series series) {
    Entry entry = series.entry();
    Map<String, @Nullable Object> json = new LinkedHashMap<>();
    json.put("name", entry.row());
    json.put("subject", entry.subject());
    json.put("messages", series.messages());
    json.put("unit", entry.unit());
    json.put("rounds", series.roundsDone());
    json.put("median", series.median());
    json.put("min", series.min());
    json.put("max", series.max());
    json.put("walBytesPerMessage", series.perMessage("walBytes"));
    json.put("commitsPerMessage", series.perMessage("commits"));
    json.put("roundTripsPerMessage", series.roundTripsPerMessage());
    json.put("deadTuplesPerMessage", series.perMessage("deadTuples"));
    json.put("clientCpuSeconds", series.median("clientCpuSeconds"));
    json.put("serverCpuSeconds", series.median("serverCpuSeconds"));
    About about = results.abouts().get(entry.subject());
    json.put("dedup", about == null ? "" : about.dedup());
    return json;
  }

  private @Nullable Map<String, @Nullable Object> headline() {
    Optional<Series> series = results.find("latency", Entry.PIGEONHOLE);
    if (series.isEmpty() || series.get().roundsDone() == 0) {
      return null;
    }
    Map<String, @Nullable Object> json = percentiles(series.get());
    json.remove("processes");
    return json;
  }

  private List<Series> latency() {
    return results.measured().stream().filter(it -> it.entry().latency()).toList();
  }

  private static Map<String, @Nullable Object> percentiles(Series series) {
    Map<String, @Nullable Object> json = new LinkedHashMap<>();
    json.put("rate", series.entry().options().get("rate"));
    json.put("processes", series.entry().options().get("processes"));
    for (String name : List.of("p50", "p99", "p999")) {
      json.put(name, series.median(name));
    }
    return json;
  }

  private static Map<String, @Nullable Object> target(Target target) {
    Map<String, @Nullable Object> json = new LinkedHashMap<>();
    json.put("name", target.name());
    json.put("target", target.target());
    json.put("value", target.value());
    json.put("met", target.met());
    return json;
  }

  private static Map<String, @Nullable Object> missing(Results.Missing missing) {
    Map<String, @Nullable Object> json = new LinkedHashMap<>();
    json.put("subject", missing.subject());
    json.put("scenario", missing.scenario());
    json.put("reason", missing.reason());
    return json;
  }
}
