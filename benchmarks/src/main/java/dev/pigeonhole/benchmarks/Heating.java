package dev.pigeonhole.benchmarks;

import java.util.ArrayList;
import java.util.List;

/** Tells from the speeds of the runs so far whether a subject is warm. */
final class Heating {

  /** Less than this is noise. */
  private static final double FASTER = 1.03;

  private final List<Double> speeds = new ArrayList<>();

  void ran(double speed) {
    speeds.add(speed);
  }

  /** Whether the last three runs were hardly faster than the three before. */
  boolean isWarm() {
    int runs = speeds.size();
    return runs >= 6 && sum(runs - 3, runs) < FASTER * sum(runs - 6, runs - 3);
  }

  private double sum(int from, int to) {
    return speeds.subList(from, to).stream().mapToDouble(Double::doubleValue).sum();
  }
}
