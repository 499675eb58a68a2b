package dev.pigeonhole.examples.orders.spring;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** The meters of docs/observability.md, and which of them a scrape has. */
final class Meters {
  private static final Path PAGE = Path.of("../../docs/observability.md");
  private static final Pattern ROW =
      Pattern.compile("(?m)^\\| `(pigeonhole\\.[a-z.]+)` \\| ([a-z ]+) \\|");

  private Meters() {}

  /** The documented ones that the text does not have. */
  static Set<String> missingIn(String scrape) throws IOException {
    Set<String> samples =
        Pattern.compile("(?m)^(pigeonhole_[a-z_]+)[{ ]")
            .matcher(scrape)
            .results()
            .map(each -> each.group(1))
            .collect(Collectors.toSet());
    Set<String> missing = new TreeSet<>();
    ROW.matcher(Files.readString(PAGE))
        .results()
        .filter(row -> samples.stream().noneMatch(sample -> isOf(row, sample)))
        .forEach(row -> missing.add(row.group(1)));
    return missing;
  }

  /** Whether a sample is one of this meter, and not of another with a longer name. */
  private static boolean isOf(MatchResult row, String sample) {
    String name = row.group(1).replace('.', '_');
    String suffix =
        switch (row.group(2)) {
          case "timer" -> "_seconds_count";
          case "long task timer" -> "_seconds_(active_count|count)";
          case "summary" -> "_deliveries_count";
          case "counter" -> "_(attempts|lanes|messages)_total";
          case "gauge" -> "(_seconds)?";
          default -> throw new AssertionError("What is a " + row.group(2) + "?");
        };
    return sample.matches(Pattern.quote(name) + suffix);
  }
}
