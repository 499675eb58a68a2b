package dev.pigeonhole.proofs;

import dev.pigeonhole.support.Ledger;
import dev.pigeonhole.support.TestDatabase;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * Says from ledgers and tables what became of the messages. It uses no class of the library and
 * asks the library nothing.
 */
final class Verdict {
  /** One run of the ordered plain handler. */
  private record Run(int number, long pid, long start, long end) {}

  final Set<String> sent = new HashSet<>();
  final Set<String> noise = new HashSet<>();
  final List<String> lost = new ArrayList<>();
  final List<String> doubleEffects = new ArrayList<>();
  final List<String> inversions = new ArrayList<>();
  int refused;
  int restarted;
  int extraInvocations;
  private final Map<Long, NavigableSet<Long>> declaredDead = new HashMap<>();

  private final Map<String, List<Run>> runs = new HashMap<>();
  private final List<Nemesis.Fault> faults;

  Verdict(Path directory, TestDatabase database, List<Nemesis.Fault> faults, Worker.Version version)
      throws Exception {
    this.faults = faults;
    Set<String> plain = new HashSet<>();
    Map<String, Long> open = new HashMap<>();
    try (Stream<Path> files = Files.list(directory)) {
      for (Path file : files.sorted().toList()) {
        for (String line : Ledger.read(file)) {
          read(line.split(" "), plain, open);
        }
      }
    }
    open.forEach(
        (run, start) -> {
          String[] parts = run.split(" ");
          runs.computeIfAbsent(parts[0], none -> new ArrayList<>())
              .add(
                  new Run(
                      Integer.parseInt(parts[1]), Long.parseLong(parts[2]), start, Long.MAX_VALUE));
        });
    checkPlain(plain);
    checkEffects(database, version.transactional);
    checkOrder();
  }

  private void read(String[] line, Set<String> plain, Map<String, Long> open) {
    switch (line[0]) {
      case "SEND" -> sent.add(line[1]);
      case "NOISE" -> noise.add(line[1]);
      case "PLAIN" -> {
        if (!plain.add(line[1])) {
          extraInvocations++;
        }
      }
      case "START" -> open.put(line[1] + " " + line[2] + " " + line[3], Long.parseLong(line[4]));
      case "END" -> {
        Long start = open.remove(line[1] + " " + line[2] + " " + line[3]);
        runs.computeIfAbsent(line[1], none -> new ArrayList<>())
            .add(
                new Run(
                    Integer.parseInt(line[2]),
                    Long.parseLong(line[3]),
                    start == null ? 0 : start,
                    Long.parseLong(line[4])));
      }
      case "DIED" ->
          declaredDead
              .computeIfAbsent(
                  Long.parseLong(line[1].replaceAll(".*@(\\d+)@.*", "$1")), none -> new TreeSet<>())
              .add(Long.parseLong(line[2]));
      case "REFUSED" -> refused++;
      case "RESTARTED" -> restarted++;
      default -> {}
    }
  }

  /** From each kill to the moment the others knew, in milliseconds. */
  List<Long> takeoverMillis() {
    return takeoverMillis(faults, declaredDead);
  }

  /**
   * A pid says which process only together with a time, because the system uses it again: the first
   * declaration after a kill belongs to it, unless the next process of that pid was killed first.
   */
  static List<Long> takeoverMillis(
      List<Nemesis.Fault> faults, Map<Long, NavigableSet<Long>> declaredDead) {
    Map<Long, NavigableSet<Long>> kills = new HashMap<>();
    for (Nemesis.Fault fault : faults) {
      if (fault.kind().equals("kill")) {
        kills.computeIfAbsent(fault.pid(), none -> new TreeSet<>()).add(fault.from());
      }
    }
    List<Long> times = new ArrayList<>();
    for (Nemesis.Fault fault : faults) {
      NavigableSet<Long> deaths = declaredDead.get(fault.pid());
      if (!fault.kind().equals("kill") || deaths == null) {
        continue;
      }
      Long known = deaths.ceiling(fault.from());
      Long nextKill = kills.get(fault.pid()).higher(fault.from());
      if (known != null && (nextKill == null || known < nextKill)) {
        times.add((known - fault.from()) / 1_000);
      }
    }
    return times;
  }

  private void checkPlain(Set<String> plain) {
    for (String id : sent) {
      if (!plain.contains(id)) {
        lost.add("plain " + id);
      }
      String key = id.substring(0, id.lastIndexOf('-'));
      int number = Integer.parseInt(id.substring(id.lastIndexOf('-') + 1));
      boolean ran =
          runs.getOrDefault(key, List.of()).stream().anyMatch(run -> run.number() == number);
      if (!ran) {
        lost.add("ordered-plain " + id);
      }
    }
  }

  private void checkEffects(TestDatabase database, List<String> transactional) {
    Map<String, Integer> effects = new HashMap<>();
    Map<String, Integer> highest = new HashMap<>();
    for (Map<String, Object> row :
        database.rows("SELECT handler, message, ordering_key, number FROM effect ORDER BY id")) {
      String handler = String.valueOf(row.get("handler"));
      effects.merge(handler + " " + row.get("message"), 1, Integer::sum);
      if (handler.equals("ordered-tx")) {
        int number = ((Number) row.get("number")).intValue();
        Integer before = highest.put(String.valueOf(row.get("ordering_key")), number);
        if (before != null && before > number) {
          inversions.add("ordered-tx " + row.get("message") + " after number " + before);
        }
      }
    }
    for (String handler : transactional) {
      sent.forEach(id -> checkOnce(handler + " " + id, effects));
    }
    noise.forEach(id -> checkOnce("noise-tx " + id, effects));
  }

  private void checkOnce(String effect, Map<String, Integer> effects) {
    int count = effects.getOrDefault(effect, 0);
    if (count == 0) {
      lost.add(effect);
    } else if (count > 1) {
      doubleEffects.add(effect + " × " + count);
    }
  }

  /**
   * First starts follow the numbers, and nobody starts while an earlier number runs, except beside
   * a run that a killed or paused worker had begun.
   */
  private void checkOrder() {
    runs.forEach(
        (key, all) -> {
          TreeMap<Integer, Run> first = new TreeMap<>();
          for (Run run : all) {
            first.merge(run.number(), run, (a, b) -> a.start() <= b.start() ? a : b);
          }
          Run before = null;
          for (Run run : first.values()) {
            if (before != null && run.start() < before.start()) {
              inversions.add("ordered-plain " + key + "-" + run.number() + " began too early");
            }
            before = run;
          }
          for (Run run : all) {
            for (Run other : all) {
              boolean overlaps =
                  other.number() > run.number()
                      && other.start() > run.start()
                      && other.start() < run.end();
              if (overlaps && !excused(run)) {
                inversions.add(
                    "ordered-plain %s-%d began while %d ran"
                        .formatted(key, other.number(), run.number()));
              }
            }
          }
        });
  }

  private boolean excused(Run run) {
    return faults.stream()
        .anyMatch(
            fault ->
                fault.pid() == run.pid()
                    && fault.until() >= run.start()
                    && fault.from() <= run.end());
  }
}
