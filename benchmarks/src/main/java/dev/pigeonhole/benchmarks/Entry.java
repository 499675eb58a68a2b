package dev.pigeonhole.benchmarks;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * One subject in one scenario.
 *
 * @param scenario the name that {@code --scenario} knows
 * @param row the name in the results: that of the scenario, or of a variant of it
 * @param asked what the subject is asked to do; a comparison within a scenario may ask for another
 * @param messages of one round
 * @param usualRate messages a second, roughly, which tells how long a round will take
 * @param options of the scenario
 * @param heapMegabytes of its process; 0 for what everybody has
 */
record Entry(
    String scenario,
    String row,
    String asked,
    String subject,
    int messages,
    int usualRate,
    Map<String, Integer> options,
    int rounds,
    int heapMegabytes) {

  static final String FLOOR = "floor";
  static final String PIGEONHOLE = "pigeonhole";

  /** Creating and dropping a schema, and the pools. */
  private static final double AROUND_A_RUN = 0.8;

  private static final double ROWS_PREPARED_PER_SECOND = 50_000;

  static Entry of(String scenario, String subject, int messages, int usualRate) {
    return new Entry(scenario, scenario, scenario, subject, messages, usualRate, Map.of(), 3, 0);
  }

  /** A variant with a row of its own. */
  Entry named(String newRow) {
    return new Entry(
        scenario, newRow, asked, subject, messages, usualRate, options, rounds, heapMegabytes);
  }

  /** What the scenario is compared with: something else, under a name of its own. */
  Entry comparedWith(String newRow, String newAsked) {
    return new Entry(
        scenario, newRow, newAsked, subject, messages, usualRate, options, rounds, heapMegabytes);
  }

  Entry with(String option, int value) {
    Map<String, Integer> more = new LinkedHashMap<>(options);
    more.put(option, value);
    return with(more);
  }

  private Entry with(Map<String, Integer> newOptions) {
    return new Entry(
        scenario, row, asked, subject, messages, usualRate, newOptions, rounds, heapMegabytes);
  }

  /** Goes on for so many seconds, instead of so many messages. */
  Entry lasting(int seconds) {
    return messages(usualRate * seconds).with("seconds", seconds);
  }

  Entry messages(int newMessages) {
    return new Entry(
        scenario, row, asked, subject, newMessages, usualRate, options, rounds, heapMegabytes);
  }

  Entry rounds(int newRounds) {
    return new Entry(
        scenario, row, asked, subject, messages, usualRate, options, newRounds, heapMegabytes);
  }

  Entry heap(int megabytes) {
    return new Entry(
        scenario, row, asked, subject, messages, usualRate, options, rounds, megabytes);
  }

  boolean timed() {
    return options.containsKey("seconds");
  }

  boolean latency() {
    return scenario.equals("latency");
  }

  String unit() {
    return latency() ? "ms p99" : "msg/s";
  }

  /** How long one round takes, roughly. */
  double seconds() {
    return AROUND_A_RUN
        + options.getOrDefault("rows", 0) / ROWS_PREPARED_PER_SECOND
        + (double) messages / usualRate;
  }

  /** About two seconds of it, so that a slow one becomes warm in as many runs as a fast one. */
  Entry brief() {
    return timed() ? this : messages(Math.min(messages, Math.max(1_000, 2 * usualRate)));
  }

  /** Whether some of its work is done by processes that nobody counts the time of. */
  boolean helped() {
    return options.containsKey("workers") || options.getOrDefault("processes", 1) > 1;
  }

  /** Small, for a process that has not done this before. */
  Entry warmUp() {
    Map<String, Integer> small = new LinkedHashMap<>(options);
    small.computeIfPresent("rows", (name, rows) -> Math.min(rows, 10_000));
    Entry brief = with(small);
    return timed()
        ? brief.lasting(Math.min(2, options.getOrDefault("seconds", 2)))
        : brief.messages(Math.min(messages, Math.max(1_000, Math.min(25_000, messages / 4))));
  }
}
