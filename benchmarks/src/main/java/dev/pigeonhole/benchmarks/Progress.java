package dev.pigeonhole.benchmarks;

import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/** Shows how far a run is: a bar on a terminal, otherwise a line for everything that has ended. */
final class Progress {

  private static final int WIDTH = 12; // the line fits into 80 columns

  private volatile PrintStream out;
  private final boolean terminal;
  private final long began = System.nanoTime();
  private double expected;
  private double done;
  private double current;
  private long currentBegan = began;
  private String what = "";
  private boolean barStands;

  Progress(PrintStream out, boolean terminal) {
    this.out = out;
    this.terminal = terminal;
  }

  /** How many seconds everything will take, roughly. */
  void expect(double seconds) {
    expected = seconds;
  }

  /** Something begins that takes so many seconds, roughly. */
  void begin(String newWhat, double seconds) {
    what = newWhat;
    current = seconds;
    currentBegan = System.nanoTime();
    tick();
  }

  /** It has ended like this. */
  void end(String how) {
    done += current;
    current = 0;
    if (!terminal) {
      out.printf("%3d%%  %s: %s%n", percent(), what, how);
    }
  }

  /** Time has gone by. */
  void tick() {
    if (terminal) {
      int filled = WIDTH * percent() / 100;
      out.printf(
          "\r\033[K[%s%s] %3d%%  %s left  %.44s",
          "#".repeat(filled), ".".repeat(WIDTH - filled), percent(), Numbers.clock(left()), what);
      out.flush();
      barStands = true;
    }
  }

  private int percent() {
    return (int) Math.min(100, 100 * reached() / Math.max(1, expected));
  }

  private double reached() {
    return done + Math.min(current, (System.nanoTime() - currentBegan) / 1e9);
  }

  /** What is left, at the pace so far once there is one. */
  private double left() {
    double elapsed = (System.nanoTime() - began) / 1e9;
    double pace = reached() > 30 ? elapsed / reached() : 1;
    return Math.max(0, expected - reached()) * pace;
  }

  /** Says something of lasting interest. */
  void say(String format, Object... args) {
    clear();
    out.println(String.format(Locale.ROOT, format, args));
  }

  /** From now on it shows nothing. */
  void silence() {
    clear();
    out = new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8);
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
