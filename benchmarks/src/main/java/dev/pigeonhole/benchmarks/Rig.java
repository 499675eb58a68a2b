package dev.pigeonhole.benchmarks;

import dev.pigeonhole.benchmarks.Heat.Turn;
import dev.pigeonhole.benchmarks.Results.About;
import dev.pigeonhole.benchmarks.Results.Missing;
import dev.pigeonhole.benchmarks.SubjectProcess.SubjectException;
import dev.pigeonhole.benchmarks.subject.SubjectMain;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** Runs a plan, turn by turn. */
final class Rig {

  private static final int PAYLOAD_BYTES = 500;
  private static final double LONGEST_START = 60;

  private final Options options;
  private final Plan plan;
  private final Database database;
  private final Subjects subjects;
  private final Progress progress;
  private final Brokers brokers = new Brokers();
  private final List<Series> series = new ArrayList<>();
  private final Map<String, About> abouts = new LinkedHashMap<>();
  private final List<Missing> missing = new ArrayList<>();

  Rig(Options options, Plan plan, Database database, Subjects subjects, Progress progress) {
    this.options = options;
    this.plan = plan;
    this.database = database;
    this.subjects = subjects;
    this.progress = progress;
  }

  Results run() throws InterruptedException {
    Machine machine = Machine.here(database);
    progress.expect(plan.seconds());
    for (int i = 0; i < plan.heats().size(); i++) {
      try {
        run(plan.heats().get(i));
      } finally {
        brokers.close(); // none takes time from the next heat
      }
      subjects.keepOnly(
          plan.heats().subList(i + 1, plan.heats().size()).stream()
              .flatMap(heat -> heat.entries().stream()));
    }
    return new Results(options, plan, machine, series, abouts, missing);
  }

  private void run(Heat heat) throws InterruptedException {
    Map<Entry, Series> ofHeat = new LinkedHashMap<>();
    for (Entry entry : heat.entries()) {
      Series own = new Series(entry);
      ofHeat.put(entry, own);
      series.add(own);
      warmUp(own, heat);
    }
    for (Turn turn : heat.turns()) {
      Series own = ofHeat.get(turn.entry());
      if (own != null && own.failure() == null) {
        measure(own, turn.round());
      }
    }
  }

  /** Makes it warm, and counts meanwhile what may not be counted while time is taken. */
  private void warmUp(Series own, Heat heat) throws InterruptedException {
    Entry entry = own.entry();
    Entry small = entry.warmUp();
    progress.begin(
        "%s, %s, warm-up".formatted(entry.row(), entry.subject()), heat.warmUpSeconds(entry));
    try {
      meet(entry);
      own.count(work(small.with("counted", 1)));
      // Not before: some need longer to start than others.
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(heat.warmSeconds());
      Heating heating = new Heating();
      while (!heating.isWarm() && System.nanoTime() - end < 0) {
        heating.ran(own.value(work(entry.brief())));
      }
      progress.end(heat.warmSeconds() == 0 ? "done" : heating.isWarm() ? "warm" : "time is up");
    } catch (SubjectException | RuntimeException e) {
      fail(own, e);
    }
  }

  private void measure(Series own, int round) throws InterruptedException {
    Entry entry = own.entry();
    progress.begin(
        "%s, %s, round %d of %d".formatted(entry.row(), entry.subject(), round, entry.rounds()),
        entry.seconds());
    try {
      own.add(round, work(entry));
      progress.end(Numbers.text(own.value(round)) + " " + entry.unit());
    } catch (SubjectException | RuntimeException e) {
      fail(own, e);
    }
  }

  /** Whatever it was, the others need not suffer. */
  private void fail(Series own, Exception e) {
    Entry entry = own.entry();
    String reason = e instanceof SubjectException ? String.valueOf(e.getMessage()) : e.toString();
    subjects.discard(entry);
    own.fail(reason);
    missing.add(new Missing(entry.subject(), entry.row(), reason));
    progress.end("FAILED");
    progress.say("%s, %s: %s", entry.row(), entry.subject(), reason);
  }

  /** What it is, and whether it does what it will be asked for. */
  private void meet(Entry entry) throws SubjectException, InterruptedException {
    Map<String, String> about = subjects.of(entry).ask("about", LONGEST_START, progress::tick);
    abouts.putIfAbsent(
        entry.subject(),
        new About(
            about.getOrDefault("dedup", ""),
            about.getOrDefault("effects", ""),
            about.getOrDefault("settings", "")));
    if (!Set.of(about.getOrDefault("scenarios", "").split(",")).contains(entry.asked())) {
      throw new SubjectException("it takes no part in " + entry.asked());
    }
  }

  private Map<String, Double> work(Entry entry) throws SubjectException, InterruptedException {
    try (Database.Place place = database.newPlace()) {
      Map<String, String> values = new LinkedHashMap<>();
      values.put("scenario", entry.asked());
      values.put("messages", Integer.toString(entry.messages()));
      values.put("payload", Integer.toString(PAYLOAD_BYTES));
      values.put("seed", Integer.toString(options.seed()));
      values.putAll(place.toValues());
      values.putAll(brokers.toValues(entry.scenario()));
      entry.options().forEach((name, value) -> values.put(name, value.toString()));
      Map<String, Double> measured = numbers(ask(entry, SubjectMain.encode("run", values)));
      check(entry, measured);
      return measured;
    } catch (SQLException e) {
      throw new SubjectException("its tables could not be made or removed: " + e.getMessage());
    }
  }

  private Map<String, String> ask(Entry entry, String request)
      throws SubjectException, InterruptedException {
    try {
      return subjects.of(entry).ask(request, limit(entry), progress::tick);
    } catch (SubjectException e) {
      subjects.discard(entry); // now, or its locks are in the way when its tables are removed
      throw e;
    }
  }

  /** Far beyond what a slow machine needs: only for what will never end. */
  private static double limit(Entry entry) {
    return 180 + 10 * entry.seconds();
  }

  private static Map<String, Double> numbers(Map<String, String> answer) {
    Map<String, Double> numbers = new LinkedHashMap<>();
    answer.forEach(
        (name, value) -> {
          try {
            numbers.put(name, Double.valueOf(value));
          } catch (NumberFormatException e) {
            // A remark in words.
          }
        });
    return numbers;
  }

  private static void check(Entry entry, Map<String, Double> measured) throws SubjectException {
    double completed = measured.getOrDefault("completed", 0.0);
    if (completed <= 0 || (!entry.timed() && completed != entry.messages())) {
      throw new SubjectException(
          "%.0f of %d messages are completed".formatted(completed, entry.messages()));
    }
  }
}
