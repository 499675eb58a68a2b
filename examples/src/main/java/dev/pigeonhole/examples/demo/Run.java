package dev.pigeonhole.examples.demo;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** One run: starts everything, watches it until nothing is left to do, stops it, and counts. */
final class Run {

  /** Why a run gave up that somebody ended. */
  static final String INTERRUPTED = "interrupted";

  private static final Duration LOOK = Duration.ofMillis(200);

  private final Options options;
  private final Plan plan;
  private final Path directory;
  private final Progress progress;
  private final long began = System.nanoTime();
  private final CountDownLatch interrupted = new CountDownLatch(1);
  private final Lull lull = new Lull(System::nanoTime);
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

  /** Ends the run early, from another thread; it still counts and reports. */
  void interrupt(Thread runner) {
    runner.interrupt(); // before anybody can see that it was: it must not hit the counting
    interrupted.countDown();
  }

  boolean isInterrupted() {
    return interrupted.getCount() == 0;
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
      if (INTERRUPTED.equals(error)) {
        workers.close();
      } else {
        workers.stop();
      }
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
    try {
      return watchUntilDone(workers, producer, killer);
    } catch (InterruptedException | RuntimeException e) {
      // The same Ctrl-C may have ended the workers, and a dead worker be seen before the signal.
      if (interrupted.await(1, TimeUnit.SECONDS)) {
        return INTERRUPTED;
      }
      throw e;
    } finally {
      // What is left of the interrupt would close the file of H2 while it is counted.
      Thread.interrupted();
    }
  }

  private @Nullable String watchUntilDone(Workers workers, Producer producer, Killer killer)
      throws InterruptedException {
    while (true) {
      if (isInterrupted()) {
        return INTERRUPTED;
      }
      // Asked first: what is counted afterwards includes everything that was sent.
      boolean allSent = producer.finished() && killer.finished();
      long asked = System.nanoTime();
      String answer = workers.ask("status", LOOK);
      if (answer != null && !answer.startsWith(Answer.FAILED)) {
        status = Status.ofLine(answer).plus(new Status(0, producer.givenUp(), 0, 0));
        producer.settled(status.settled() / Handlers.KEYS.size());
        show(producer, killer);
        if (allSent && status.pending() == 0) {
          return null;
        }
        String news = lull.look(status, allSent, killer.kills());
        if (!news.isEmpty()) {
          progress.clear();
          System.err.println(news);
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
    long sent = producer.sent();
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
      Effects effects = Effects.read(plan, options, directory, connection);
      Producer.Tally tally = producer.tally();
      // Where the end came early, some are stored that nobody lived to be told of.
      long unanswered =
          error == null ? 0 : Math.max(0, effects.accepted() - tally.answered().cardinality());
      return new Report(
          options,
          tally.sent() + unanswered,
          effects.accepted(),
          tally.conflicts(),
          tally.rejected(),
          effects.rows(tally.answered(), tally.deadLetters()),
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
