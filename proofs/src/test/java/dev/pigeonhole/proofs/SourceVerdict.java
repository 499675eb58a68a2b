package dev.pigeonhole.proofs;

import dev.pigeonhole.support.DuplicateRows;
import dev.pigeonhole.support.Ledger;
import dev.pigeonhole.support.TestDatabase;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Compares what brokers have confirmed with what handlers have done, past the library. */
final class SourceVerdict {
  final Set<String> confirmed = new LinkedHashSet<>();
  final Set<String> lost;
  final Map<String, Long> doubled = new TreeMap<>();
  final Set<String> unknown;
  final List<String> standingTwice;

  SourceVerdict(Path ledger, TestDatabase database) {
    for (String line : Ledger.read(ledger)) {
      confirmed.add(line.substring("CONFIRMED ".length()));
    }
    Map<String, Long> effects = effects(database);
    effects.forEach(
        (id, count) -> {
          if (count > 1) {
            doubled.put(id, count);
          }
        });
    lost = without(confirmed, effects.keySet());
    unknown = without(effects.keySet(), confirmed);
    standingTwice = DuplicateRows.in(database);
  }

  private static Map<String, Long> effects(TestDatabase database) {
    Map<String, Long> effects = new HashMap<>();
    List<Map<String, Object>> rows =
        database.rows("SELECT message, COUNT(*) AS times FROM effect GROUP BY message");
    for (Map<String, Object> row : rows) {
      effects.put(Tables.text(row.get("message")), ((Number) row.get("times")).longValue());
    }
    return effects;
  }

  private static Set<String> without(Set<String> some, Set<String> others) {
    Set<String> rest = new LinkedHashSet<>(some);
    rest.removeAll(others);
    return rest;
  }
}
