package dev.pigeonhole.micrometer;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The table of meters in docs/observability.md. */
final class MetersPage {
  static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  static final Path FILE = ROOT.resolve("docs/observability.md");

  /** What tags have a few words as their values, which the page lists. */
  static final Set<String> TAGS_OF_WORDS = Set.of("outcome", "state");

  /** One meter. */
  record Row(String type, Set<String> tags, String says) {}

  private static final Pattern ROW =
      Pattern.compile(
          "(?m)^\\| `(pigeonhole\\.[a-z.]+)` \\| ([a-z ]+) \\| ([a-z, ]+) \\| (.*) \\|$");
  private static final Pattern WORDS =
      Pattern.compile("\\b(?:outcome|state)(?: is)? (`[a-z-]+`(?:, `[a-z-]+`)*)");
  private static final Pattern AS_OF =
      Pattern.compile("\\bas of (?:an inbox\\b|`(pigeonhole\\.[a-z.]+)`)");

  private final Map<String, Row> rows = new TreeMap<>();

  MetersPage() {
    ROW.matcher(read())
        .results()
        .forEach(
            row ->
                rows.put(
                    row.group(1),
                    new Row(row.group(2), Set.of(row.group(3).split(", ")), row.group(4))));
  }

  private static String read() {
    try {
      return Files.readString(FILE);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  Map<String, Row> rows() {
    return rows;
  }

  /** All that its outcome, or its state, can be; none where it has neither. */
  Set<String> words(String meter) {
    Row row = rows.get(meter);
    if (row == null) {
      throw new AssertionError("The page does not list " + meter);
    }
    Matcher words = WORDS.matcher(row.says());
    if (words.find()) {
      return new TreeSet<>(Set.of(words.group(1).replace("`", "").split(", ")));
    }
    Matcher other = AS_OF.matcher(row.says());
    if (!other.find()) {
      return Set.of();
    }
    return words(other.group(1) == null ? meter.replace(".outbox.", ".inbox.") : other.group(1));
  }

  /** Whose sample this is, by the name that Prometheus knows it by. */
  String meterOf(String sample) {
    return rows.keySet().stream()
        .filter(meter -> (sample + "_").startsWith(meter.replace('.', '_') + "_"))
        .max(Comparator.comparing(String::length))
        .orElseThrow(() -> new AssertionError("No meter of the page has the sample " + sample));
  }
}
