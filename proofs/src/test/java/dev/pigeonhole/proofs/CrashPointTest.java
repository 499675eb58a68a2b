package dev.pigeonhole.proofs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.JavaProcess;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Ends the process at every crash point, on every store; the small size draws some points at
 * random.
 *
 * <p>The lives of one run follow each other in one database: each dies at another point, in the
 * middle of its own messages and of what the lives before it have left behind; the last one may
 * finish. Take any of the promises out of the code and this fails: settle outside of the
 * transaction (double effects), acknowledge before the commit (lost), forget a mark or a cell
 * (still open), count a crash as a failure (wrong number of attempts).
 *
 * <p>The stores are tried side by side: a life waits for its end more than it computes.
 */
@Execution(ExecutionMode.CONCURRENT)
class CrashPointTest {
  /**
   * At which visit a life dies at most; small for places that a life seldom comes to. Those of
   * guards are tried by {@link GuardCrashTest}.
   */
  private static final Map<String, Integer> POINTS =
      new TreeMap<>(
          Map.ofEntries(
              Map.entry("accept.before-insert", 8),
              Map.entry("accept.in-batch", 1),
              Map.entry("accept.before-commit", 8),
              Map.entry("accept.after-commit", 8),
              Map.entry("run.before-handler", 12),
              Map.entry("run.after-handler", 12),
              Map.entry("settle.before", 8),
              Map.entry("settle.before-commit", 8),
              Map.entry("settle.after-commit", 8),
              Map.entry("failure.before-commit", 4),
              Map.entry("poison.before-commit", 2),
              Map.entry("mark.before-commit", 3),
              Map.entry("mark.after-commit", 3),
              Map.entry("nodes.before-beat", 8),
              Map.entry("nodes.after-beat", 8),
              Map.entry("nodes.before-declare-dead", 1),
              Map.entry("nodes.after-declare-dead", 1),
              Map.entry("nodes.before-take", 1),
              Map.entry("join.before-commit", 1),
              Map.entry("beat.before-commit", 8),
              Map.entry("take.before-commit", 1),
              Map.entry("declare-dead.before-commit", 1),
              Map.entry("tx.locked", 8),
              Map.entry("tx.work-done", 8),
              Map.entry("tx.before-commit", 8),
              Map.entry("tx.after-commit", 8),
              Map.entry("retry.before-commit", 2),
              Map.entry("operation.before-commit", 2),
              Map.entry("prune.before-commit", 2)));

  private static final String FIRST = "run.after-handler";
  private static final int AT_SMALL_SIZE = 3;

  static final String MIGRATION = "migrate.after-statement";
  private static final int KILLED = 137;
  private static final Duration LIMIT = Duration.ofSeconds(300);

  @Test
  void everyPointInTheSourcesIsTried() throws Exception {
    Set<String> tried = new TreeSet<>(POINTS.keySet());
    tried.add(MIGRATION);
    tried.addAll(GuardCrashTest.POINTS);
    assertThat(tried).isEqualTo(inSources());
  }

  /** All points of the library. */
  static Set<String> inSources() throws IOException {
    Pattern reach = Pattern.compile("CrashPoints\\.reach\\(\\s*\"([^\"]+)\"");
    Set<String> reached = new TreeSet<>();
    for (String module : List.of("pigeonhole-core", "pigeonhole-jdbc")) {
      try (Stream<Path> files = Files.walk(Path.of("..", module, "src", "main", "java"))) {
        for (Path file : files.filter(each -> each.toString().endsWith(".java")).toList()) {
          Matcher matcher = reach.matcher(Files.readString(file));
          while (matcher.find()) {
            reached.add(matcher.group(1));
          }
        }
      }
    }
    return reached;
  }

  static List<DatabaseKind> stores() {
    return List.of(DatabaseKind.POSTGRES, DatabaseKind.MARIADB, DatabaseKind.H2)
        .subList(0, Size.of(1, 3));
  }

  /** First those that commit each statement of a script. */
  static List<DatabaseKind> migrated() {
    return List.of(DatabaseKind.MARIADB, DatabaseKind.H2, DatabaseKind.POSTGRES)
        .subList(0, Size.of(1, 3));
  }

  @ParameterizedTest
  @MethodSource("stores")
  void nothingIsLostOrDoubledWhereverALifeEnds(DatabaseKind kind, @TempDir Path ledgers) {
    Random random = new Random(Size.seed("crash points on " + kind));
    long began = System.nanoTime();
    try (TestDatabase database = TestDatabases.open(kind)) {
      List<String> points = points(random);
      for (int i = 0; i < points.size(); i++) {
        int nth = 1 + random.nextInt(POINTS.get(points.get(i)));
        die(database, ledgers, i + 1, points.get(i) + ":halt:" + nth);
      }
      int lives = points.size() + 1;
      finish(database, ledgers, lives);
      Autopsy autopsy = new Autopsy(ledgers, lives, database);
      assertThat(autopsy.lost).as("lost, lives %s", points).isEmpty();
      assertThat(autopsy.doubled).as("doubled, lives %s", points).isEmpty();
      assertThat(autopsy.overtaken).as("overtaken, lives %s", points).isEmpty();
      assertThat(autopsy.wronglyEnded).as("wrongly ended, lives %s", points).isEmpty();
      System.out.printf(
          "%s: %d kills, %d messages, %d plain invocations, %d s%n",
          kind,
          points.size(),
          autopsy.sent.size(),
          autopsy.invocations,
          Duration.ofNanos(System.nanoTime() - began).toSeconds());
    }
  }

  /**
   * Cut after each statement in turn. If a script could not bear to be begun again, a run would
   * fail; if it were recorded before it was done, tables or indexes would be missing in the end.
   */
  @ParameterizedTest
  @MethodSource("migrated")
  void aMigrationThatWasCutIsFinishedByTheNext(DatabaseKind kind) throws Exception {
    int step = Size.of(20, 1);
    int cuts = 0;
    try (TestDatabase cut = TestDatabases.open(kind);
        TestDatabase clean = TestDatabases.open(kind)) {
      for (int nth = 1; migrateAndDie(cut, nth); nth += step) {
        cuts++;
      }
      Schema.migrate(clean.dataSource());
      assertThat(Migration.result(cut)).isEqualTo(Migration.result(clean));
      assertThat(Tables.count(cut, "message")).isZero();
    }
    System.out.printf("%s: %d migrations cut%n", kind, cuts);
    assertThat(cuts).as("cuts").isGreaterThanOrEqualTo(Size.of(2, 20));
  }

  /** False if it was done before it came to this statement. */
  private static boolean migrateAndDie(TestDatabase database, int nth) {
    try (JavaProcess process =
        JavaProcess.of(Migration.class)
            .systemProperty("pigeonhole.crash", MIGRATION + ":halt:" + nth)
            .args(database.jdbcUrl(), database.user(), database.password())
            .start()) {
      int code = process.waitFor(LIMIT);
      assertThat(code).as("%s", process.output()).isIn(0, KILLED);
      return code == KILLED;
    }
  }

  /**
   * In random order. The small size draws a few of them; but a node can only be declared dead, and
   * a row only be marked, after a process has died, so the first point is the same in every run.
   */
  private static List<String> points(Random random) {
    List<String> points = new ArrayList<>(POINTS.keySet());
    points.remove(FIRST);
    Collections.shuffle(points, random);
    points.add(0, FIRST);
    return Size.isBroken() ? points : points.subList(0, Size.of(AT_SMALL_SIZE, points.size()));
  }

  private static void die(TestDatabase database, Path ledgers, int life, String crash) {
    try (JavaProcess process =
        life(database, ledgers, life).systemProperty("pigeonhole.crash", crash).start()) {
      int code = process.waitFor(LIMIT);
      assertThat(code).as("%s must be reached: %s", crash, process.output()).isEqualTo(KILLED);
    }
  }

  private static void finish(TestDatabase database, Path ledgers, int life) {
    try (JavaProcess process = life(database, ledgers, life).start()) {
      int code = process.waitFor(LIMIT);
      assertThat(code).as("the last life: %s", process.output()).isZero();
      assertThat(process.output()).contains("DONE");
    }
  }

  private static JavaProcess.Builder life(TestDatabase database, Path ledgers, int life) {
    return JavaProcess.of(Life.class)
        .heap("128m")
        .args(database.jdbcUrl(), database.user(), database.password(), ledgers, life);
  }
}
