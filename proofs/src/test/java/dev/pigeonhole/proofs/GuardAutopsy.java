package dev.pigeonhole.proofs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.support.Ledger;
import dev.pigeonhole.support.TestDatabase;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What {@linkplain GuardCaller callers} have written down, and what the tables say. It uses no
 * class of the library and asks the library nothing.
 */
final class GuardAutopsy {
  final Set<String> called = new LinkedHashSet<>();

  /** Key → what its bodies were about to answer. */
  final Map<String, List<String>> bodies = new LinkedHashMap<>();

  /** Key → what its callers were answered. */
  final Map<String, List<String>> answers = new LinkedHashMap<>();

  /** Key → receipts that stand in the table of the body. */
  final Map<String, List<String>> effects = new LinkedHashMap<>();

  /** Key → answer that is kept for repeats. */
  final Map<String, String> kept = new LinkedHashMap<>();

  final Set<String> cut = new LinkedHashSet<>();

  /**
   * @param ledgers one for each caller that lives at the same time
   */
  GuardAutopsy(TestDatabase database, Path... ledgers) {
    for (Path ledger : ledgers) {
      Ledger.read(ledger).forEach(line -> read(line.split(" ")));
    }
    for (Map<String, Object> row : database.rows("SELECT id, receipt FROM charge")) {
      add(effects, Tables.text(row.get("id")), Tables.text(row.get("receipt")));
    }
    for (Map<String, Object> row :
        database.rows(
            "SELECT m.id, a.content FROM %s a JOIN %s m ON m.seq = a.seq"
                .formatted(Tables.name(database, "answer"), Tables.name(database, "message")))) {
      kept.put(Tables.text(row.get("id")), Tables.text(row.get("content")));
    }
  }

  /**
   * The table that bodies write to. It has no unique key: what happens twice must be able to show.
   */
  static void createEffects(TestDatabase database) {
    database.execute("CREATE TABLE charge (id VARCHAR(50), receipt VARCHAR(100))");
  }

  private void read(String[] line) {
    switch (line[0]) {
      case "CALL" -> called.add(line[1]);
      case "BODY" -> add(bodies, line[1], line[2]);
      case "ANSWER" -> add(answers, line[1], line[2]);
      case "CUT" -> cut.add(line[1]);
      default -> throw new IllegalStateException(String.join(" ", line));
    }
  }

  private static void add(Map<String, List<String>> lists, String key, String value) {
    lists.computeIfAbsent(key, each -> new ArrayList<>()).add(value);
  }

  /** Called and never answered. */
  List<String> open() {
    return called.stream().filter(each -> !answers.containsKey(each)).toList();
  }

  List<String> bodiesOf(String key) {
    return bodies.getOrDefault(key, List.of());
  }

  List<String> effectsOf(String key) {
    return effects.getOrDefault(key, List.of());
  }

  /** What must hold when every key has been answered, whatever became of its first caller. */
  void assertOneEffectEach(String history) {
    assertThat(open()).as("without an answer, %s", history).isEmpty();
    assertThat(notOnce()).as("effects other than one, %s", history).isEmpty();
    assertThat(untrue()).as("false answers, %s", history).isEmpty();
  }

  /** Keys without an effect, or with several. */
  private List<String> notOnce() {
    return called.stream().filter(each -> effectsOf(each).size() != 1).toList();
  }

  /** Callers who were told something else than what the database holds. */
  private List<String> untrue() {
    List<String> untrue = new ArrayList<>();
    answers.forEach(
        (key, told) -> {
          for (String each : told) {
            if (!List.of(each).equals(effectsOf(key)) || !each.equals(kept.get(key))) {
              untrue.add(
                  "%s was told %s; done is %s, kept is %s"
                      .formatted(key, each, effectsOf(key), kept.get(key)));
            }
          }
        });
    return untrue;
  }
}
