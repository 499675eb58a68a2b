package dev.pigeonhole.benchmarks;

import java.util.Comparator;
import java.util.List;

/** The bars of the end-to-end scenario, as a picture that is legible on light and on dark pages. */
final class Chart {

  private static final int WIDTH = 820;
  private static final int LEFT = 170;
  private static final int RIGHT = 130;
  private static final int TOP = 78;
  private static final int STEP = 30;
  private static final int BAR = 20;

  /** A card of its own colour, so that the page around it does not matter. */
  private static final String STYLE =
      """
      .card{fill:#ffffff;stroke:#d0d7de}.text{fill:#1f2328}.soft{fill:#59636e}.other{fill:#8c959f}.floor{fill:#afb8c1}.ours{fill:#0969da}
      .axis{stroke:#d0d7de}.span{stroke:#1f2328}text{font:13px -apple-system,"Segoe UI",Helvetica,Arial,sans-serif}.title{font-size:16px;font-weight:600}
      @media (prefers-color-scheme:dark){.card{fill:#0d1117;stroke:#30363d}.text{fill:#f0f6fc}.soft{fill:#9198a1}.other{fill:#6e7681}
      .floor{fill:#484f58}.ours{fill:#4493f8}.axis{stroke:#30363d}.span{stroke:#f0f6fc}}
      """;

  private final Results results;

  Chart(Results results) {
    this.results = results;
  }

  String svg() {
    List<Series> bars =
        results.measured().stream()
            .filter(it -> it.entry().row().equals("end-to-end"))
            .sorted(Comparator.comparingDouble(it -> -it.median().orElse(0)))
            .toList();
    double most = bars.stream().mapToDouble(it -> it.max().orElse(0)).max().orElse(1);
    int height = TOP + bars.size() * STEP + 20;
    StringBuilder svg = new StringBuilder();
    svg.append(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">%n"
            .formatted(WIDTH, height, WIDTH, height));
    svg.append("<title>Messages a second, end to end</title>\n<style>").append(STYLE);
    svg.append("</style>\n");
    svg.append(
        "<rect class=\"card\" x=\"0.5\" y=\"0.5\" width=\"%d\" height=\"%d\" rx=\"6\"/>%n"
            .formatted(WIDTH - 1, height - 1));
    svg.append(
        "<text class=\"text title\" x=\"20\" y=\"30\">Messages a second, end to end</text>%n"
            .formatted());
    svg.append(
        "<text class=\"soft\" x=\"20\" y=\"52\">%s, %d cores; accepted, handled and durably completed; line: least to most of the rounds</text>%n"
            .formatted(escape(results.machine().database()), results.machine().cores()));
    for (int i = 0; i < bars.size(); i++) {
      bar(svg, bars.get(i), TOP + i * STEP, most);
    }
    svg.append(
        "<line class=\"axis\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>%n"
            .formatted(LEFT, TOP - 6, LEFT, height - 16));
    return svg.append("</svg>\n").toString();
  }

  private void bar(StringBuilder svg, Series series, int top, double most) {
    String subject = series.entry().subject();
    int middle = top + BAR / 2;
    double median = series.median().orElse(0);
    String kind =
        subject.equals(Entry.PIGEONHOLE) ? "ours" : subject.equals(Entry.FLOOR) ? "floor" : "other";
    svg.append(
        "<text class=\"text\" x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>%n"
            .formatted(LEFT - 10, middle + 5, escape(label(subject))));
    svg.append(
        "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>%n"
            .formatted(kind, LEFT, top, Math.max(1, across(median, most)), BAR));
    int end = LEFT + across(series.max().orElse(0), most);
    svg.append(
        "<line class=\"span\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>%n"
            .formatted(LEFT + across(series.min().orElse(0), most), middle, end, middle));
    svg.append(
        "<text class=\"text\" x=\"%d\" y=\"%d\">%s</text>%n"
            .formatted(end + 8, middle + 5, Numbers.text(median)));
  }

  private static String label(String subject) {
    return switch (subject) {
      case Entry.PIGEONHOLE -> "Pigeonhole";
      case Entry.FLOOR -> "bare SQL";
      default -> subject;
    };
  }

  private static int across(double value, double most) {
    return (int) Math.round(value / most * (WIDTH - LEFT - RIGHT));
  }

  private static String escape(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("\"", "&quot;");
  }
}
