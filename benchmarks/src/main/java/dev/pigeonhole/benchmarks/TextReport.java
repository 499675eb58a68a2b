package dev.pigeonhole.benchmarks;

import dev.pigeonhole.benchmarks.Tables.Table;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** The results for a terminal. */
final class TextReport {

  private final Results results;

  TextReport(Results results) {
    this.results = results;
  }

  String text() {
    Tables tables = new Tables(results);
    List<Table> all = new ArrayList<>(tables.scenarios());
    all.add(tables.latency());
    all.add(tables.targets());
    StringBuilder text = new StringBuilder();
    all.stream().filter(it -> !it.rows().isEmpty()).forEach(it -> append(text, it));
    text.append(
        "Medians of the rounds; 'of floor' and 'ours ×' are medians of the ratios of single rounds."
            + " Counters are for one message.\n");
    results
        .missing()
        .forEach(
            it ->
                text.append("missing: ")
                    .append(it.subject())
                    .append(" in ")
                    .append(it.scenario())
                    .append(": ")
                    .append(it.reason())
                    .append('\n'));
    return text.append(results.ok() ? "OK\n" : "FAILED\n").toString();
  }

  private static void append(StringBuilder text, Table table) {
    int[] widths = new int[table.head().size()];
    List<List<String>> lines = new ArrayList<>();
    lines.add(table.head());
    lines.addAll(table.rows());
    for (List<String> line : lines) {
      for (int i = 0; i < widths.length; i++) {
        widths[i] = Math.max(widths[i], line.get(i).length());
      }
    }
    text.append(table.title()).append('\n');
    lines.forEach(line -> text.append(line(line, widths)).append('\n'));
    text.append('\n');
  }

  private static String line(List<String> cells, int[] widths) {
    List<String> padded = new ArrayList<>();
    for (int i = 0; i < widths.length; i++) {
      String pad = " ".repeat(widths[i] - cells.get(i).length());
      padded.add(i == 0 ? cells.get(i) + pad : pad + cells.get(i));
    }
    return padded.stream().collect(Collectors.joining("  ", "  ", "")).stripTrailing();
  }
}
