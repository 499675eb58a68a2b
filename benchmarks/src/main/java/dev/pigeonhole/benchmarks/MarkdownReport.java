package dev.pigeonhole.benchmarks;

import dev.pigeonhole.benchmarks.Tables.Table;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** The results for people, to be kept. */
final class MarkdownReport {

  private final Results results;
  private final String date;
  private final String chart;

  /**
   * @param chart the file name of the bars, beside this one
   */
  MarkdownReport(Results results, String date, String chart) {
    this.results = results;
    this.date = date;
    this.chart = chart;
  }

  String text() {
    StringBuilder text = new StringBuilder();
    text.append("# Benchmark of ").append(date).append("\n\n");
    text.append("`").append(command()).append("`, seed ").append(results.options().seed());
    text.append(
        results.ok() ? ": everybody ran and was correct.\n\n" : ": **not everybody ran.**\n\n");
    machine(text);
    if (results.find("end-to-end", Entry.PIGEONHOLE).isPresent()) {
      text.append("![Messages a second, end to end](").append(chart).append(")\n\n");
    }
    targets(text);
    text.append("## Scenarios\n\n");
    text.append(
        """
        Medians of the rounds, which went in turns: everybody's first, everybody's second, and so on. *of floor* is the row beside bare SQL for the same
        durable work (`rabbitmq` and `kafka`: beside the raw client with an insert for each batch), *ours ×* is Pigeonhole beside the row; both are medians of the ratios of single rounds. What is counted is counted for one message;
        *trips* are waits for the database, counted in a run of its own, and *dead rows* are rows updated or deleted. A *–* was not measured.

        """);
    Tables tables = new Tables(results);
    tables.scenarios().forEach(it -> append(text, it));
    latency(text, tables.latency());
    subjects(text);
    missing(text);
    return text.toString();
  }

  private String command() {
    Options options = results.options();
    return (options.quick() ? "./bench --quick" : "./bench") + (options.whole() ? "" : " …");
  }

  private void machine(StringBuilder text) {
    Machine machine = results.machine();
    text.append(
        "%d cores, %s GiB, %s, %s with %s.%n%n"
            .formatted(
                machine.cores(),
                Numbers.text(machine.memoryGiB()),
                machine.java(),
                machine.database(),
                machine.settings().entrySet().stream()
                    .map(it -> "`%s = %s`".formatted(it.getKey(), it.getValue()))
                    .collect(Collectors.joining(", "))));
  }

  private void targets(StringBuilder text) {
    Table table = new Tables(results).targets();
    if (!table.rows().isEmpty()) {
      text.append("## Targets\n\n");
      rows(text, table);
      text.append(
          "What happens after a `kill -9` is not measured here: the proofs count what is lost, and how long it takes.\n\n");
    }
  }

  private void latency(StringBuilder text, Table table) {
    if (!table.rows().isEmpty()) {
      text.append("### latency\n\n");
      text.append(
          "From the moment a message was meant to be sent to the begin of its handler, so that a late sender counts"
              + " against us. *2* is one process that accepts and another that handles, without NOTIFY.\n\n");
      rows(text, table);
    }
  }

  private void subjects(StringBuilder text) {
    text.append("## Who was measured\n\n");
    rows(
        text,
        new Table(
            "",
            List.of("subject", "repeats", "what a handler writes", "settings"),
            results.abouts().entrySet().stream().map(MarkdownReport::subject).toList()),
        "---");
  }

  private static List<String> subject(Map.Entry<String, Results.About> about) {
    return List.of(
        about.getKey(),
        about.getValue().dedup(),
        about.getValue().effects(),
        about.getValue().settings());
  }

  private void missing(StringBuilder text) {
    if (!results.missing().isEmpty()) {
      text.append("## Missing\n\n");
      results
          .missing()
          .forEach(
              it ->
                  text.append(
                      "- %s in %s: %s%n".formatted(it.subject(), it.scenario(), it.reason())));
    }
  }

  private static void append(StringBuilder text, Table table) {
    text.append("### ").append(table.title()).append("\n\n");
    rows(text, table);
  }

  private static void rows(StringBuilder text, Table table) {
    rows(text, table, "--:");
  }

  private static void rows(StringBuilder text, Table table, String alignment) {
    text.append(row(table.head()));
    text.append("|---|").append((alignment + "|").repeat(table.head().size() - 1)).append('\n');
    table.rows().forEach(it -> text.append(row(it)));
    text.append('\n');
  }

  private static String row(List<String> cells) {
    return cells.stream()
        .map(it -> it.replace("|", "\\|").replace("\n", " "))
        .collect(Collectors.joining(" | ", "| ", " |\n"));
  }
}
