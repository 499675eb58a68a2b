package dev.pigeonhole.benchmarks;

import dev.pigeonhole.benchmarks.Results.About;
import dev.pigeonhole.benchmarks.Results.Missing;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Results that nobody measured. */
final class Samples {

  private final Options options;
  private final List<Series> series = new ArrayList<>();
  private final List<Missing> missing = new ArrayList<>();

  Samples(String... args) throws UsageException {
    this.options = Options.parse(args);
  }

  /** Rates of the rounds of a row; each round has 1,000 messages. */
  Samples rates(String row, String subject, double... rates) {
    Series own = new Series(Entry.of(row, subject, 1_000, 1_000));
    own.count(Map.of("roundTrips", 50.0, "completed", 1_000.0));
    for (int i = 0; i < rates.length; i++) {
      own.add(
          i + 1,
          Map.of(
              "completed", 1_000.0,
              "seconds", 1_000 / rates[i],
              "walBytes", 1_250_000.0,
              "commits", 4.0,
              "deadTuples", 1_000.0,
              "clientCpuSeconds", 0.02,
              "serverCpuSeconds", 0.03));
    }
    series.add(own);
    return this;
  }

  Samples latency(String row, int rate, int processes, double p50, double p99, double p999) {
    Series own =
        new Series(
            Entry.of("latency", Entry.PIGEONHOLE, 1_000, rate)
                .named(row)
                .with("rate", rate)
                .with("processes", processes));
    own.add(1, Map.of("completed", 1_000.0, "seconds", 2.0, "p50", p50, "p99", p99, "p999", p999));
    series.add(own);
    return this;
  }

  Samples missing(String subject, String scenario, String reason) {
    Series own = new Series(Entry.of(scenario, subject, 1_000, 1_000));
    own.fail(reason);
    series.add(own);
    missing.add(new Missing(subject, scenario, reason));
    return this;
  }

  Results results() {
    Map<String, About> abouts = new LinkedHashMap<>();
    series.forEach(
        it ->
            abouts.put(
                it.entry().subject(), new About("kept | for ever", "once", "pool of 24, as told")));
    return new Results(
        options,
        Plan.of(options),
        new Machine(2, 23.4, "OpenJDK 17", "PostgreSQL 18.6", Map.of("fsync", "on")),
        series,
        abouts,
        missing);
  }
}
