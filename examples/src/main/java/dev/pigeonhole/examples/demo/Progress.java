package dev.pigeonhole.examples.demo;

import java.io.PrintStream;

/** Shows how far the run is: a bar on a terminal, otherwise a line now and then. */
final class Progress {

  private static final int WIDTH = 12; // the line fits into 80 columns
  private static final int PERCENT_PER_LINE = 10;

  private final PrintStream out;
  private final boolean terminal;
  private int shownPercent = -PERCENT_PER_LINE;
  private boolean barStands;

  Progress(PrintStream out, boolean terminal) {
    this.out = out;
    this.terminal = terminal;
  }

  /** Shows a state of the run. */
  void show(long done, long total, String details) {
    int percent = (int) (100 * done / Math.max(1, total));
    if (terminal) {
      int filled = WIDTH * percent / 100;
      out.print(
          "\r\033[K[%s%s] %3d%%  %s"
              .formatted("#".repeat(filled), ".".repeat(WIDTH - filled), percent, details));
      out.flush();
      barStands = true;
    } else if (percent / PERCENT_PER_LINE > shownPercent / PERCENT_PER_LINE) {
      shownPercent = percent;
      out.printf("%3d%%  %s%n", percent, details);
    }
  }

  /** Says something of lasting interest. */
  void say(String line) {
    clear();
    out.println(line);
  }

  /** Removes the bar. */
  void clear() {
    if (barStands) {
      out.print("\r\033[K");
      out.flush();
      barStands = false;
    }
  }
}
