package dev.pigeonhole.benchmarks;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Entries that take turns, so that whatever else the machine does hits all of them alike.
 *
 * @param warmSeconds how long each of them may run before the first turn, as long as it gets
 *     faster: code that has just been started is many times slower, and how long it takes to become
 *     fast depends on how much of it there is
 */
record Heat(List<Entry> entries, int warmSeconds) {

  /** Most are warm before that. */
  private static final double USED_OF_WARM_SECONDS = 0.6;

  /** One run of one entry. */
  record Turn(Entry entry, int round) {}

  /**
   * First round of everybody, second round of everybody, and so on; some have fewer rounds. Every
   * other round goes backwards, so that nobody always comes after the same one.
   */
  List<Turn> turns() {
    int most = entries.stream().mapToInt(Entry::rounds).max().orElse(0);
    List<Entry> order = new ArrayList<>(entries);
    List<Turn> turns = new ArrayList<>();
    for (int round = 1; round <= most; round++) {
      for (Entry entry : order) {
        if (round <= entry.rounds()) {
          turns.add(new Turn(entry, round));
        }
      }
      Collections.reverse(order);
    }
    return turns;
  }

  double seconds() {
    return entries.stream()
        .mapToDouble(entry -> warmUpSeconds(entry) + entry.rounds() * entry.seconds())
        .sum();
  }

  /** How long an entry takes to become warm, roughly. */
  double warmUpSeconds(Entry entry) {
    return Math.max(USED_OF_WARM_SECONDS * warmSeconds, entry.warmUp().seconds());
  }

  /** The names of its scenarios, each once. */
  List<String> scenarios() {
    return entries.stream().map(Entry::scenario).distinct().toList();
  }
}
