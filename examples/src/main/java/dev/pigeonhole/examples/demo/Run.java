package dev.pigeonhole.examples.demo;

import dev.pigeonhole.examples.demo.Options.TransportKind;
import dev.pigeonhole.support.RabbitServer;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
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

  /** This machine lacks something that a server needs. */
  static final class CannotStartException extends Exception {
    private static final long serialVersionUID = 1L;

    private final String remedy;

    CannotStartException(String server, String remedy, Throwable cause) {
      super("An embedded %s does not start here: %s".formatted(server, cause.getMessage()), cause);
      this.remedy = remedy;
    }

    /** What may help, as a sentence with a command. */
    String remedy() {
      return remedy;
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
        Broker broker = startBroker()) {
      database.createTables();
      try (Workers workers = new Workers(options, database, broker, directory);
          Way way = way(database, broker, workers)) {
        Producer producer = new Producer(plan, options, way.intake());
        Kills killer = killer(database, producer, workers);
        workers.start();
        way.start();
        producer.start();
        killer.start();
        String error = watch(workers, way, producer, killer);
        if (INTERRUPTED.equals(error)) {
          way.kill();
          workers.close();
        } else {
          way.stop();
          workers.stop();
        }
        progress.clear();
        return count(database, way, producer, killer, error);
      }
    }
  }

  private Database startDatabase() throws CannotStartException {
    progress.show(0, 1, "starting " + options.store().text());
    try {
      return Database.start(options.store(), directory);
    } catch (RuntimeException | AssertionError e) {
      throw new CannotStartException(
          options.store().text(),
          "Install it with: apt-get install -y util-linux tar libaio1 libncurses6",
          e);
    }
  }

  private Broker startBroker() throws CannotStartException {
    String name = options.transport().text();
    if (options.transport() != TransportKind.NONE) {
      progress.say("starting " + name);
    }
    try {
      return Broker.start(options.transport());
    } catch (IOException | RuntimeException | AssertionError e) {
      throw new CannotStartException(name, remedyOfBroker(), e);
    }
  }

  private String remedyOfBroker() {
    if (options.transport() != TransportKind.RABBITMQ) {
      return "Build it with: mvn -pl kafka-broker generate-resources";
    }
    return RabbitServer.isInstalled()
        ? "It is installed, so look at what it says above; if the machine was busy, try again."
        : "Install it with: apt-get install -y --no-install-recommends rabbitmq-server";
  }

  private Way way(Database database, Broker broker, Workers workers) throws SQLException {
    return options.transport() == TransportKind.NONE
        ? Way.straightTo(workers)
        : new BrokerWay(plan, options, database, broker, directory);
  }

  private Kills killer(Database database, Producer producer, Workers workers) {
    return options.transport() == TransportKind.NONE
        ? new Killer(plan, options, producer, workers)
        : new CountKiller(
            plan.killsAfterArrivals(),
            TransitTables::arrived,
            workers.fleet(),
            database,
            new SplittableRandom(options.seed() + 3));
  }

  /** Returns why it gave up, or null when everything is done. */
  private @Nullable String watch(Workers workers, Way way, Producer producer, Kills killer)
      throws InterruptedException {
    try {
      return watchUntilDone(workers, way, producer, killer);
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

  private @Nullable String watchUntilDone(Workers workers, Way way, Producer producer, Kills killer)
      throws InterruptedException {
    while (true) {
      if (isInterrupted()) {
        return INTERRUPTED;
      }
      // Asked first: what is counted afterwards includes everything that was sent.
      boolean allSent = producer.finished() && killer.finished() && way.finished();
      Transit transit = way.transit();
      long asked = System.nanoTime();
      String answer = workers.ask("status", LOOK);
      if (answer != null && !answer.startsWith(Answer.FAILED)) {
        status = Status.ofLine(answer).plus(new Status(0, producer.givenUp(), 0, 0));
        status = status.plus(new Status(0, 0, 0, underWay(transit, status)));
        producer.settled(status.settled() / Handlers.KEYS.size());
        show(transit, producer, killer);
        if (allSent && status.pending() == 0) {
          return null;
        }
        String news = lull.look(status, allSent, killer.kills() + transit.kills());
        if (!news.isEmpty()) {
          progress.clear();
          System.err.println(news);
        }
      }
      if (seconds() > options.timeout()) {
        return "not done after %d seconds".formatted(options.timeout());
      }
      workers.checkAlive();
      way.checkAlive();
      // Counting takes longer the more there is; it shall not become the main work.
      long tookMillis = (System.nanoTime() - asked) / 1_000_000;
      Thread.sleep(Math.max(LOOK.toMillis(), 2 * tookMillis));
    }
  }

  /** The deliveries of messages that are on their way, and not in the store yet. */
  private static long underWay(Transit transit, Status stored) {
    long deliveries = transit.published() * Handlers.KEYS.size();
    return Math.max(0, deliveries - stored.settled() - stored.pending());
  }

  private void show(Transit transit, Producer producer, Kills killer) {
    long deliveries = (long) options.messages() * Handlers.KEYS.size();
    long sent = producer.sent();
    int kills = options.kill() + options.relayKills();
    progress.show(
        sent + status.settled(),
        plan.sends() + deliveries,
        String.format(
            Locale.ROOT,
            "%s  settled %d/%d  %s%.0f s",
            options.transport() == TransportKind.NONE
                ? "sent %d/%d".formatted(sent, plan.sends())
                : "confirmed " + transit.confirmed(),
            status.settled(),
            deliveries,
            kills == 0 ? "" : "kills %d/%d  ".formatted(killer.kills() + transit.kills(), kills),
            seconds()));
  }

  private Report count(
      Database database, Way way, Producer producer, Kills killer, @Nullable String error)
      throws IOException, SQLException {
    try (Connection connection = database.connect()) {
      Effects effects = Effects.read(plan, options, directory, connection);
      Producer.Tally tally = producer.tally();
      BitSet answered = tally.answered();
      Transit transit = way.transit();
      long unanswered = 0;
      if (error != null) {
        // Where the end came early, some are stored that nobody lived to be told of,
        long stored = Math.max(effects.accepted(), transit.published());
        unanswered = Math.max(0, stored - answered.cardinality());
        if (options.transport() != TransportKind.NONE) {
          answered.and(effects.arrived()); // and some are on their way.
        }
      }
      return new Report(
          options,
          tally.sent() + unanswered,
          effects.accepted(),
          tally.conflicts(),
          tally.rejected(),
          effects.rows(answered, tally.deadLetters()),
          effects.inversions(),
          killer.kills(),
          effects.broughtAgain(),
          transit,
          seconds(),
          error == null ? duplicateRows(database) : error);
    }
  }

  private static @Nullable String duplicateRows(Database database) {
    List<String> duplicates = database.duplicateRows();
    return duplicates.isEmpty() ? null : "more than one row of a message: " + duplicates;
  }

  private double seconds() {
    return (System.nanoTime() - began) / 1e9;
  }
}
