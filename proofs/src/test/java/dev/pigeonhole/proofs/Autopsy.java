package dev.pigeonhole.proofs;

import dev.pigeonhole.support.DuplicateRows;
import dev.pigeonhole.support.Ledger;
import dev.pigeonhole.support.TestDatabase;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Says from the ledgers and tables of many {@linkplain Life lives} what became of their messages.
 * It uses no class of the library and asks the library nothing.
 */
final class Autopsy {
  final Set<String> sent = new LinkedHashSet<>();
  final List<String> lost = new ArrayList<>();
  final List<String> doubled = new ArrayList<>();
  final List<String> overtaken = new ArrayList<>();
  final List<String> wronglyEnded = new ArrayList<>();
  int invocations;

  private final List<String> lines = new ArrayList<>();

  private final Map<String, Integer> runs = new HashMap<>();
  private final Set<String> done = new LinkedHashSet<>();
  private final Map<String, Integer> accepted = new HashMap<>();
  private final Map<String, Integer> retries = new HashMap<>();
  private final int lives;

  Autopsy(Path directory, int lives, TestDatabase database) {
    this.lives = lives;
    for (int life = 1; life <= lives; life++) {
      for (String line : Ledger.read(Life.ledgerOf(directory, life))) {
        lines.add("life " + life + " " + line);
        read(line.split(" "));
      }
    }
    Map<String, Integer> effects = effects(database);
    Map<String, Integer> receipts = failures(database, "receipt");
    Map<String, Integer> poison = failures(database, "poison");
    for (String id : sent) {
      for (String handler : handlersOf(id)) {
        check(handler, id, effects, receipts, poison);
      }
    }
    accepted.forEach(
        (id, times) -> {
          if (times > 1) {
            doubled.add(id + " was new " + times + " times");
          }
        });
    checkNothingElseIsThere(database, effects, receipts, poison);
    doubled.addAll(DuplicateRows.in(database));
  }

  /** All that the lives have written down of a message, with what they were. */
  private List<String> trace(String id) {
    return lines.stream().filter(line -> List.of(line.split(" ")).contains(id)).toList();
  }

  static List<String> handlersOf(String id) {
    return Life.isOrdered(id)
        ? List.of("ordered", "ordered-tx")
        : List.of("plain", "tx", "stubborn");
  }

  private void read(String[] line) {
    switch (line[0]) {
      case "SEND" -> sent.add(line[1]);
      case "ANSWER" -> {
        if (line[2].equals("Accepted")) {
          accepted.merge(line[1], 1, Integer::sum);
        } else if (!line[2].equals("Repeat")) {
          wronglyEnded.add(line[1] + " was answered with " + line[2]);
        }
      }
      case "RUN" -> {
        invocations++;
        String run = line[1] + " " + line[2];
        if (runs.merge(run, 1, Integer::sum) == 1) {
          checkFirstRun(line[1], line[2]);
        }
      }
      case "DONE" -> done.add(line[1] + " " + line[2]);
      case "TX" -> {} // for the trace
      case "RETRY" -> retries.merge(line[1], 1, Integer::sum);
      default -> throw new IllegalStateException(String.join(" ", line));
    }
  }

  /** Nothing of a key begins before everything that was sent before it is done. */
  private void checkFirstRun(String handler, String id) {
    if (!handler.equals("ordered")) {
      return;
    }
    for (String other : sent) {
      boolean before =
          Life.isOrdered(other)
              && Life.keyOf(other).equals(Life.keyOf(id))
              && Life.numberOf(other) < Life.numberOf(id);
      if (before && !done.contains("ordered " + other)) {
        overtaken.add(handler + " " + id + " began before " + other + " was done");
      }
    }
  }

  private Map<String, Integer> effects(TestDatabase database) {
    Map<String, Integer> effects = new HashMap<>();
    Map<String, Integer> highest = new HashMap<>();
    for (Map<String, Object> row :
        database.rows("SELECT handler, message FROM effect ORDER BY id")) {
      String id = String.valueOf(row.get("message"));
      effects.merge(row.get("handler") + " " + id, 1, Integer::sum);
      if (Life.isOrdered(id)) {
        Integer before = highest.put(Life.keyOf(id), Life.numberOf(id));
        if (before != null && before > Life.numberOf(id)) {
          overtaken.add("ordered-tx " + id + " after " + before);
        }
      }
    }
    return effects;
  }

  /** Handler and message → failures, of everything that stands in this table. */
  private static Map<String, Integer> failures(TestDatabase database, String table) {
    Map<String, Integer> failures = new HashMap<>();
    for (Map<String, Object> row :
        database.rows(
            "SELECT h.handler_key, m.id, t.failures FROM %s t JOIN %s m ON m.seq = t.seq JOIN %s h ON h.key_id = t.key_id"
                .formatted(
                    Tables.name(database, table),
                    Tables.name(database, "message"),
                    Tables.name(database, "handler")))) {
      failures.put(
          Tables.text(row.get("handler_key")) + " " + Tables.text(row.get("id")),
          ((Number) row.get("failures")).intValue());
    }
    return failures;
  }

  private void check(
      String handler,
      String id,
      Map<String, Integer> effects,
      Map<String, Integer> receipts,
      Map<String, Integer> poison) {
    String delivery = handler + " " + id;
    boolean hopeless = handler.equals("stubborn") && Life.isHopeless(id);
    Map<String, Integer> ends = hopeless ? poison : receipts;
    Integer failures = ends.get(delivery);
    if (failures == null) {
      lost.add(delivery + " has not ended as it should");
      return;
    }
    if (hopeless ? failures != Life.ATTEMPTS : failures >= Life.ATTEMPTS) {
      wronglyEnded.add(delivery + " ended after " + failures + " failures");
    }
    if (handler.endsWith("tx")) {
      int times = effects.getOrDefault(delivery, 0);
      if (times != 1) {
        (times == 0 ? lost : doubled).add(delivery + " had " + times + " effects: " + trace(id));
      }
      return;
    }
    int times = runs.getOrDefault(delivery, 0);
    if (times == 0 || (!handler.equals("plain") && !hopeless && !done.contains(delivery))) {
      lost.add(delivery + " was never handled");
    }
    int attempts = hopeless ? Life.ATTEMPTS * (1 + retries.getOrDefault(id, 0)) : Life.ATTEMPTS;
    if (times > attempts + lives) {
      wronglyEnded.add(delivery + " was tried " + times + " times");
    }
  }

  private void checkNothingElseIsThere(
      TestDatabase database,
      Map<String, Integer> effects,
      Map<String, Integer> receipts,
      Map<String, Integer> poison) {
    Set<String> expected = new LinkedHashSet<>();
    sent.forEach(id -> handlersOf(id).forEach(handler -> expected.add(handler + " " + id)));
    for (Map<String, Integer> ends : List.of(effects, receipts, poison)) {
      ends.keySet().stream()
          .filter(each -> !expected.contains(each))
          .forEach(each -> wronglyEnded.add(each + " was never sent"));
    }
    long open = Tables.openCount(database);
    if (open > 0) {
      lost.add(open + " deliveries are still open");
    }
    if (Tables.count(database, "message") != sent.size()) {
      wronglyEnded.add("there are not as many messages as were sent");
    }
  }
}
