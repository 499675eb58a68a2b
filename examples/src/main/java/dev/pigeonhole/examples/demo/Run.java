package dev.pigeonhole.examples.demo;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** One run: starts everything, watches it until nothing is left to do, stops it, and counts. */
final class Run {

  private static final Duration LOOK = Duration.ofMillis(200);

  private final Options options;
  private final Plan plan;
  private final Path directory;
  private final Progress progress;
  private final long began = System.nanoTime();
  private Status status = new Status(0, 0, 0, 0);

  Run(Options options, Path directory, Progress progress) {
    this.options = options;
    this.plan = new Plan(options);
    this.directory = directory;
    this.progress = progress;
  }

  /** This machine lacks something that the store needs. */
  static final class CannotStartException extends Exception {
    private static final long serialVersionUID = 1L;

    CannotStartException(String message, Throwable cause) {
      super(message, cause);
    }
  }

  Report toReport() throws CannotStartException, IOException, SQLException, InterruptedException {
    try (Database database = startDatabase();
        Workers workers = new Workers(options, database, directory)) {
      database.createTables();
      Producer producer = new Producer(plan, options, workers);
      Killer killer = new Killer(plan, options, producer, workers);
      workers.start();
      producer.start();
      killer.start();
      String error = watch(workers, producer, killer);
      workers.stop();
      progress.clear();
      return count(database, producer, killer, error);
    }
  }

  private Database startDatabase() throws CannotStartException {
    progress.show(0, 1, "starting " + options.store().text());
    try {
      return Database.start(options.store(), directory);
    } catch (RuntimeException | AssertionError e) {
      throw new CannotStartException(
          "An embedded %s does not start here: %s"
              .formatted(options.store().text(), e.getMessage()),
          e);
    }
  }

  /** Returns why it gave up, or null when everything is done. */
  private @Nullable String watch(Workers workers, Producer producer, Killer killer)
      throws InterruptedException {
    while (true) {
      // Asked first: what is counted afterwards includes everything that was sent.
      boolean allSent = producer.finished() && killer.finished();
      long asked = System.nanoTime();
      String answer = workers.ask("status", LOOK);
      if (answer != null && !answer.startsWith(Answer.FAILED)) {
        status = Status.ofLine(answer);
        producer.settled(status.settled() / Handlers.KEYS.size());
        show(producer, killer);
        if (allSent && status.pending() == 0) {
          return null;
        }
      }
      if (seconds() > options.timeout()) {
        return "not done after %d seconds".formatted(options.timeout());
      }
      workers.checkAlive();
      // Counting takes longer the more there is; it shall not become the main work.
      long tookMillis = (System.nanoTime() - asked) / 1_000_000;
      Thread.sleep(Math.max(LOOK.toMillis(), 2 * tookMillis));
    }
  }

  private void show(Producer producer, Killer killer) {
    long deliveries = (long) options.messages() * Handlers.KEYS.size();
    long sent = producer.tally().sent();
    progress.show(
        sent + status.settled(),
        plan.sends() + deliveries,
        String.format(
            Locale.ROOT,
            "sent %d/%d  settled %d/%d  %s%.0f s",
            sent,
            plan.sends(),
            status.settled(),
            deliveries,
            options.kill() == 0 ? "" : "kills %d/%d  ".formatted(killer.kills(), options.kill()),
            seconds()));
  }

  private Report count(Database database, Producer producer, Killer killer, @Nullable String error)
      throws IOException, SQLException {
    try (Connection connection = database.connect()) {
      Effects effects = Effects.read(plan, options.messages(), directory, connection);
      Producer.Tally tally = producer.tally();
      return new Report(
          options,
          tally.sent(),
          effects.accepted(),
          tally.conflicts(),
          tally.rejected(),
          effects.rows(producer.answered()),
          effects.inversions(),
          killer.kills(),
          seconds(),
          error);
    }
  }

  private double seconds() {
    return (System.nanoTime() - began) / 1e9;
  }
}
