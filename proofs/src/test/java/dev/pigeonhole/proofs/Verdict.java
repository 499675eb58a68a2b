package dev.pigeonhole.proofs;

import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.DuplicateRows;
import dev.pigeonhole.support.Ledger;
import dev.pigeonhole.support.TestDatabase;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * Says from ledgers and tables what became of the messages. It uses no class of the library and
 * asks the library nothing.
 */
final class Verdict {
  /** One run of the ordered plain handler, with the token of its lane. */
  record Run(int number, long pid, long start, long end, long token) {}

  /** One life of a node, as the database tells it: when it joined, and when it was buried. */
  record Incarnation(long pid, long joined, long buried) {
    static final long NEVER = Long.MAX_VALUE;
  }

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
  private final List<Incarnation> incarnations;

  Verdict(Path directory, TestDatabase database, List<Nemesis.Fault> faults, Worker.Version version)
      throws Exception {
    this.faults = faults;
    Set<String> plain = new HashSet<>();
    Map<String, Run> open = new HashMap<>();
    try (Stream<Path> files = Files.list(directory)) {
      for (Path file : files.sorted().toList()) {
        for (String line : Ledger.read(file)) {
          read(line.split(" "), plain, open);
        }
      }
    }
    open.forEach(
        (run, begun) ->
            runs.computeIfAbsent(run.split(" ")[0], none -> new ArrayList<>()).add(begun));
    incarnations = incarnations(database);
    checkPlain(plain);
    checkEffects(database, version.transactional);
    doubleEffects.addAll(DuplicateRows.in(database));
    runs.forEach((key, all) -> inversions.addAll(inversions(key, all, faults, incarnations)));
  }

  private void read(String[] line, Set<String> plain, Map<String, Run> open) {
    switch (line[0]) {
      case "SEND" -> sent.add(line[1]);
      case "NOISE" -> noise.add(line[1]);
      case "PLAIN" -> {
        if (!plain.add(line[1])) {
          extraInvocations++;
        }
      }
      case "START" ->
          open.put(
              run(line),
              new Run(
                  Integer.parseInt(line[2]),
                  Long.parseLong(line[3]),
                  Long.parseLong(line[4]),
                  Long.MAX_VALUE,
                  Long.parseLong(line[5])));
      case "END" -> {
        Run begun = Objects.requireNonNull(open.remove(run(line)), "an end without a start");
        runs.computeIfAbsent(line[1], none -> new ArrayList<>())
            .add(
                new Run(
                    begun.number(),
                    begun.pid(),
                    begun.start(),
                    Long.parseLong(line[4]),
                    begun.token()));
      }
      case "DIED" ->
          declaredDead
              .computeIfAbsent(pidOf(line[1]), none -> new TreeSet<>())
              .add(Long.parseLong(line[2]));
      case "REFUSED" -> refused++;
      case "RESTARTED" -> restarted++;
      default -> {}
    }
  }

  private static String run(String[] line) {
    return line[1] + " " + line[2] + " " + line[3];
  }

  private static List<Incarnation> incarnations(TestDatabase database) {
    String micros =
        database.kind() == DatabaseKind.MARIADB
            ? "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', %s)"
            : "CAST(EXTRACT(EPOCH FROM %s) * 1000000 AS bigint)";
    List<Incarnation> all = new ArrayList<>();
    for (Map<String, Object> row :
        database.rows(
            "SELECT name, state, %s AS joined, %s AS ended FROM pigeonhole_node"
                .formatted(micros.formatted("joined_at"), micros.formatted("ended_at")))) {
      boolean dead = Tables.text(row.get("state")).equals("DEAD");
      all.add(
          new Incarnation(
              pidOf(Tables.text(row.get("name"))),
              ((Number) row.get("joined")).longValue(),
              dead ? ((Number) row.get("ended")).longValue() : Incarnation.NEVER));
    }
    return all;
  }

  /** A node bears the name of its inbox, its process and its machine. */
  private static long pidOf(String node) {
    return Long.parseLong(node.replaceAll(".*@(\\d+)@.*", "$1"));
  }

  /** How many were buried alive: no fault had been done to them, they were only too slow. */
  long buriedAlive() {
    return incarnations.stream()
        .filter(each -> each.buried() != Incarnation.NEVER)
        .filter(
            each ->
                faults.stream()
                    .noneMatch(
                        fault ->
                            fault.pid() == each.pid()
                                && fault.from() <= each.buried()
                                && fault.until() >= each.buried()))
        .count();
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
   * First starts follow the numbers, nobody starts while an earlier number runs, and nobody starts
   * in a lane that another has taken since. Except beside or by a node that was buried: it may end
   * what it had begun, and begin nothing once it knows.
   */
  static List<String> inversions(
      String key, List<Run> all, List<Nemesis.Fault> faults, List<Incarnation> incarnations) {
    List<String> inversions = new ArrayList<>();
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
        if (overlaps && !cut(run, faults) && !takenOver(run, other, incarnations)) {
          inversions.add("ordered-plain %s: %s began while %s ran".formatted(key, other, run));
        }
        boolean late = other.token() > run.token() && other.start() < run.start();
        if (late && !takenOver(run, other, incarnations)) {
          inversions.add(
              "ordered-plain %s: %s began after %s had its lane".formatted(key, run, other));
        }
      }
    }
    return inversions;
  }

  /** Whether a stop may have cut the run, and let go of its lane although it did not return. */
  private static boolean cut(Run run, List<Nemesis.Fault> faults) {
    return faults.stream()
        .anyMatch(
            fault ->
                fault.kind().equals("restart")
                    && fault.pid() == run.pid()
                    && fault.from() <= run.end());
  }

  /**
   * Whether the other run has the lane because the life of the node in which this run began was
   * over. That life lasts until the process joins again: from then on it knows.
   */
  private static boolean takenOver(Run run, Run other, List<Incarnation> incarnations) {
    return other.token() > run.token()
        && incarnations.stream()
            .filter(each -> each.pid() == run.pid() && each.joined() <= run.start())
            .max(Comparator.comparing(Incarnation::joined))
            .filter(life -> life.buried() <= other.start())
            .isPresent();
  }
}
